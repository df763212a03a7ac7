import { batch } from '../../db/statement.ts';
import { type ChangeRow, findChanges } from '../../db/work/changes.ts';
import { DAY_MS } from '../../domain/calendar.ts';
import type { Change, ChangedRecords } from '../../domain/change.ts';
import { utf8Length } from '../../lib/bytes.ts';
import { fromKeys } from '../../lib/objects.ts';
import { callD1, readAll, readOne } from '../../services/call-d1.ts';
import { toChange } from '../../services/work/list-changes.ts';
import type { ArchiveContext } from './bucket.ts';
import { RECORD_FIELDS, segmentFrom, storeSegment } from './segment.ts';
import { type ArchivableRow, archiveSegment, findArchivable } from './step-statements.ts';

export const STEP_CHANGES = 1_000;
/** A step ends with the page that reaches this number of bytes: it is in memory a few times. */
const STEP_BYTES = 2_000_000;
/** A partial step waits this long, so that runs do not store many small objects. */
export const WAIT_MS = DAY_MS;
const PAGE_CHANGES = 100;

export interface ArchiveRule {
  /** Changes from before this time, UTC milliseconds. */
  before: number;
  /** Whether the push is on: then only what its receiver has confirmed is archived. */
  isPushed: boolean;
}

/** The outcome of a step. `refused`: another call changed the rows; try again. */
export type ArchiveStep =
  | { status: 'archived'; object: string; fromSeq: number; toSeq: number }
  | { status: 'nothing' }
  | { status: 'refused' };

/**
 * The object is stored first, then one transaction records it and removes the rows. The next step of
 * this segment deletes an unreferenced object. @throws ServiceError `unavailable`: repeat the step
 */
export async function archiveStep(
  ctx: ArchiveContext,
  organizationId: string,
  rule: ArchiveRule,
): Promise<ArchiveStep> {
  const archivable = await readOne(ctx, findArchivable.bind({ organizationId, isPushed: Number(rule.isPushed) }));
  if (!archivable) return { status: 'nothing' };
  const rows = await readRows(ctx, organizationId, rule, archivable);
  const [first, last] = [rows[0], rows.at(-1)];
  if (!first || !last) return { status: 'nothing' };

  const range = { organizationId, fromSeq: first.seq, toSeq: last.seq };
  let object = '';
  const isArchived = await storeSegment(ctx, range, toChanges(rows, archivable.epoch), async (file) => {
    object = file.object;
    const segment = { ...range, ...file, firstAt: first.at, newestSeq: archivable.newestSeq };
    await callD1(ctx, 'safe_to_repeat', (db) =>
      batch(
        db,
        archiveSegment.map((statement) => statement.bind(segment)),
      ),
    );
    return (await segmentFrom(ctx, range))?.object === object;
  });
  return isArchived ? { status: 'archived', object, fromSeq: first.seq, toSeq: last.seq } : { status: 'refused' };
}

async function readRows(
  ctx: ArchiveContext,
  organizationId: string,
  { before }: ArchiveRule,
  { archivedSeq, lastSeq }: ArchivableRow,
): Promise<ChangeRow[]> {
  const rows: ChangeRow[] = [];
  for (let size = 0; size < STEP_BYTES && rows.length < STEP_CHANGES; ) {
    const seq = rows.at(-1)?.seq ?? archivedSeq;
    const limit = Math.min(PAGE_CHANGES, STEP_CHANGES - rows.length, lastSeq - seq);
    if (limit <= 0) break;
    const results = await readAll(ctx, findChanges.bind({ organizationId, seq, limit }));
    const end = results.findIndex(({ at }) => at >= before);
    const due = end === -1 ? results : results.slice(0, end);
    rows.push(...due);
    if (due.length < limit) break;
    size += utf8Length(JSON.stringify(due));
  }
  return rows;
}

const NO_RECORD: ChangedRecords = fromKeys(RECORD_FIELDS, () => null);

/**
 * The lines of the object. The line of a creation carries the record if its row is archived in this
 * segment. A stub has no `keyId`.
 */
function toChanges(rows: readonly ChangeRow[], epoch: string): Change[] {
  const seen = new Set<string>();
  return rows.map((row) => {
    const change = toChange(row, epoch);
    const isFirst = row.keyId !== null && !seen.has(row.targetId);
    seen.add(row.targetId);
    return isFirst ? change : { ...change, ...NO_RECORD };
  });
}
