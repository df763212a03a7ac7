import { callD1 } from '../../db/client.ts';
import { findKeyByHash, type KeyRow } from '../../db/statements.ts';
import { parseScopes } from '../../domain/api-key.ts';
import type { FoundKey } from '../../domain/principal.ts';
import type { ServiceContext } from '../context.ts';
import { unavailable } from '../unavailable.ts';

/**
 * Looks a key up by the hash of its value; undefined when there is none. The key is not judged yet: see `whyUnauthorized`.
 * @throws Refusal `unavailable` when the database does not answer.
 */
export async function findKey(ctx: ServiceContext, hash: string): Promise<FoundKey | undefined> {
  const row = await callD1(ctx, () => findKeyByHash.bind(ctx.db, { hash }).first<KeyRow & { found: number }>()).catch((err: unknown) => {
    throw unavailable(err);
  });
  if (!row) throw new Error('the look-up of a key always gives a row');
  const key = toFoundKey(row);
  return row.found === 1 ? key : undefined;
}

/** The row of a key and its organization, in the terms of the domain. */
export function toFoundKey(row: KeyRow): FoundKey {
  return {
    organizationId: row.organizationId,
    timeZone: row.timeZone,
    hasPsa: row.hasPsa === 1,
    keyId: row.keyId,
    keyName: row.keyName,
    scopes: parseScopes(row.scopes),
    limit: row.limitQuota === null || row.limitWindowMs === null ? null : { quota: row.limitQuota, windowMs: row.limitWindowMs },
    expiresAt: row.expiresAt,
    revokedAt: row.revokedAt,
    organizationActive: row.organizationActive === 1,
  };
}
