import { and, type SQL, sql } from 'drizzle-orm';
import { DUPLICATE_WITHIN_MS, MINUTES_OF_DAY } from '../../domain/time-marks.ts';
import { longMinutesOf } from '../keys/key-rules-statements.ts';
import { type Database, fields, type RowOf } from '../query.ts';
import { users } from '../schema/directory.ts';
import { timeEntries } from '../schema/work.ts';
import {
  AMOUNT,
  byStatus,
  MAX_COUNTED,
  MAX_SORTED,
  matches,
  ofQueue,
  type TimeFilter,
  TOTALS,
  totalsOf,
} from './time-queue-statements.ts';

/** How many audit rows before the oldest of the entries an approved one may be to count as an original, or for its day. */
const ROWS_BEFORE = MAX_SORTED;

/** How much of two texts is compared, with their lengths, to tell whether they are the same. */
const COMPARED_CHARACTERS = 500;

interface SortedPage {
  /** Whether the filter also limits which entries are read. Otherwise marks compare an entry with all that wait. */
  readsOnlyMatching: boolean;
  /** Leaves out marked entries. Then their originals have no place of their own. */
  isUnmarkedOnly: boolean;
  /** The `seq` of the last entry of the page before. If it waits no longer, the list starts again. */
  after?: number | undefined;
  limit: number;
}

const waiting = { approvals: 'settings', status: 'SUBMITTED' } as const;
const approved = { approvals: 'settings', status: 'APPROVED' } as const;

/** What marks and sums need of an entry. `isShown`: whether it matches the filter. */
const comparedFields = (isWaiting: boolean, isShown: SQL) =>
  fields({
    id: timeEntries.id,
    seq: timeEntries.auditSeq,
    at: timeEntries.createdAt,
    ticketId: timeEntries.ticketId,
    userId: timeEntries.userId,
    workDate: timeEntries.workDate,
    minutes: timeEntries.minutes,
    amount: AMOUNT,
    text: sql`substr(${timeEntries.description}, 1, ${COMPARED_CHARACTERS})`,
    textLength: sql`length(${timeEntries.description})`,
    isWaiting: isWaiting ? sql`1` : sql`0`,
    isShown,
    isSummed: sql`1`,
  });

/** What duplicates have in common. */
const WHAT = sql.raw('ticketId, minutes, textLength, text');

/** A row of an entry: what follows the marks is of the entry alone. */
const ENTRY = {
  id: sql<string | null>`id`,
  longFrom: sql<number | null>`iif(minutes >= longMinutes, longMinutes, null)`,
  sameAs: sql<number | null>`(select sameAs from copies where copies.seq = page.seq)`,
  sameId: sql<string | null>`(select sameId from copies where copies.seq = page.seq)`,
  dayMinutes: sql<number | null>`(select dayMinutes from excess where excess.seq = page.seq)`,
  seq: sql<number>`seq`,
  companyId: sql<string>`''`,
  company: sql<string>`''`,
  technician: sql<string>`''`,
  count: sql<number>`1`,
  rejected: sql<number>`0`,
  marked: sql<number>`isMarked`,
  minutes: sql<number>`minutes`,
  amountMinor: sql<number | null>`amount`,
  unpriced: sql<number>`0`,
};

/** A row of totals has no id. */
const NO_ENTRY = { id: sql`null`, longFrom: sql`null`, sameAs: sql`null`, sameId: sql`null`, dayMinutes: sql`null` };

type SortedRow = RowOf<typeof ENTRY>;

/** The order of the list. An entry of which a listed one is a copy precedes it. */
const PLACE = sql.raw('not (isMarked or firstSeq is not null), -minutes, coalesce(firstSeq, seq), seq');

/**
 * The entries that wait and match, marked ones and their originals first and then the longest: a page of them, and for
 * each company and technician a row with the totals of all. Each entry is read once. Of a day above 24 hours, the
 * longest entries that wait are marked, without which the rest fits.
 */
export function sortWaiting(db: Database, organizationId: string, filter: TimeFilter, page: SortedPage) {
  const isMatch = sql`(${matches(organizationId, waiting, filter)})`;
  const isRead = page.readsOnlyMatching ? isMatch : matches(organizationId, waiting, {});
  const isCompared = and(
    matches(organizationId, approved, {}),
    sql`${timeEntries.auditSeq} >= (select min(${timeEntries.auditSeq}) from ${ofQueue(organizationId)}) - ${ROWS_BEFORE}`,
  );
  const isListedCopy = page.isUnmarkedOnly ? sql`0` : sql`isShown`;
  return db.all<SortedRow>(sql`
    with compared as materialized (
      select * from (select ${comparedFields(true, isMatch)} from ${byStatus} where ${isRead} order by ${timeEntries.auditSeq} limit ${MAX_COUNTED})
      union all
      select * from (select ${comparedFields(false, sql`0`)} from ${byStatus} where ${isCompared} order by ${timeEntries.auditSeq} desc limit ${MAX_SORTED})),
    repeated as (select ${WHAT} from compared group by ${WHAT} having count(*) > 1),
    copies as materialized (
      select * from (
        select seq, at, isShown, lag(at) over same as sameAs, lag(id) over same as sameId, lag(seq) over same as sameSeq, first_value(seq) over same as firstSeq
        from compared where (${WHAT}) in repeated window same as (partition by ${WHAT} order by seq))
      where at - sameAs <= ${DUPLICATE_WITHIN_MS}),
    duplicates as materialized (
      select seq, firstSeq from copies where ${isListedCopy} union select sameSeq, firstSeq from copies where ${isListedCopy}),
    days as materialized (
      select userId, workDate, sum(minutes) as dayMinutes from compared where userId is not (${serviceAccount(organizationId)})
      group by userId, workDate having dayMinutes > ${MINUTES_OF_DAY} and max(isWaiting)),
    excess as materialized (
      select seq, dayMinutes from (
        select seq, isWaiting, dayMinutes, sum(minutes) over (partition by userId, workDate order by isWaiting, minutes, seq) as minutesUpTo
        from days cross join compared using (userId, workDate))
      where isWaiting and minutesUpTo > ${MINUTES_OF_DAY}),
    long(longMinutes) as materialized (select ${longMinutesOf(organizationId)}),
    marked as materialized (
      select *, minutes >= longMinutes or seq in (select seq from copies) or seq in (select seq from excess) as isMarked
      from compared cross join long left join duplicates using (seq) where isWaiting and isShown)
    select ${fields(ENTRY)} from (
      select * from marked where ${isListed(page)} order by ${PLACE} limit ${page.limit}) page
    union all
    ${totalsOf(organizationId, sql`marked`, fields({ ...NO_ENTRY, ...TOTALS }))}`);
}

/** Condition: the entry is after the page before, in the order of the list. */
function isListed({ after, isUnmarkedOnly }: SortedPage): SQL {
  const isAfter =
    after === undefined ? sql`1` : sql`coalesce((${PLACE}) > (select ${PLACE} from marked where seq = ${after}), 1)`;
  return isUnmarkedOnly ? sql`not isMarked and ${isAfter}` : isAfter;
}

const serviceAccount = (organizationId: string) =>
  sql`select ${users.id} from ${users} where ${users.organizationId} = ${organizationId} and ${users.isService} = 1`;
