import { findFirstSeqSince } from '../db/audit/audit-log-statements.ts';
import {
  deleteDays,
  deleteOldest,
  findDeletable,
  findFirstRedactedLater,
  findFirstUndecided,
  moveDeletion,
} from '../db/work/deletion-statements.ts';
import { addDays, DAY_MS, dateIn } from '../domain/calendar.ts';
import { query, sendBatch } from './call-d1.ts';
import { runInChunks } from './forget.ts';
import { forNextCall, type ServiceContext } from './service-context.ts';

/** How long the daily ledger is kept at least: 13 months, so that a month can be compared with a year ago. */
const LEDGER_RETENTION_DAYS = 400;

/** An adapter that has not reported for this long is silent, and may not have the organization's changes. */
const SILENT_MS = 5 * 60_000;

/** How much one run deletes: at most `chunks` transactions of at most `rows` audit rows. A daily run may make 1,000 queries. */
const LIMITS = { rows: 500, chunks: 150 };

/** How long records are kept. */
export interface Retention {
  keepDays: number;
  /** Whether changes are pushed: then only confirmed ones are deleted. */
  isPushed: boolean;
}

/**
 * Deletes audit rows that are older than the retention, with the records that they created, and old days of the ledger.
 * Every transaction leaves a state that the next run continues from. Returns whether nothing is left to delete.
 */
export async function deleteOld(ctx: ServiceContext, retention: Retention, limits = LIMITS): Promise<boolean> {
  const before = ctx.now() - retention.keepDays * DAY_MS;
  const found = await query(forNextCall(ctx), 'safe_to_repeat', (db) =>
    findDeletable(db, before, ctx.now() - SILENT_MS),
  );
  let chunks = limits.chunks;
  for (const { organizationId, toSeq, oldestSeq, confirmedSeq, newestSeq } of found) {
    const last = Math.min(newestSeq - 1, retention.isPushed ? confirmedSeq : Number.POSITIVE_INFINITY);
    const target = await findTarget(ctx, organizationId, toSeq, last, before);
    if (target > toSeq)
      await query(forNextCall(ctx), 'safe_to_repeat', (db) => moveDeletion(db, organizationId, target));
    // Without old rows up to the position, an organization takes nothing of the run from others.
    for (let deleted = limits.rows; target >= oldestSeq && deleted === limits.rows; chunks -= 1) {
      if (chunks === 0) return false;
      deleted = await deleteChunk(ctx, organizationId, limits.rows);
    }
  }
  return deleteOldDays(ctx, limits);
}

/**
 * The last row of an organization that may be deleted: nothing at or before it waits, or was changed by a row that is
 * younger than the retention or that is not confirmed. Such a change has to be delivered with its record.
 */
async function findTarget(ctx: ServiceContext, organizationId: string, from: number, last: number, before: number) {
  const [first] = await query(forNextCall(ctx), 'safe_to_repeat', (db) =>
    findFirstSeqSince(db, organizationId, before),
  );
  const to = Math.min(last, (first?.seq ?? 1) - 1);
  if (to <= from) return from;
  const found = await query(forNextCall(ctx), 'safe_to_repeat', (db) =>
    db.batch([findFirstUndecided(db, organizationId, from, to), findFirstRedactedLater(db, organizationId, from, to)]),
  );
  return Math.min(to, ...found.flat().map(({ seq }) => (seq ?? Number.POSITIVE_INFINITY) - 1));
}

/** Deletes the oldest rows in one transaction, and returns how many audit rows it deleted. */
async function deleteChunk(ctx: ServiceContext, organizationId: string, rows: number): Promise<number> {
  const results = await sendBatch(forNextCall(ctx), 'safe_to_repeat', (db) => deleteOldest(db, organizationId, rows));
  return results.at(-1)?.meta.changes ?? 0;
}

function deleteOldDays(ctx: ServiceContext, limits: typeof LIMITS): Promise<boolean> {
  const before = addDays(dateIn('UTC', ctx.now()), -LEDGER_RETENTION_DAYS);
  return runInChunks(ctx, limits, (db, limit) => deleteDays(db, before, limit));
}
