import { and, asc, desc, eq, gt, gte, lt, lte, type SQL, sql } from 'drizzle-orm';
import { APPROVERS, type Approver, TIME_ENTRY_STATUSES, type TimeEntryStatus } from '../../domain/record-kinds.ts';
import { decision } from '../aliases.ts';
import { type Database, fields } from '../query.ts';
import { companies, organizations, tickets, users } from '../schema/directory.ts';
import { apiKeys } from '../schema/keys.ts';
import { timeEntries } from '../schema/work.ts';

// Time by who decides about it and by status, from an index that has it in the order of the audit log.

/** Which entries to find. A field that is missing matches any entry. */
export interface TimeFilter {
  approvals?: Approver | undefined;
  status?: TimeEntryStatus | undefined;
  company?: string | undefined;
  technician?: string | undefined;
  key?: string | undefined;
  /** Work dates; both are included. */
  from?: string | undefined;
  to?: string | undefined;
  /** Numbers of audit rows: after `after`, before `before`, up to `upTo`. */
  after?: number | undefined;
  before?: number | undefined;
  upTo?: number | undefined;
}

const ifGiven = <Value>(value: Value | undefined, condition: (value: Value) => SQL) =>
  value === undefined ? undefined : condition(value);

/** What the index has in order. */
interface Part {
  approvals: Approver;
  status: TimeEntryStatus;
}

/** The entries by the index, which SQLite would not choose over the primary key. */
const byStatus = sql`${timeEntries} indexed by time_entries_status`;

const matches = (organizationId: string, { approvals, status }: Part, filter: TimeFilter) =>
  and(
    eq(timeEntries.organizationId, organizationId),
    eq(timeEntries.approvals, approvals),
    eq(timeEntries.status, status),
    ifGiven(
      filter.company,
      (id) =>
        sql`exists (select 1 from ${tickets} where ${tickets.organizationId} = ${organizationId} and ${tickets.id} = ${timeEntries.ticketId} and ${tickets.companyId} = ${id})`,
    ),
    ifGiven(filter.technician, (id) => eq(timeEntries.userId, id)),
    ifGiven(filter.key, (id) => eq(timeEntries.keyId, id)),
    ifGiven(filter.from, (day) => gte(timeEntries.workDate, day)),
    ifGiven(filter.to, (day) => lte(timeEntries.workDate, day)),
    ifGiven(filter.after, (seq) => gt(timeEntries.auditSeq, seq)),
    ifGiven(filter.before, (seq) => lt(timeEntries.auditSeq, seq)),
    ifGiven(filter.upTo, (seq) => lte(timeEntries.auditSeq, seq)),
  );

/** One select for each part that a filter permits, joined by `union all`, of which D1 takes at most five terms. */
function ofEachPart(filter: TimeFilter, select: (part: Part) => SQL): SQL {
  const statuses = filter.status === undefined ? TIME_ENTRY_STATUSES : [filter.status];
  const approvers = filter.approvals === undefined ? APPROVERS : [filter.approvals];
  const union = (selects: SQL[]) => sql.join(selects, sql` union all `);
  const ofApprover = (approvals: Approver) => union(statuses.map((status) => select({ approvals, status })));
  return union(approvers.map((approvals) => sql`select * from (${ofApprover(approvals)})`));
}

/** Entries with what names them, and the first `characters` of each text. */
const entries = (db: Database, organizationId: string, characters: number) =>
  db
    .select({
      /** The audit row of its write. */
      seq: timeEntries.auditSeq,
      id: timeEntries.id,
      ticketId: timeEntries.ticketId,
      companyId: tickets.companyId,
      company: sql<string>`${companies.name}`.as('company'),
      minutes: timeEntries.minutes,
      billable: timeEntries.billable,
      workDate: timeEntries.workDate,
      hourlyRateMinor: timeEntries.hourlyRateMinor,
      approvals: timeEntries.approvals,
      status: timeEntries.status,
      userId: timeEntries.userId,
      technician: sql<string>`${users.name}`.as('technician'),
      keyId: timeEntries.keyId,
      keyName: sql<string>`${apiKeys.name}`.as('keyName'),
      keyHint: apiKeys.hint,
      text: sql<string>`substr(${timeEntries.description}, 1, ${characters})`.as('text'),
      decidedAt: decision.at,
      decidedById: decision.actorId,
      decidedBy: decision.actorName,
      reason: decision.detail,
    })
    .from(timeEntries)
    .innerJoin(tickets, and(eq(tickets.organizationId, organizationId), eq(tickets.id, timeEntries.ticketId)))
    .innerJoin(companies, and(eq(companies.organizationId, organizationId), eq(companies.id, tickets.companyId)))
    .innerJoin(users, and(eq(users.organizationId, organizationId), eq(users.id, timeEntries.userId)))
    .innerJoin(apiKeys, and(eq(apiKeys.organizationId, organizationId), eq(apiKeys.id, timeEntries.keyId)))
    .leftJoin(decision, and(eq(decision.organizationId, organizationId), eq(decision.seq, timeEntries.approvalSeq)));

export type EntryRow = Awaited<ReturnType<typeof findEntries>>[number];

/** How many entries a call finds, in which order, and how many characters of each text. */
export interface TimePageSize {
  oldestFirst: boolean;
  limit: number;
  characters: number;
}

export function findEntries(
  db: Database,
  organizationId: string,
  filter: TimeFilter,
  { oldestFirst, limit, characters }: TimePageSize,
) {
  const order = oldestFirst ? asc(timeEntries.auditSeq) : desc(timeEntries.auditSeq);
  const ids = ofEachPart(
    filter,
    (part) =>
      sql`select * from (select ${timeEntries.id} from ${byStatus} where ${matches(organizationId, part, filter)} order by ${order} limit ${limit})`,
  );
  return entries(db, organizationId, characters)
    .where(and(eq(timeEntries.organizationId, organizationId), sql`${timeEntries.id} in (${ids})`))
    .orderBy(order)
    .limit(limit);
}

/** The entries with these ids. */
export const findEntriesById = (db: Database, organizationId: string, ids: readonly string[], characters: number) =>
  entries(db, organizationId, characters)
    .where(
      and(
        eq(timeEntries.organizationId, organizationId),
        // One value, because D1 binds at most 100.
        sql`${timeEntries.id} in (select value from json_each(${JSON.stringify(ids)}))`,
      ),
    )
    .orderBy(timeEntries.auditSeq);

/** The most entries that the totals of a page include. */
export const MAX_TOTAL = 50_000;

/**
 * How many entries match, their minutes, and the amount of the billable ones in minor units. Always one row. If `count`
 * is above `MAX_TOTAL`, there are more entries, and the sums are of some of them.
 */
export const sumEntries = (db: Database, organizationId: string, filter: TimeFilter) =>
  db
    .select({
      count: sql<number>`count(*)`.as('entries'),
      minutes: sql<number>`coalesce(sum(minutes), 0)`.as('minutes'),
      amountMinor: sql<number>`coalesce(sum(amount), 0)`.as('amountMinor'),
      lastSeq: sql<number | null>`max(seq)`.as('lastSeq'),
    })
    .from(
      sql`(select * from (${ofEachPart(
        filter,
        (part) => sql`
          select ${fields({ minutes: timeEntries.minutes, amount: AMOUNT, seq: timeEntries.auditSeq })}
          from ${byStatus} where ${matches(organizationId, part, filter)}`,
      )}) limit ${MAX_TOTAL + 1})`,
    );

/** In minor units. */
const AMOUNT = sql<number>`${timeEntries.billable} * round(${timeEntries.minutes} * ${timeEntries.hourlyRateMinor} / 60.0)`;

/** Who approves the organization's new time. */
export const findApprover = (db: Database, organizationId: string) =>
  db.select({ approvals: organizations.approvals }).from(organizations).where(eq(organizations.id, organizationId));

/** The entries that wait for the settings area, of organizations that satisfy a condition. */
export const waitingEntries = (condition: SQL) => sql`
  select ${fields({ organizationId: organizations.id, at: timeEntries.createdAt })}
  from ${organizations} cross join ${byStatus} on ${timeEntries.organizationId} = ${organizations.id}
    and ${timeEntries.approvals} = 'settings' and ${timeEntries.status} = 'SUBMITTED'
  where ${condition}`;

/** How many entries wait, at most 100. Always one row. */
export const countWaiting = (db: Database, organizationId: string) =>
  db
    .select({ count: sql<number>`count(*)`.as('waiting') })
    .from(sql`(${waitingEntries(eq(organizations.id, organizationId))} limit 100)`);
