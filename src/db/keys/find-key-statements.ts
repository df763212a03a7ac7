import { SCOPE_IDS } from '../../domain/scopes.ts';
import { columns, statement } from '../statement.ts';

/** A key with everything that decides whether it may be used. Flags are 0 or 1. */
export interface KeyRow {
  organizationId: string;
  keyId: string;
  keyHash: string;
  chainId: string;
  keyName: string;
  scopes: string;
  limitQuota: number | null;
  limitWindowMs: number | null;
  dayLimitRecords: number | null;
  dayLimitMinutes: number | null;
  allowedNetworks: string;
  expiresAt: number | null;
  revokedAt: number | null;
  organizationActive: number;
  hasPsa: number;
  timeZone: string;
}

export const KEY_COLUMNS = columns<KeyRow>({
  organizationId: 'k.organization_id',
  keyId: 'k.id',
  keyHash: 'k.hash',
  chainId: 'k.chain_id',
  keyName: 'k.name',
  scopes: 'k.scopes',
  limitQuota: 'k.limit_quota',
  limitWindowMs: 'k.limit_window_ms',
  dayLimitRecords: 'k.day_limit_records',
  dayLimitMinutes: 'k.day_limit_minutes',
  allowedNetworks: 'k.allowed_networks',
  expiresAt: 'k.expires_at',
  revokedAt: 'k.revoked_at',
  organizationActive: 'o.active',
  hasPsa: 'o.has_psa',
  timeZone: 'o.time_zone',
});

/** Dummy row for an unknown key, about as long as a real one: timing does not reveal a key. */
const UNKNOWN_KEY = columns<KeyRow>({
  organizationId: "'nobody-here'",
  keyId: "'00000000-0000-7000-8000-000000000000'",
  keyHash: `'${'0'.repeat(64)}'`,
  chainId: "'00000000-0000-7000-8000-000000000000'",
  keyName: "'There is no such key'",
  scopes: `'${SCOPE_IDS.join(' ')}'`,
  limitQuota: 'null',
  limitWindowMs: 'null',
  dayLimitRecords: 'null',
  dayLimitMinutes: 'null',
  allowedNetworks: "''",
  expiresAt: 'null',
  revokedAt: '0',
  organizationActive: '1',
  hasPsa: '1',
  timeZone: "'Etc/UTC'",
});

/** The key with this hash, always one row: `found` is 0 if there is no such key. */
export const findKeyByHash = statement<{ hash: string }, KeyRow & { found: number }>(`
  select ${KEY_COLUMNS}, 1 as found
  from api_keys k join organizations o on o.id = k.organization_id
  where k.hash = :hash
  union all
  select ${UNKNOWN_KEY}, 0 as found
  limit 1`);
