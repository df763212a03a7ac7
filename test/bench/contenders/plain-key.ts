export const LIMIT = { quota: 10_000, windowMs: 1_000 };
export const FIND_KEY = `select api_keys.organization_id, api_keys.id, api_keys.name, expires_at, revoked_at, scopes, has_psa
  from api_keys join organizations on organizations.id = organization_id where hash = ?1`;

export interface PlainKey {
  organization_id: string;
  id: string;
  name: string;
  expires_at: number | null;
  revoked_at: number | null;
  scopes: string;
  has_psa: number;
}

export const mayWrite = (key: PlainKey): boolean =>
  key.revoked_at === null && (key.expires_at ?? Infinity) > Date.now() && key.scopes.includes('tickets:time:write');
