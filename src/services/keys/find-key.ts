import { findKeyByHash, type KeyRow } from '../../db/keys/find-key-statements.ts';
import { ownDayLimit, ownRequestLimit } from '../../domain/key-settings.ts';
import type { FoundKey } from '../../domain/principal.ts';
import { parseScopes } from '../../domain/scopes.ts';
import { readOne } from '../call-d1.ts';
import type { ServiceContext } from '../service-context.ts';

/**
 * Finds a key by the hash of its value. Does not check whether it may be used: see
 * `whyUnauthorized`.
 */
export async function findKey(ctx: ServiceContext, hash: string): Promise<FoundKey | undefined> {
  const row = await readOne(ctx, findKeyByHash.bind({ hash }));
  if (!row) throw new Error('the key lookup returned no row');
  const key = toFoundKey(row);
  return row.found === 1 ? key : undefined;
}

/** Converts the row of a key and its organization. */
export function toFoundKey(row: KeyRow): FoundKey {
  return {
    organizationId: row.organizationId,
    timeZone: row.timeZone,
    hasPsa: row.hasPsa === 1,
    keyId: row.keyId,
    keyHash: row.keyHash,
    chainId: row.chainId,
    keyName: row.keyName,
    scopes: parseScopes(row.scopes),
    limit: ownRequestLimit(row),
    dayLimit: ownDayLimit(row),
    allowedNetworks: row.allowedNetworks,
    expiresAt: row.expiresAt,
    revokedAt: row.revokedAt,
    organizationActive: row.organizationActive === 1,
  };
}
