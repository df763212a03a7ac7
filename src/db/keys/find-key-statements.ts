import { SCOPE_IDS } from '../../domain/record-kinds.ts';
import { columns, number, numberOrNull, type RowOf, statement, text } from '../statement.ts';

/** A key with everything that decides whether it may be used. Flags are 0 or 1. */
const KEY = {
  organizationId: text('k.organization_id'),
  keyId: text('k.id'),
  keyHash: text('k.hash'),
  chainId: text('k.chain_id'),
  keyName: text('k.name'),
  scopes: text('k.scopes'),
  dayLimitRecords: numberOrNull('k.day_limit_records'),
  dayLimitMinutes: numberOrNull('k.day_limit_minutes'),
  allowedNetworks: text('k.allowed_networks'),
  expiresAt: numberOrNull('k.expires_at'),
  revokedAt: numberOrNull('k.revoked_at'),
  organizationActive: number('o.active'),
  hasPsa: number('o.has_psa'),
  timeZone: text('o.time_zone'),
};

export type KeyRow = RowOf<typeof KEY>;

export const PRINCIPAL_COLUMNS = columns(KEY);

/** Dummy row for an unknown key, about as long as a real one: timing does not reveal a key. */
const UNKNOWN_KEY = columns<KeyRow>({
  organizationId: "'nobody-here'",
  keyId: "'00000000-0000-7000-8000-000000000000'",
  keyHash: `'${'0'.repeat(64)}'`,
  chainId: "'00000000-0000-7000-8000-000000000000'",
  keyName: "'There is no such key'",
  scopes: `'${SCOPE_IDS.join(' ')}'`,
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
  select ${PRINCIPAL_COLUMNS}, 1 as found
  from api_keys k join organizations o on o.id = k.organization_id
  where k.hash = :hash
  union all
  select ${UNKNOWN_KEY}, 0 as found
  limit 1`);
