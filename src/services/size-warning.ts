import { latestSize } from '../db/statement.ts';
import { warningLevel } from '../domain/database-limit.ts';
import { log } from '../lib/log.ts';
import type { ServiceContext } from './service-context.ts';

/** By the warning level of the size. */
const LOG_LEVELS = ['log', 'warn', 'error'] as const;

/** The warning level of each database when this isolate last looked. */
const lastSeen = new WeakMap<D1Database, number>();

/** Logs the size of the database; how full it is decides the level. */
export function logSize({ bytes, share }: DatabaseSize, requestId?: string): void {
  log(LOG_LEVELS[warningLevel(share)] ?? 'error', 'database_size', {
    requestId,
    bytes,
    share: Number(share.toFixed(4)),
  });
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
  const level = warningLevel(size.share);
  const before = lastSeen.get(ctx.db) ?? 0;
  lastSeen.set(ctx.db, level);
  if (level > before) logSize(size, ctx.requestId);
}
