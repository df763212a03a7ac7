import {
  findManyRefusedRequests,
  forgetRefusedRequests,
  keepLatestRefusedRequests,
} from '../db/keys/refused-request-statements.ts';
import { forgetAddresses } from '../db/keys/refused-use-statements.ts';
import type { Database, Statement } from '../db/query.ts';
import { KEPT_OF_ORGANIZATION, REFUSED_REQUEST_RETENTION_MS } from '../domain/refused-request.ts';
import { ADDRESS_RETENTION_MS } from '../domain/refused-use.ts';
import { query, sendBatch } from './call-d1.ts';
import { forNextCall, type ServiceContext } from './service-context.ts';

// The daily removal of old data. Each function returns whether nothing is left to remove.

/** How much one run removes: at most `chunks` transactions of at most `rows` rows. Few, because the jobs of a day share 50 queries on the Free plan. */
const LIMITS = { rows: 10_000, chunks: 20 };

/** Removes the source addresses of old refused uses. */
export function forgetOldAddresses(ctx: ServiceContext, limits = LIMITS): Promise<boolean> {
  const before = ctx.now() - ADDRESS_RETENTION_MS;
  return runInChunks(ctx, limits, (db, limit) => forgetAddresses(db, { before, limit }));
}

/** Removes old refused requests, and of each organization all but `KEPT_OF_ORGANIZATION`. */
export async function forgetOldRefusedRequests(ctx: ServiceContext, limits = LIMITS): Promise<boolean> {
  const before = ctx.now() - REFUSED_REQUEST_RETENTION_MS;
  if (!(await runInChunks(ctx, limits, (db, limit) => forgetRefusedRequests(db, { before, limit })))) return false;
  const many = await query(forNextCall(ctx), 'safe_to_repeat', (db) =>
    findManyRefusedRequests(db, KEPT_OF_ORGANIZATION),
  );
  let isDone = true;
  for (const { organizationId } of many.slice(0, limits.chunks)) {
    const keep = KEPT_OF_ORGANIZATION;
    const [result] = await sendBatch(forNextCall(ctx), 'safe_to_repeat', (db) => [
      keepLatestRefusedRequests(db, { organizationId, keep, limit: limits.rows }),
    ]);
    if ((result?.meta.changes ?? 0) === limits.rows) isDone = false;
  }
  return isDone && many.length <= limits.chunks;
}

/** Makes a change of at most `rows` rows until it finds fewer. */
export async function runInChunks(
  ctx: ServiceContext,
  { rows, chunks }: typeof LIMITS,
  change: (db: Database, limit: number) => Statement,
): Promise<boolean> {
  for (let chunk = 0; chunk < chunks; chunk++) {
    const [result] = await sendBatch(forNextCall(ctx), 'safe_to_repeat', (db) => [change(db, rows)]);
    if ((result?.meta.changes ?? 0) < rows) return true;
  }
  return false;
}
