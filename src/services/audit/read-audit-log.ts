import {
  type AuditLogRow,
  type AuditRange,
  countMatching,
  countWritesOfKey,
  type Examined,
  findAuditAdministrators,
  findAuditPage,
  findAuditRowsAbout,
  findExamined,
  findFirstSeqSince,
  findTicket,
} from '../../db/audit/audit-log-statements.ts';
import { actionsNamed } from '../../domain/audit-actions.ts';
import { parseIdempotencyKey } from '../../domain/idempotency-key.ts';
import { derivedId, timeOfId } from '../../domain/record-id.ts';
import { forEachKind, RECORD_KIND_NAMES } from '../../domain/record-kinds.ts';
import { compareNaturally } from '../../lib/natural-order.ts';
import { query } from '../call-d1.ts';
import { type AdminContext, type ExportPage, forNextCall } from '../service-context.ts';

/** An entry of the audit log. Times are UTC milliseconds. */
export type AuditEntry = ReturnType<typeof toEntry>;

/** Which entries to show. `since` and `until` (excluded) are UTC milliseconds. */
export interface AuditFilter {
  /** An id replaces all other conditions. Any other text is a ticket. */
  search?: string | undefined;
  administratorId?: string | undefined;
  keyId?: string | undefined;
  /** An action, or the name of a group of actions. */
  action?: string | undefined;
  ticketId?: string | undefined;
  /** Only what is about time entries of at least so many minutes. */
  minutes?: number | undefined;
  since?: number | undefined;
  until?: number | undefined;
}

export interface AuditPage {
  entries: AuditEntry[];
  /** The cursor of the next page, even if this page is not full but there is more to examine. */
  next: number | undefined;
  /** If so, the time of the last entry examined, in UTC milliseconds. */
  searchedTo: number | undefined;
  /** Whether the search found these entries by an id. */
  isById: boolean;
  /** How many entries there are from the first of these on; undefined if the page is not full. */
  total?: { count: number; isMinimum: boolean };
}

const PAGE_SIZE = 50;
/** How many entries a filtered page examines before it asks whether to continue. */
const EXAMINED_PER_PAGE = 20_000;
/** The same for the entries of a key or administrator, of which each takes several reads. */
const EXAMINED_OF_ACTOR = 1_000;
const EXPORT_PAGE_SIZE = 2_500;
/** Up to how many entries a filtered page counts. */
export const MAX_COUNTED_ENTRIES = 1_000;
/** How many actors are examined to list the administrators among them. */
const MAX_LISTED_ACTORS = 500;
/** Maximum clock skew between two machines: times may deviate from the order of `seq` by this. */
const CLOCK_SKEW_MS = 30_000;
/** A request id is created at arrival; the body may take 20 s, and the write 10 s. */
const LONGEST_REQUEST_MS = 30_000;
/** How many entries around the time in it a search by request id examines. */
const EXAMINED_FOR_REQUEST = 10_000;

/** One page of the audit log before the cursor, from a bounded number of rows. */
export async function readAuditLog(ctx: AdminContext, filter: AuditFilter, cursor?: number): Promise<AuditPage> {
  const found = filter.search === undefined ? undefined : await searchAuditLog(ctx, filter.search);
  if (found) return { entries: found, next: undefined, searchedTo: undefined, isById: true };
  const isFiltered = Object.values(filter).some((condition) => condition !== undefined);
  const isOfActor = filter.keyId !== undefined || filter.administratorId !== undefined;
  const examine = isOfActor ? EXAMINED_OF_ACTOR : isFiltered ? EXAMINED_PER_PAGE : PAGE_SIZE + 1;
  const window = { ...(await seqRange(ctx, filter, cursor)), limit: PAGE_SIZE, examine };
  const { examined, ...page } = await readPage(ctx, filter, window);
  if (page.searchedTo !== undefined || examined === undefined) return page;
  const { entries, next } = page;
  const last = entries.at(-1);
  if (next === undefined || last === undefined) return { ...page, total: { count: entries.length, isMinimum: false } };
  // The numbers of the log have no gaps.
  const unfiltered = (entries[0]?.seq ?? 0) - examined.oldest + 1;
  if (!isFiltered) return { ...page, total: { count: unfiltered, isMinimum: false } };
  // The rest of what the page examined, so that a page never examines more.
  const rest = {
    ...window,
    before: last.seq,
    from: examined.lowest ?? 0,
    limit: MAX_COUNTED_ENTRIES + 1 - entries.length,
  };
  const counted = async () => {
    const [found] = await query(ctx, 'nothing_written', (db) => countMatching(db, rangeOf(ctx, filter, rest)));
    return found?.count ?? 0;
  };
  const count = examined.matching ?? entries.length + (await counted());
  const isAll = nextCursor(undefined, examined, window) === undefined;
  return {
    ...page,
    total: { count: Math.min(count, MAX_COUNTED_ENTRIES), isMinimum: count > MAX_COUNTED_ENTRIES || !isAll },
  };
}

/** The latest entries about one key: its writes, and the changes to it. */
export async function readLatestOfKey(ctx: AdminContext, keyId: string, limit: number): Promise<AuditEntry[]> {
  const window = { before: Number.MAX_SAFE_INTEGER, from: 0, examine: limit, limit };
  const rows = await query(ctx, 'nothing_written', (db) => findAuditPage(db, rangeOf(ctx, { keyId }, window)));
  return rows.map(toEntry);
}

/** What a key wrote since an instant (UTC milliseconds): exact, unless the organization wrote a very large number. */
export async function countWritesSince(ctx: AdminContext, keyId: string, since: number) {
  const { organizationId } = ctx.actor;
  const limits = { examine: EXAMINED_PER_PAGE, limit: EXAMINED_PER_PAGE };
  const range = { organizationId, keyId, since, ...limits, ...(await seqRange(ctx, { since })) };
  const [found] = await query(ctx, 'nothing_written', (db) => countWritesOfKey(db, range));
  if (!found) throw new Error('the count of writes returned no row');
  const { writes, addresses, examined } = found;
  return { writes, addresses, isMinimum: examined >= EXAMINED_PER_PAGE };
}

/** The administrators who are actors in the audit log, by name, the present ones first. */
export async function listAuditAdministrators(ctx: AdminContext) {
  const { organizationId } = ctx.actor;
  const found = await query(ctx, 'nothing_written', (db) =>
    findAuditAdministrators(db, organizationId, MAX_LISTED_ACTORS),
  );
  return found
    .map(({ id, name, isPresent }) => ({ id, name, isFormer: isPresent === 0 }))
    .sort((a, b) => Number(a.isFormer) - Number(b.isFormer) || compareNaturally(a.name, b.name));
}

/** The whole filtered log before the cursor, newest first, a page with two queries at a time. */
export async function* exportAuditLog(
  ctx: AdminContext,
  filter: AuditFilter,
  cursor?: number,
): AsyncGenerator<ExportPage<AuditEntry>> {
  const found = filter.search === undefined ? undefined : await searchAuditLog(ctx, filter.search);
  if (found) {
    yield { items: found, next: undefined };
    return;
  }
  const range = await seqRange(forNextCall(ctx), filter, cursor);
  for (let before: number | undefined = range.before; before !== undefined; ) {
    const window = { ...range, before, limit: EXPORT_PAGE_SIZE, examine: EXPORT_PAGE_SIZE };
    const { entries, next }: AuditPage = await readPage(forNextCall(ctx), filter, window);
    yield { items: entries, next: next?.toString() };
    before = next;
  }
}

/**
 * The entries about one thing: a record id, a key id, an Idempotency-Key or a request id. Undefined if the text is none
 * of them but the id of a ticket, which is a filter.
 */
export async function searchAuditLog(ctx: AdminContext, text: string): Promise<AuditEntry[] | undefined> {
  const { organizationId } = ctx.actor;
  const values = await searchedIds(organizationId, text);
  if (!values) return [];
  const { id } = values;
  const [found, tickets] = await query(ctx, 'nothing_written', (db) =>
    db.batch([findAuditRowsAbout(db, values), findTicket(db, organizationId, text)]),
  );
  if (found.length > 0) return found.map(toEntry);
  if (tickets.length > 0) return undefined;
  const receivedAt = timeOfId(id);
  if (receivedAt === undefined) return [];

  // Clocks differ and a write may be slow: search a narrow range of the log for the entry.
  const range = await seqRange(ctx, { since: receivedAt, until: receivedAt + LONGEST_REQUEST_MS });
  const limits = { limit: PAGE_SIZE, examine: EXAMINED_FOR_REQUEST };
  return (await readPage(ctx, {}, { ...range, ...limits }, id)).entries;
}

/** A text as an id, and the ids that each kind derives from it as an Idempotency-Key; undefined if neither. */
async function searchedIds(organizationId: string, text: string) {
  const parsed = parseIdempotencyKey(text);
  if (!parsed.ok || parsed.key === undefined) return undefined;
  const { key } = parsed;
  const id = text.toLowerCase();
  const derived = await Promise.all(
    RECORD_KIND_NAMES.map(async (kind) => [kind, await derivedId(organizationId, kind, key)] as const),
  );
  const ids = new Map(derived);
  return { organizationId, id, ...forEachKind((kind) => ids.get(kind) ?? id) };
}

/** The range of the log that a page examines, and how many entries it returns at most. */
type Window = Pick<AuditRange, 'before' | 'from' | 'limit' | 'examine'>;

function rangeOf({ actor: { organizationId } }: AdminContext, filter: AuditFilter, window: Window): AuditRange {
  const { search, action, ticketId, ...match } = filter;
  const ticketIds = [search, ticketId].filter((id) => id !== undefined);
  const actions = action === undefined ? undefined : actionsNamed(action);
  return { ...match, organizationId, actions, ticketIds, ...window };
}

async function readPage(ctx: AdminContext, filter: AuditFilter, window: Window, requestId?: string) {
  const range = { ...rangeOf(ctx, filter, window), requestId };
  const [rows, [examined]] = await query(ctx, 'nothing_written', (db) =>
    db.batch([findAuditPage(db, range), findExamined(db, range)]),
  );
  const isFull = rows.length === window.limit;
  const next = nextCursor(isFull ? rows.at(-1) : undefined, examined, window);
  const searchedTo = next === undefined || isFull ? undefined : (examined?.lowestAt ?? undefined);
  return { entries: rows.map(toEntry), next, searchedTo, isById: false, examined };
}

/** The next page begins after the last row of a full page, otherwise after the last one examined. */
function nextCursor(last: AuditLogRow | undefined, examined: Examined | undefined, { examine, from }: Window) {
  if (examined === undefined || examined.lowest === null) return undefined;
  if (last && examined.lowest < last.seq) return last.seq;
  const first = Math.max(from, examined.oldest);
  return examined.examined === examine && examined.lowest > first ? examined.lowest : undefined;
}

/** The range of the log before the cursor that contains all entries of a period, even if clocks differed. */
export async function seqRange(
  ctx: AdminContext,
  { since, until }: Pick<AuditFilter, 'since' | 'until'>,
  cursor = Number.MAX_SAFE_INTEGER,
): Promise<{ from: number; before: number }> {
  const firstSince = async (at: number) => {
    const [row] = await query(ctx, 'nothing_written', (db) => findFirstSeqSince(db, ctx.actor.organizationId, at));
    if (!row) throw new Error('the binary search returned no row');
    return row.seq;
  };
  const [from, before] = await Promise.all([
    since === undefined ? 0 : firstSince(since - CLOCK_SKEW_MS),
    until === undefined ? cursor : firstSince(until + CLOCK_SKEW_MS),
  ]);
  return { from, before: Math.min(before, cursor) };
}

function toEntry({ keyId, keyName, keyHint, keyRevokedAt, minutes, technician, billable, ...row }: AuditLogRow) {
  const { hourlyRateMinor, approvals, status, decidedBy, decidedAt, ...entry } = row;
  return {
    ...entry,
    /** The key that acted, or that an administrator did something to, as it is now. */
    key:
      keyId === null ? null : { id: keyId, name: keyName ?? '', hint: keyHint ?? '', revoked: keyRevokedAt !== null },
    time:
      minutes === null || hourlyRateMinor === null || approvals === null || status === null
        ? null
        : {
            minutes,
            technician: technician ?? '',
            billable: billable === 1,
            hourlyRateMinor,
            approvals,
            status,
            decidedBy,
            decidedAt,
          },
  };
}
