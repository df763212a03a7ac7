import { findKeyByHash, type KeyRow } from '../../db/keys/find-key-statements.ts';
import { prepare } from '../../db/query.ts';
import type { FoundKey } from '../../domain/api-key.ts';
import { ownDayLimit } from '../../domain/key-settings.ts';
import { parseScopes } from '../../domain/record-kinds.ts';
import { callD1, throughDrizzle } from '../call-d1.ts';
import type { ServiceContext } from '../service-context.ts';

/** Finds a key by the hash of its value. Does not check whether it may be used: see `whyUnauthorized`. */
export async function findKey(ctx: ServiceContext, hash: string): Promise<FoundKey | undefined> {
  const { results } = await callD1(ctx, 'nothing_written', (d1) => lookup(d1, hash, d1));
  return keyIn(results[0]);
}

/** What the nearest copy of the database has of a key. */
export interface NearbyKey {
  key: FoundKey | undefined;
  /** Whether the primary answered. A replica may be behind. */
  isCurrent: boolean;
  /** The region that answered, such as `ENAM`, if D1 names it. */
  region: string | undefined;
}

/** How long the nearest copy is waited for, milliseconds. The rest of the deadline is for the primary. */
const NEARBY_DEADLINE_MS = 3_000;

/**
 * Finds a key by the hash of its value in the nearest copy of the database, with one attempt: if it
 * fails, `findKey` is the next one.
 */
export async function findKeyNearby(ctx: ServiceContext, hash: string): Promise<NearbyKey> {
  const once = { ...ctx, deadlineAt: Math.min(ctx.deadlineAt, Date.now() + NEARBY_DEADLINE_MS), maxAttempts: 1 };
  const { results, meta } = await callD1(once, 'nothing_written', (d1) =>
    lookup(d1, hash, d1.withSession('first-unconstrained')),
  );
  return { key: keyIn(results[0]), isCurrent: meta.served_by_primary !== false, region: meta.served_by_region };
}

/** Looks the key up in the database, or in a session that reads from its nearest copy. */
const lookup = (d1: D1Database, hash: string, at: Pick<D1Database, 'prepare'>) =>
  prepare(at, findKeyByHash(throughDrizzle(d1), { hash })).all<FoundRow>();

type FoundRow = KeyRow & { found: number };

function keyIn(row: FoundRow | undefined): FoundKey | undefined {
  if (!row) throw new Error('the key lookup returned no row');
  const key = toFoundKey(row);
  return row.found === 1 ? key : undefined;
}

export function toFoundKey(row: KeyRow): FoundKey {
  return {
    ...row,
    hasPsa: row.hasPsa === 1,
    scopes: parseScopes(row.scopes),
    dayLimit: ownDayLimit(row),
    organizationActive: row.organizationActive === 1,
  };
}
