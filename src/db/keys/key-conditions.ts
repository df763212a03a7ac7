// Conditions that several statements share. The table is named in full, because UPDATE and
// subqueries use the same text.

export const THE_KEY = 'api_keys.organization_id = :organizationId and api_keys.id = :keyId';

/** Neither revoked nor replaced. Only such a key occupies its name. */
export const IS_CURRENT = 'api_keys.revoked_at is null and api_keys.successor_id is null';

export const IS_UNEXPIRED = '(api_keys.expires_at is null or api_keys.expires_at > :now)';

/** The id of the organization's key that satisfies the condition, or null. */
export const keyIdWhere = (condition: string) =>
  `(select api_keys.id from api_keys where api_keys.organization_id = :organizationId and ${condition})`;
