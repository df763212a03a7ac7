import * as z from 'zod';
import { ALL_ORGANIZATIONS } from '../../db/fact-statements.ts';
import {
  type EntryRow,
  EXAMINED,
  findEntries,
  findEntriesById,
  findQueue,
  moveMarks,
} from '../../db/work/time-queue-statements.ts';
import { AUDIT_TEXT_LENGTH } from '../../domain/audit-actions.ts';
import { addDays, startOfDate } from '../../domain/calendar.ts';
import type { ApprovalDecision } from '../../domain/record-kinds.ts';
import { keysOf } from '../../lib/objects.ts';
import { seqRange } from '../audit/read-audit-log.ts';
import { readAll, readOne, write } from '../call-d1.ts';
import { type ConfirmedSet, changeConfirmed } from '../confirmed-set.ts';
import { administratorsTimeZone } from '../directory/administrators.ts';
import { type AdminContext, forNextCall } from '../service-context.ts';
import { decideEntries } from './record-services.ts';

/** How many entries a page lists. */
export const LISTED = 100;
// The rows that a page or a part of a file examines, and the characters of a text that it reads and shows. It shows fewer,
// so that no key that was pasted into a text is cut off, and therefore not recognized.
export const PAGE = { examine: EXAMINED, characters: 1_000, shown: 300 };
export const FILE_PART = { examine: 2_500, characters: AUDIT_TEXT_LENGTH, shown: 3_000 };
/** How many rows one move of a mark passes at most. */
const MAX_PASSED = 10_000;
/** How many entries one request decides: each takes two of the 1,000 statements that an invocation may send. */
export const MAX_DECIDED = 200;

/** The states of a filter, in the order of the page, and their statuses. */
export const STATUSES = { waiting: 'SUBMITTED', approved: 'APPROVED', rejected: 'REJECTED', all: null } as const;

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

/** An entry. Amounts are in minor units. */
export type Entry = ReturnType<typeof toEntry>;

const toEntry = (row: EntryRow, userId: string) => ({
  ...row,
  amountMinor: row.billable === 1 ? Math.round((row.minutes * row.hourlyRateMinor) / 60) : 0,
  /** Whether the administrator who decided is credited with it; if none has, this administrator. */
  isOwn: row.userId === (row.decidedById ?? userId),
});

const toEntries = (ctx: AdminContext, rows: readonly EntryRow[]): Entry[] =>
  rows.map((row) => toEntry(row, ctx.actor.userId));

const matches = (entry: Entry, { company, technician, key, from, to }: TimeQuery) =>
  (company === undefined || entry.companyId === company) &&
  (technician === undefined || entry.userId === technician) &&
  (key === undefined || entry.keyId === key) &&
  (from === undefined || entry.workDate >= from) &&
  (to === undefined || entry.workDate <= to);

/** The range of the audit log that a filter covers. The queue begins at the mark. */
async function readRange(ctx: AdminContext, { state, from, to, upTo }: TimeQuery, timeZone: string) {
  const [queue, days] = await Promise.all([
    readOne(ctx, findQueue.bind(ctx.actor)),
    seqRange(ctx, {
      since: from === undefined ? undefined : startOfDate(from, timeZone),
      until: to === undefined ? undefined : startOfDate(addDays(to, 1), timeZone),
    }),
  ]);
  if (!queue) throw new Error('the organization of an administrator was not found');
  const first = Math.max(days.from, (state === 'waiting' ? queue.start : 0) + 1);
  const end = Math.min(days.before, (upTo ?? queue.last) + 1);
  return { first, end, isReadOnly: queue.approvals === 'psa' };
}

/**
 * The entries of a filter among some rows of its range: those that wait oldest first, all others newest first. `next` is
 * the cursor of the next rows, `upTo` the last `seq` of these.
 */
export async function readTime(
  ctx: AdminContext,
  query: TimeQuery,
  timeZone: string,
  { examine, characters } = PAGE,
  known?: Awaited<ReturnType<typeof readRange>>,
) {
  const { state, before } = query;
  const range = known ?? (await readRange(ctx, query, timeZone));
  const { first, end } = range;
  const isQueue = state === 'waiting';
  const from = isQueue ? Math.max(first, (before ?? 0) + 1) : Math.max(first, Math.min(end, before ?? end) - examine);
  const to = isQueue ? Math.min(end, from + examine) : Math.min(end, before ?? end);
  const values = { ...ctx.actor, from, to, status: STATUSES[state], characters };
  const rows = await readAll(ctx, findEntries.bind(values));
  const examined = toEntries(ctx, isQueue ? rows : rows.toReversed());
  const next = isQueue ? to - 1 : from;
  return {
    examined,
    entries: examined.filter((entry) => matches(entry, query)),
    next: (isQueue ? to < end : from > first) ? next : undefined,
    upTo: to - 1,
    range,
  };
}

export type TimePart = Awaited<ReturnType<typeof readTime>>;

/** All entries of a filter, a part with two queries at a time. */
export async function* exportTime(ctx: AdminContext, query: TimeQuery, timeZone: string) {
  for (let [part, before]: [TimePart | undefined, TimeQuery['before']] = [undefined, query.before]; ; ) {
    part = await readTime(forNextCall(ctx), { ...query, before }, timeZone, FILE_PART, part?.range);
    yield { items: part.entries, next: part.next?.toString() };
    if (part.next === undefined) return;
    before = part.next;
  }
}

export async function readEntries(ctx: AdminContext, ids: readonly string[]): Promise<Entry[]> {
  const values = { ...ctx.actor, ids: JSON.stringify(ids), characters: PAGE.characters };
  return ids.length === 0 ? [] : toEntries(ctx, await readAll(ctx, findEntriesById.bind(values)));
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
  // Not afterwards: a failure would hide that the entries are decided.
  await passDecided(ctx, { from: organizationId, to: organizationId });
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

/** Moves the marks of organizations past what needs no decision, such as notes and what the PSA has decided. */
export async function passDecided(
  ctx: Parameters<typeof write>[0],
  organizations: { from: string; to: string } = ALL_ORGANIZATIONS,
): Promise<void> {
  await write(ctx, 'nothing_written', moveMarks.bind({ ...organizations, examine: MAX_PASSED }));
}
