import { findFirstCompanies } from '../../db/directory/company-statements.ts';
import { sortWaiting } from '../../db/work/sorted-time-statements.ts';
import {
  countRefusedEntries,
  type EntryRow,
  findAnyEntry,
  findEntries,
  findEntriesById,
  findLastDecision,
  findTechnicians,
  MAX_SORTED,
  MAX_TOTAL,
  sumEntries,
  type TimeFilter,
  type TimeGroup,
} from '../../db/work/time-queue-statements.ts';
import { addDays, dateIn, startOfDate } from '../../domain/calendar.ts';
import { REDACTED } from '../../domain/change.ts';
import type { ApprovalDecision } from '../../domain/record-kinds.ts';
import { NO_MARKS, type TimeMarks } from '../../domain/time-marks.ts';
import {
  FILE_PART,
  firstDayOf,
  isFiltered,
  LISTED,
  MAX_ALL,
  PAGE,
  STATUSES,
  type TimeQuery,
  textSizeOf,
} from '../../domain/time-query.ts';
import { compareNaturally } from '../../lib/natural-order.ts';
import { seqRange } from '../audit/read-audit-log.ts';
import { byAdministrator } from '../audit/write-with-audit.ts';
import { query } from '../call-d1.ts';
import { administratorsTimeZone } from '../directory/administrators.ts';
import { listKeysToChoose } from '../keys/read-keys.ts';
import { type AdminContext, forNextCall } from '../service-context.ts';
import { decideEntries } from './record-services.ts';

export { MAX_SORTED, MAX_TOTAL } from '../../db/work/time-queue-statements.ts';

/** What the page of an administrator has read about the organization before. */
export interface Queue {
  /** How many entries wait, at most one more than `MAX_SORTED`. */
  waiting: number;
  timeZone: string;
}

/** Whether marks compare an entry with all that wait, and not only with those of the filter. */
export const hasAllMarks = ({ waiting }: Pick<Queue, 'waiting'>) => waiting <= MAX_SORTED;

/** Amounts are in minor units. */
export type Entry = ReturnType<typeof toEntry>;

const toEntry = (row: EntryRow, userId: string, marks: TimeMarks = NO_MARKS) => ({
  ...row,
  ...marks,
  /** Null if the PSA decides about the entry, because it then computes the amount. */
  amountMinor: row.approvals === 'psa' ? null : Math.round((row.billable * row.minutes * row.hourlyRateMinor) / 60),
  /** Whether the administrator who decided is credited with it; if none has, this administrator. */
  isOwn: row.userId === (row.decidedById ?? userId),
  /** Whether a page shows only the beginning of the text. */
  isCut: false,
});

/** Whether the PSA gets the entry, because it was approved here, or because the PSA decides about it. */
export const goesToPsa = ({ approvals, status }: Entry) => approvals === 'psa' || status === 'APPROVED';

/** Whether the text was redacted: the PSA then refused to remove it, if it has the entry. */
export const isRedacted = ({ text }: Pick<Entry, 'text'>) => text === REDACTED;

/** The entries of a page. Without totals there are too many to sort, mark and sum. */
export interface TimePage {
  entries: Entry[];
  totals: TimeTotals | undefined;
  /** The cursor of the next page. */
  next: number | undefined;
}

/**
 * What all entries that match have. Rejected ones are only in `rejected`, unless the query is about them. `lastSeq`: the
 * audit row of the newest entry.
 */
export type TimeTotals = ReturnType<typeof totalsOf>;

/** From the totals of each company and technician. */
export function totalsOf(groups: readonly TimeGroup[]) {
  const sum = (name: 'count' | 'rejected' | 'marked' | 'minutes' | 'amountMinor' | 'unpriced') =>
    groups.reduce((total, group) => total + (group[name] ?? 0), 0);
  return {
    count: sum('count'),
    rejected: sum('rejected'),
    marked: sum('marked'),
    minutes: sum('minutes'),
    amountMinor: groups.some(({ amountMinor }) => amountMinor !== null) ? sum('amountMinor') : null,
    unpriced: sum('unpriced'),
    lastSeq: groups.reduce((last, { seq }) => Math.max(last, seq), 0),
    groups: groups
      .filter(({ count }) => count > 0)
      .toSorted((a, b) => compareNaturally(a.company, b.company) || compareNaturally(a.technician, b.technician)),
  };
}

/** The totals of entries that the settings area decides. */
export function sumOf(entries: readonly Pick<Entry, 'minutes' | 'amountMinor'>[]) {
  const sum = (name: 'minutes' | 'amountMinor') => entries.reduce((total, entry) => total + (entry[name] ?? 0), 0);
  return { minutes: sum('minutes'), amountMinor: sum('amountMinor') };
}

/** The totals of one entry. */
function totalsOfEntry({ state }: TimeQuery, entry: Entry): TimeGroup {
  const isSummed = entry.status !== 'REJECTED' || state === 'rejected';
  const { seq, companyId, company, technician, minutes, amountMinor } = entry;
  const summed = isSummed
    ? { count: 1, rejected: 0, minutes, amountMinor, unpriced: amountMinor === null ? 1 : 0 }
    : { count: 0, rejected: 1, minutes: 0, amountMinor: null, unpriced: 0 };
  return { seq, companyId, company, technician, marked: 0, ...summed };
}

/** How many days before and after its work date an entry may have been written: the time zone may have changed since. */
const DAYS_AROUND = 2;

/** The conditions of a query. Its dates also limit the range of the log, because an entry's date is that of its write. */
async function filterOf(ctx: AdminContext, { timeZone }: Queue, query: TimeQuery): Promise<TimeFilter> {
  const { state, entry, before: _, to, upTo, ...filter } = query;
  const from = firstDayOf(query, dateIn(timeZone, ctx.now()));
  const approvals = state === 'waiting' ? ('settings' as const) : undefined;
  const ids = entry === undefined ? undefined : [entry];
  const isRefused = state === 'refused' ? (true as const) : undefined;
  const known = { ...filter, ids, from, to, approvals, isRefused, status: STATUSES[state] };
  if (from === undefined && to === undefined) return { ...known, upTo };
  const range = await seqRange(ctx, {
    since: from === undefined ? undefined : startOfDate(addDays(from, -DAYS_AROUND), timeZone),
    until: to === undefined ? undefined : startOfDate(addDays(to, 1 + DAYS_AROUND), timeZone),
  });
  return { ...known, after: range.from - 1, upTo: Math.min(range.before - 1, upTo ?? range.before) };
}

interface SortedPage {
  after?: number | undefined;
  limit: number;
  /** Of each text. */
  characters?: number;
  isUnmarkedOnly?: boolean;
}

/** The marks of the entries that wait and match by their ids, in the order of `sortWaiting`, with the totals of all. */
async function readMarks(ctx: AdminContext, queue: Queue, filter: TimeFilter, page: SortedPage) {
  const { organizationId } = ctx.actor;
  const search = { isUnmarkedOnly: false, ...page, readsOnlyMatching: !hasAllMarks(queue) };
  const rows = await query(ctx, 'nothing_written', (db) => sortWaiting(db, organizationId, filter, search));
  const totals = totalsOf(rows.filter(({ id }) => id === null));
  const marksOf = rows.flatMap(({ id, longFrom, sameAs, sameId, dayMinutes }) =>
    id === null ? [] : [[id, { longFrom, sameAs, sameId, dayMinutes }] as const],
  );
  return totals.count > MAX_SORTED ? { marksOf: [], totals: undefined } : { marksOf, totals };
}

/** The entries with these marks, in their order. */
async function readMarked(
  ctx: AdminContext,
  marksOf: readonly (readonly [id: string, TimeMarks])[],
  characters?: number,
): Promise<Entry[]> {
  const rows = await findById(
    ctx,
    marksOf.map(([id]) => id),
    characters,
  );
  const rowOf = new Map(rows.map((row) => [row.id, row]));
  return marksOf.flatMap(([id, marks]) => {
    const row = rowOf.get(id);
    return row ? [toEntry(row, ctx.actor.userId, marks)] : [];
  });
}

/** A page of the entries that wait and match, with the totals of all that match. */
async function sortEntries(
  ctx: AdminContext,
  queue: Queue,
  filter: TimeFilter,
  page: SortedPage,
): Promise<Pick<TimePage, 'entries' | 'totals'>> {
  const { marksOf, totals } = await readMarks(ctx, queue, filter, page);
  return { entries: await readMarked(ctx, marksOf, page.characters), totals };
}

/** Whether the entries of a query are sorted and marked. */
const isSorted = (asked: TimeQuery, queue: Queue) =>
  asked.state === 'waiting' && (isFiltered(asked) || hasAllMarks(queue));

/** A page of the entries of a query: those that wait sorted, unless they are too many, and all others newest first. */
export async function readTime(ctx: AdminContext, queue: Queue, asked: TimeQuery): Promise<TimePage> {
  if (asked.entry !== undefined && asked.state !== 'waiting') return readOne(ctx, asked, asked.entry);
  const filter = await filterOf(ctx, queue, asked);
  if (isSorted(asked, queue)) {
    const page = { after: asked.before, limit: LISTED + 1, characters: textSizeOf(asked).characters };
    const found = await sortEntries(ctx, queue, filter, page);
    const original = asked.entry === undefined ? null : (found.entries[0]?.sameId ?? null);
    const pair = { ...filter, ids: [asked.entry, original].filter((id) => typeof id === 'string') };
    const sorted = original === null ? found : await sortEntries(ctx, queue, pair, page);
    if (asked.entry !== undefined && sorted.entries.length === 0) return readOne(ctx, asked, asked.entry);
    if (sorted.totals) return { ...pageOf(sorted.entries), totals: sorted.totals };
  }
  const { organizationId, userId } = ctx.actor;
  const size = { limit: LISTED + 1, characters: PAGE.characters };
  const page = { ...filter, before: asked.before };
  const [rows, groups] = await Promise.all([
    query(ctx, 'nothing_written', (db) => findEntries(db, organizationId, page, size)),
    asked.state === 'waiting'
      ? undefined
      : query(ctx, 'nothing_written', (db) => sumEntries(db, organizationId, filter)),
  ]);
  const totals = groups && totalsOf(groups);
  const isSummed = totals && totals.count + totals.rejected <= MAX_TOTAL;
  return { ...pageOf(rows.map((row) => toEntry(row, userId))), totals: isSummed ? totals : undefined };
}

/** An entry, whatever was decided about it. */
async function readOne(ctx: AdminContext, asked: TimeQuery, id: string): Promise<TimePage> {
  const entries = await readEntries(ctx, [id], textSizeOf(asked).characters);
  return { entries, totals: totalsOf(entries.map((entry) => totalsOfEntry(asked, entry))), next: undefined };
}

const pageOf = (entries: Entry[]): Pick<TimePage, 'entries' | 'next'> => {
  const listed = entries.slice(0, LISTED);
  return { entries: listed, next: entries.length > LISTED ? listed.at(-1)?.seq : undefined };
};

/** How many companies and technicians a filter offers at most. */
const MAX_CHOICES = 2_000;

export type TimeChoices = Awaited<ReturnType<typeof readChoices>>;

/** What the filters offer, by name, and how many entries are not in the PSA. */
export async function readChoices(ctx: AdminContext) {
  const { organizationId } = ctx.actor;
  const [[companies, technicians, [refused]], keys] = await Promise.all([
    query(ctx, 'nothing_written', (db) =>
      db.batch([
        findFirstCompanies(db, organizationId, MAX_CHOICES),
        findTechnicians(db, organizationId, MAX_CHOICES),
        countRefusedEntries(db, organizationId),
      ]),
    ),
    listKeysToChoose(ctx),
  ]);
  const byName = (rows: readonly { id: string; name: string }[]) =>
    rows.toSorted((a, b) => compareNaturally(a.name, b.name)).map(({ id, name }) => [id, name] as const);
  return {
    company: byName(companies),
    technician: byName(technicians),
    key: keys.map(({ id, name, hint }) => [id, `${name} (${hint})`] as const),
    /** At most one more than `MAX_SORTED`. */
    refused: refused?.count ?? 0,
  };
}

/** The latest decision of a person. */
export async function readLastDecision(ctx: AdminContext) {
  const { organizationId } = ctx.actor;
  const [last] = await query(ctx, 'nothing_written', (db) => findLastDecision(db, organizationId));
  return last;
}

/** Whether the organization has any time, whatever was decided about it. */
export async function hasAnyTime(ctx: AdminContext): Promise<boolean> {
  const { organizationId } = ctx.actor;
  const found = await query(ctx, 'nothing_written', (db) => findAnyEntry(db, organizationId));
  return found.length > 0;
}

/**
 * The entries that wait and that an administrator wants to decide about: those with these ids, or all of a query
 * that are not marked, at most `MAX_ALL`. None if a query is about other entries, or too many wait to mark them. The
 * totals include the marked ones.
 */
export async function readUndecided(
  ctx: AdminContext,
  queue: Queue,
  asked: readonly string[] | TimeQuery,
): Promise<Pick<TimePage, 'entries' | 'totals'>> {
  const isQuery = 'state' in asked;
  if (isQuery && (asked.state !== 'waiting' || !hasAllMarks(queue))) return { entries: [], totals: undefined };
  const filter = isQuery ? await filterOf(ctx, queue, asked) : { ids: asked };
  return sortEntries(ctx, queue, filter, { isUnmarkedOnly: isQuery, limit: MAX_ALL });
}

/** All entries of a query in the order of their page, a part with one query at a time. */
export async function* exportTime(ctx: AdminContext, queue: Queue, asked: TimeQuery) {
  const { organizationId, userId } = ctx.actor;
  if (asked.entry !== undefined) {
    const { entries: items } = await readTime(ctx, queue, asked);
    yield { items, next: undefined };
    return;
  }
  const filter = await filterOf(forNextCall(ctx), queue, asked);
  if (isSorted(asked, queue)) {
    const { marksOf, totals } = await readMarks(forNextCall(ctx), queue, filter, { limit: MAX_SORTED });
    for (let first = 0; first < marksOf.length; first += FILE_PART.limit) {
      const part = marksOf.slice(first, first + FILE_PART.limit);
      yield { items: await readMarked(forNextCall(ctx), part, FILE_PART.characters), next: undefined };
    }
    if (totals) return;
  }
  for (let { before } = asked; ; ) {
    const part = { ...filter, before };
    const rows: EntryRow[] = await query(forNextCall(ctx), 'nothing_written', (db) =>
      findEntries(db, organizationId, part, FILE_PART),
    );
    const items = rows.map((row) => toEntry(row, userId));
    before = items.length === FILE_PART.limit ? items.at(-1)?.seq : undefined;
    yield { items, next: before?.toString() };
    if (before === undefined) return;
  }
}

async function findById(ctx: AdminContext, ids: readonly string[], characters = PAGE.characters): Promise<EntryRow[]> {
  if (ids.length === 0) return [];
  const { organizationId } = ctx.actor;
  return query(ctx, 'nothing_written', (db) => findEntriesById(db, organizationId, ids, characters));
}

/** The entries with these ids, whatever was decided about them. */
export async function readEntries(ctx: AdminContext, ids: readonly string[], characters?: number): Promise<Entry[]> {
  return (await findById(ctx, ids, characters)).map((row) => toEntry(row, ctx.actor.userId));
}

/**
 * Decides about these entries in one transaction, each once. If none of them waits, `done` has those that the same
 * administrator has decided in the same way before: a form that is sent twice. Any other entry is as it was.
 * @throws ServiceError `not_administrator`
 */
export async function decideTime(
  ctx: AdminContext,
  ids: readonly string[],
  decision: ApprovalDecision,
  reason?: string,
): Promise<{ done: string[]; totals: ReturnType<typeof sumOf>; others: Entry[] }> {
  const { userId } = ctx.actor;
  const decided = await decideEntries(ctx, byAdministrator(ctx), 'settings', ids, decision, reason);
  const isDecided = new Set(decided.map(({ id }) => id));
  const undone = ids.filter((id) => !isDecided.has(id));
  if (undone.length > 0) await administratorsTimeZone(ctx);
  const found = await readEntries(ctx, undone);
  const isDone = (entry: Entry) =>
    decided.length === 0 &&
    entry.status === decision &&
    entry.decidedById === userId &&
    entry.reason === (reason ?? null);
  const done = [...decided, ...found.filter(isDone)];
  return {
    done: done.map(({ id }) => id),
    totals: sumOf(done),
    others: found.filter((entry) => !isDone(entry)),
  };
}
