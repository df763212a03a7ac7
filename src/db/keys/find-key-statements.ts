import { sql } from 'drizzle-orm';
import { SCOPE_IDS } from '../../domain/record-kinds.ts';
import { type Fields, fields, type Input, once, type RowOf, selectTemplate } from '../query.ts';
import { organizations } from '../schema/directory.ts';
import { apiKeys } from '../schema/keys.ts';

/** A key with everything that decides whether it may be used. Flags are 0 or 1. */
export const KEY = {
  organizationId: apiKeys.organizationId,
  keyId: apiKeys.id,
  keyHash: apiKeys.hash,
  chainId: apiKeys.chainId,
  keyName: apiKeys.name,
  scopes: apiKeys.scopes,
  dayLimitRecords: apiKeys.dayLimitRecords,
  dayLimitMinutes: apiKeys.dayLimitMinutes,
  allowedNetworks: apiKeys.allowedNetworks,
  expiresAt: apiKeys.expiresAt,
  revokedAt: apiKeys.revokedAt,
  organizationActive: organizations.active,
  hasPsa: organizations.hasPsa,
  timeZone: organizations.timeZone,
} satisfies Fields;

export type KeyRow = RowOf<typeof KEY>;

const text = (value: string) => sql<string>`${sql.raw(`'${value}'`)}`;

/** Dummy row for an unknown key, about as long as a real one: timing does not reveal a key. */
const UNKNOWN_KEY = {
  organizationId: text('nobody-here'),
  keyId: text('00000000-0000-7000-8000-000000000000'),
  keyHash: text('0'.repeat(64)),
  chainId: text('00000000-0000-7000-8000-000000000000'),
  keyName: text('There is no such key'),
  scopes: text(SCOPE_IDS.join(' ')),
  dayLimitRecords: sql<number | null>`null`,
  dayLimitMinutes: sql<number | null>`null`,
  allowedNetworks: text(''),
  expiresAt: sql<number | null>`null`,
  revokedAt: sql<number | null>`0`,
  organizationActive: sql<number>`1`,
  hasPsa: sql<number>`1`,
  timeZone: text('Etc/UTC'),
} satisfies Record<keyof typeof KEY, unknown>;

/** The key with this hash, always one row: `found` is 0 if there is no such key. */
export const findKeyByHash = once((db, { hash }: Input<{ hash: string }>) =>
  selectTemplate(
    db,
    { ...KEY, found: sql<number>`1` },
    sql`
    from ${apiKeys} join ${organizations} on ${organizations.id} = ${apiKeys.organizationId}
    where ${apiKeys.hash} = ${hash}
    union all
    select ${fields({ ...UNKNOWN_KEY, found: sql`0` })}
    limit 1`,
  ),
);
