import { type AuditRow, type AuditScan, auditPage, type ExaminedPart, FIND_BY_RECORD, FIRST_SEQ_SINCE } from '../../db/audit/audit-log.ts';
import { parseIdempotencyKey } from '../../domain/idempotency-key.ts';
import { derivedId, timeOfId } from '../../domain/record-id.ts';
import { atD1, forNextPage } from './write-with-audit.ts';
import type { OrganizationContext } from '../context.ts';

export type { AuditRow } from '../../db/audit/audit-log.ts';

/** Which entries to show. `since` and `until` (excluded) are UTC milliseconds. */
export interface AuditFilter {
  keyId?: string | undefined;
  action?: string | undefined;
  ticketId?: string | undefined;
  since?: number | undefined;
  until?: number | undefined;
}

/** Entries, newest first. `next` is the cursor of the page after them, present also when this page found nothing but there is more to examine. */
export interface AuditPage {
  rows: AuditRow[];
  next: number | undefined;
}

const PAGE_SIZE = 50;
/** How many entries a filtered page looks at before it asks whether to go on. */
const EXAMINED_PER_PAGE = 1_000;
/** Entries that an export reads at a time. */
const EXPORT_PAGE_SIZE = 1_000;
/** How far the clocks of two machines may lie apart: `seq` is the order of commits, and times may deviate from it by so much. */
const CLOCK_SKEW_MS = 30_000;
/** A request id is made when the request comes in; then its body may take 20 s, and its write is committed within the 10 s of the request. */
const LONGEST_REQUEST_MS = 30_000;

/** What a search by request id looks through at most: 10,000 entries around the time in the id. */
const MAX_SEARCH_PAGES = 10;

/**
 * A page of the audit log before the cursor. It reads a bounded number of rows, however many there are.
 * @throws Refusal `unavailable`
 */
export async function readAuditLog(ctx: OrganizationContext, filter: AuditFilter, cursor?: number): Promise<AuditPage> {
  const range = await seqRange(ctx, filter);
  const { action, ticketId, since, until } = filter;
  const filtered = [action, ticketId, since, until].some((condition) => condition !== undefined);
  return readPage(ctx, filter, {
    ...range,
    before: Math.min(range.before, cursor ?? range.before),
    limit: PAGE_SIZE,
    examine: filtered ? EXAMINED_PER_PAGE : PAGE_SIZE + 1,
  });
}

/** The whole filtered log, newest first, a bounded number of entries at a time. */
export async function* exportAuditLog(ctx: OrganizationContext, filter: AuditFilter): AsyncGenerator<AuditRow[]> {
  const range = await seqRange(forNextPage(ctx), filter);
  for (let before: number | undefined = range.before; before !== undefined; ) {
    const page: AuditPage = await readPage(forNextPage(ctx), filter, {
      ...range,
      before,
      limit: EXPORT_PAGE_SIZE,
      examine: EXPORT_PAGE_SIZE,
    });
    yield page.rows;
    before = page.next;
  }
}

/**
 * The entries about one thing, named by a record id, a key id, an Idempotency-Key or a request id.
 * @throws Refusal `unavailable`
 */
export async function searchAuditLog(ctx: OrganizationContext, text: string): Promise<AuditRow[]> {
  const { organizationId, db } = ctx;
  const parsed = parseIdempotencyKey(text);
  if (!parsed.ok || parsed.key === undefined) return [];
  const [note, timeEntry] = await Promise.all([
    derivedId(organizationId, 'note', parsed.key),
    derivedId(organizationId, 'time_entry', parsed.key),
  ]);
  const id = text.toLowerCase();
  const { results } = await atD1(ctx, () => db.prepare(FIND_BY_RECORD).bind(organizationId, id, note, timeEntry).all<AuditRow>());
  const receivedAt = timeOfId(id);
  if (results.length > 0 || receivedAt === undefined) return results;

  // Between two machines' clocks and a slow write, the entry lies somewhere in a narrow part of the log, which is looked through.
  const filter = { since: receivedAt, until: receivedAt + LONGEST_REQUEST_MS };
  const range = await seqRange(ctx, filter);
  const part = { from: range.from, limit: PAGE_SIZE, examine: EXAMINED_PER_PAGE, requestId: id };
  let before: number | undefined = range.before;
  for (let pages = 0; pages < MAX_SEARCH_PAGES && before !== undefined; pages++) {
    const page: AuditPage = await readPage(ctx, {}, { ...part, before });
    if (page.rows.length > 0) return page.rows;
    before = page.next;
  }
  return [];
}

async function readPage(
  ctx: OrganizationContext,
  { keyId, action, ticketId, since, until }: AuditFilter,
  part: Pick<AuditScan, 'before' | 'from' | 'limit' | 'examine'> & { requestId?: string },
): Promise<AuditPage> {
  const { db, organizationId } = ctx;
  const scan = { keyId, action, ticketId, since, until, requestId: undefined, ...part };
  const [found, examined] = await atD1(ctx, () => db.batch<AuditRow | ExaminedPart>(auditPage(db, organizationId, scan)));
  const rows = (found?.results ?? []).filter((row) => 'seq' in row);
  const [end] = (examined?.results ?? []).filter((row) => 'lowest' in row);
  return { rows, next: nextCursor(rows.at(-1)?.seq, rows.length === scan.limit, end, scan.examine) };
}

/** Where the next page begins: behind the last row of a full page, else behind the last row examined, if there may be more. */
function nextCursor(last: number | undefined, full: boolean, end: ExaminedPart | undefined, examine: number): number | undefined {
  if (end === undefined || end.lowest === null) return undefined;
  if (full && last !== undefined && end.lowest < last) return last;
  return end.examined === examine ? end.lowest : undefined;
}

/** The part of the log in which all entries of a span of time lie, however the clocks of the machines differed. */
async function seqRange(ctx: OrganizationContext, { since, until }: AuditFilter): Promise<{ from: number; before: number }> {
  const firstSince = async (time: number) => {
    const row = await atD1(ctx, () => ctx.db.prepare(FIRST_SEQ_SINCE).bind(ctx.organizationId, time).first<{ seq: number }>());
    if (!row) throw new Error('a binary search always ends somewhere');
    return row.seq;
  };
  const [from, before] = await Promise.all([
    since === undefined ? 0 : firstSince(since - CLOCK_SKEW_MS),
    until === undefined ? Number.MAX_SAFE_INTEGER : firstSince(until + CLOCK_SKEW_MS),
  ]);
  return { from, before };
}
