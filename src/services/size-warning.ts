import { latestSize } from '../db/statement.ts';
import { type Fullness, fullnessAt, isFuller } from '../domain/database-limit.ts';
import { log } from '../lib/log.ts';
import type { ServiceContext } from './service-context.ts';

const LEVELS = { normal: 'log', nearly_full: 'warn', almost_full: 'error' } as const satisfies Record<Fullness, string>;

/** How full each database was when this isolate last looked. */
const lastSeen = new WeakMap<D1Database, Fullness>();

/** Logs the size of the database; how full it is decides the level. */
export function logSize({ bytes, share }: DatabaseSize, requestId?: string): void {
  log(LEVELS[fullnessAt(share)], 'database_size', { requestId, bytes, share: Number(share.toFixed(4)) });
}

interface DatabaseSize {
  bytes: number;
  share: number;
}

/** The size in the latest result of this isolate; undefined before the first one or without a limit. */
export function latestDatabaseSize({
  db,
  databaseLimit,
}: Pick<ServiceContext, 'db' | 'databaseLimit'>): DatabaseSize | undefined {
  const bytes = latestSize(db);
  return bytes === undefined || databaseLimit === undefined ? undefined : { bytes, share: bytes / databaseLimit };
}

/**
 * Logs the size if the database has become nearly or almost full since this isolate last looked. Called after each call
 * to D1: one key at its limit of requests fills a database within hours, so the daily line can be too late.
 */
export function warnOfSize(
  ctx: Pick<ServiceContext, 'db' | 'databaseLimit'> & Partial<Pick<ServiceContext, 'requestId'>>,
): void {
  const size = latestDatabaseSize(ctx);
  if (!size) return;
  const fullness = fullnessAt(size.share);
  const before = lastSeen.get(ctx.db) ?? 'normal';
  if (fullness === before) return;
  lastSeen.set(ctx.db, fullness);
  if (isFuller(fullness, before)) logSize(size, ctx.requestId);
}
