import * as z from 'zod';
import {
  type EntryRow,
  findApprover,
  findEntries,
  findEntriesById,
  sumEntries,
  type TimeFilter,
} from '../../db/work/time-queue-statements.ts';
import { AUDIT_TEXT_LENGTH } from '../../domain/audit-actions.ts';
import type { ApprovalDecision } from '../../domain/record-kinds.ts';
import { keysOf } from '../../lib/objects.ts';
import { query } from '../call-d1.ts';
import { type ConfirmedSet, changeConfirmed } from '../confirmed-set.ts';
import { administratorsTimeZone } from '../directory/administrators.ts';
import { type AdminContext, forNextCall } from '../service-context.ts';
import { decideEntries } from './record-services.ts';

export { MAX_TOTAL } from '../../db/work/time-queue-statements.ts';

/** How many entries a page lists, and how many "all" decides about at most. */
export const LISTED = 100;
export const MAX_ALL = 1_000;
// The characters of a text that a page or a file reads and shows. It shows fewer, so that no key that was pasted into a text
// is cut off, and therefore not recognized.
export const PAGE = { characters: 1_000, shown: 300 };
export const FILE_PART = { limit: 2_500, characters: AUDIT_TEXT_LENGTH, shown: 3_000 };
/** How many entries one request decides: each takes two of the 1,000 statements that an invocation may send. */
export const MAX_DECIDED = 200;

/** The states of a filter, in the order of the page, and their statuses. */
export const STATUSES = { waiting: 'SUBMITTED', approved: 'APPROVED', rejected: 'REJECTED', all: undefined } as const;

/** Which entries to show, where another page continues, and up to which `seq` an administrator has seen them. */
export const timeQuery = z.lazy(() =>
  z.object({
    state: z.enum(keysOf(STATUSES)).catch('waiting'),
    company: z.string().optional(),
    technician: z.string().optional(),
    key: z.string().optional(),
    from: z.iso.date().optional().catch(undefined),
    to: z.iso.date().optional().catch(undefined),
    before: z.coerce.number().int().positive().optional().catch(undefined),
    upTo: z.coerce.number().int().positive().optional().catch(undefined),
  }),
);
export type TimeQuery = z.output<typeof timeQuery>;

/** Amounts are in minor units. */
export type Entry = ReturnType<typeof toEntry>;

const toEntry = (row: EntryRow, userId: string) => ({
  ...row,
  amountMinor: row.billable === 1 ? Math.round((row.minutes * row.hourlyRateMinor) / 60) : 0,
  /** Whether the administrator who decided is credited with it; if none has, this administrator. */
  isOwn: row.userId === (row.decidedById ?? userId),
});

/**
 * Entries that wait are listed oldest first, without those that wait for the PSA. All others are listed newest first.
 * `before` is the last entry of the page before.
 */
function filterOf({ state, before, ...filter }: TimeQuery): TimeFilter & { oldestFirst: boolean } {
  const oldestFirst = state === 'waiting';
  const approvals = state === 'waiting' ? 'settings' : undefined;
  return { ...filter, approvals, status: STATUSES[state], [oldestFirst ? 'after' : 'before']: before, oldestFirst };
}

/** A page of the entries of a filter, with the totals of all of them. `next` is the cursor of the next page. */
export async function readTime(ctx: AdminContext, asked: TimeQuery) {
  const { organizationId, userId } = ctx.actor;
  const { oldestFirst, ...filter } = filterOf(asked);
  const size = { oldestFirst, limit: LISTED + 1, characters: PAGE.characters };
  const [rows, [totals], [organization]] = await query(ctx, 'nothing_written', (db) =>
    db.batch([
      findEntries(db, organizationId, filter, size),
      sumEntries(db, organizationId, { ...filter, after: undefined, before: undefined }),
      findApprover(db, organizationId),
    ]),
  );
  if (!totals || !organization) throw new Error('the organization of an administrator was not found');
  const entries = rows.slice(0, LISTED).map((row) => toEntry(row, userId));
  return {
    entries,
    totals,
    next: rows.length > LISTED ? entries.at(-1)?.seq : undefined,
    approvals: organization.approvals,
  };
}

export type TimePart = Awaited<ReturnType<typeof readTime>>;

/**
 * The entries that wait and that an administrator wants to decide about: those with these ids, or all of a filter, at
 * most `MAX_ALL`, the oldest first. Without those that the PSA decides.
 */
export async function readUndecided(ctx: AdminContext, asked: readonly string[] | TimeQuery): Promise<Entry[]> {
  const { organizationId, userId } = ctx.actor;
  const size = { oldestFirst: true, limit: MAX_ALL, characters: PAGE.characters };
  const rows: EntryRow[] = await query(ctx, 'nothing_written', (db) =>
    'state' in asked
      ? findEntries(db, organizationId, filterOf({ ...asked, before: undefined }), size)
      : findEntriesById(db, organizationId, asked, size.characters),
  );
  const isUndecided = ({ approvals, status }: EntryRow) => approvals === 'settings' && status === 'SUBMITTED';
  return rows.filter(isUndecided).map((row) => toEntry(row, userId));
}

/** All entries of a filter, a part with one query at a time. */
export async function* exportTime(ctx: AdminContext, asked: TimeQuery) {
  const { organizationId, userId } = ctx.actor;
  for (let { before } = asked; ; ) {
    const { oldestFirst, ...filter } = filterOf({ ...asked, before });
    const rows: EntryRow[] = await query(forNextCall(ctx), 'nothing_written', (db) =>
      findEntries(db, organizationId, filter, { ...FILE_PART, oldestFirst }),
    );
    const items = rows.map((row) => toEntry(row, userId));
    before = items.length === FILE_PART.limit ? items.at(-1)?.seq : undefined;
    yield { items, next: before?.toString() };
    if (before === undefined) return;
  }
}

export async function readEntries(ctx: AdminContext, ids: readonly string[]): Promise<Entry[]> {
  if (ids.length === 0) return [];
  const { organizationId, userId } = ctx.actor;
  const rows = await query(ctx, 'nothing_written', (db) => findEntriesById(db, organizationId, ids, PAGE.characters));
  return rows.map((row) => toEntry(row, userId));
}

/**
 * Decides about at most `MAX_DECIDED` entries, each once. `done` also has those that the same administrator has decided
 * in the same way before: a form that is sent twice. Any other entry is as it was.
 * @throws ServiceError `not_administrator`
 */
export async function decideTime(
  ctx: AdminContext,
  ids: readonly string[],
  decision: ApprovalDecision,
  reason?: string,
): Promise<ConfirmedSet & { others: Entry[] }> {
  const { organizationId, userId } = ctx.actor;
  const reviewer = { organizationId, userId, source: ctx.source, approver: 'settings' as const };
  const result = await changeConfirmed(ids.slice(0, MAX_DECIDED), (some) =>
    decideEntries(ctx, reviewer, some, decision, reason),
  );
  const undone = result.confirmed.filter((id) => !result.done.includes(id) && !result.failed.includes(id));
  if (undone.length > 0) await administratorsTimeZone(ctx);
  const found = await readEntries(ctx, undone);
  const isDone = ({ status, decidedById }: Entry) => status === decision && decidedById === userId;
  return {
    ...result,
    done: [...result.done, ...found.filter(isDone).map(({ id }) => id)],
    others: found.filter((entry) => !isDone(entry)),
  };
}
