import { and, type Column, desc, eq, gt, gte, lt, lte, type SQL, sql } from 'drizzle-orm';
import { APPROVERS, type Approver, TIME_ENTRY_STATUSES, type TimeEntryStatus } from '../../domain/record-kinds.ts';
import { decision, examined } from '../aliases.ts';
import { userActors } from '../audit/audit-log-statements.ts';
import { type Database, fields, type RowOf } from '../query.ts';
import { auditLog } from '../schema/audit.ts';
import { companies, organizations, tickets, users } from '../schema/directory.ts';
import { apiKeys } from '../schema/keys.ts';
import { psaRefusals, timeEntries } from '../schema/work.ts';

// Time by who decides about it and by status, from an index that has it in the order of the audit log.

/** Which entries to find. A field that is missing matches any entry. */
export interface TimeFilter {
  approvals?: Approver | undefined;
  status?: TimeEntryStatus | undefined;
  company?: string | undefined;
  technician?: string | undefined;
  key?: string | undefined;
  /** At least so many. */
  minutes?: number | undefined;
  /** Work dates; both are included. */
  from?: string | undefined;
  to?: string | undefined;
  /** Numbers of audit rows: after `after`, before `before`, up to `upTo`. */
  after?: number | undefined;
  before?: number | undefined;
  upTo?: number | undefined;
  ids?: readonly string[] | undefined;
  /** Whether the PSA could not take them. */
  isRefused?: true | undefined;
}

const ifGiven = <Value>(value: Value | undefined, condition: (value: Value) => SQL) =>
  value === undefined ? undefined : condition(value);

// One value, because D1 binds at most 100.
const isOneOf = (ids: readonly string[]) =>
  sql`${timeEntries.id} in (select value from json_each(${JSON.stringify(ids)}))`;

/** What the index has in order. */
interface Part {
  approvals: Approver;
  status: TimeEntryStatus;
}

/** The entries by the index, which SQLite would not choose over the primary key. */
export const byStatus = sql`${timeEntries} indexed by time_entries_status`;

/** Condition: an administrator rejected the entry, so the PSA no longer takes it. */
export const isRejectedHere = sql`${timeEntries.approvals} = 'settings' and ${timeEntries.status} = 'REJECTED'`;

/** Condition: the PSA gets the entry, because it was approved here, or because the PSA decides about it. */
export const goesToPsa = sql`${timeEntries.approvals} = 'psa' or ${timeEntries.status} = 'APPROVED'`;

/** The entries that the PSA could not take and still should, by their refusals: they are few. */
const refusedEntries = (organizationId: string) =>
  sql`(select ${psaRefusals.recordId} as refusedId from ${psaRefusals}
    where ${psaRefusals.organizationId} = ${organizationId} and ${psaRefusals.kind} = 'time_entry')
    cross join ${timeEntries} on ${timeEntries.id} = refusedId and not (${isRejectedHere})`;

/** Condition: the entry is of a part, and matches a filter. */
export const matches = (organizationId: string, { approvals, status }: Partial<Part>, filter: TimeFilter) =>
  and(
    eq(timeEntries.organizationId, organizationId),
    ifGiven(approvals, (approver) => eq(timeEntries.approvals, approver)),
    ifGiven(status, (one) => eq(timeEntries.status, one)),
    ifGiven(
      filter.company,
      (id) =>
        sql`exists (select 1 from ${tickets} where ${tickets.organizationId} = ${organizationId} and ${tickets.id} = ${timeEntries.ticketId} and ${tickets.companyId} = ${id})`,
    ),
    ifGiven(filter.technician, (id) => eq(timeEntries.userId, id)),
    ifGiven(filter.key, (id) => eq(timeEntries.keyId, id)),
    ifGiven(filter.minutes, (minutes) => gte(timeEntries.minutes, minutes)),
    ifGiven(filter.from, (day) => gte(timeEntries.workDate, day)),
    ifGiven(filter.to, (day) => lte(timeEntries.workDate, day)),
    ifGiven(filter.after, (seq) => gt(timeEntries.auditSeq, seq)),
    ifGiven(filter.before, (seq) => lt(timeEntries.auditSeq, seq)),
    ifGiven(filter.upTo, (seq) => lte(timeEntries.auditSeq, seq)),
    ifGiven(filter.ids, isOneOf),
  );

/**
 * One select of `columns` for each part that a filter permits, joined by `union all`, of which D1 takes at most five terms.
 * `end`: the end of each select.
 */
function selectMatching(organizationId: string, filter: TimeFilter, columns: SQL, end = sql.empty()): SQL {
  const selectFrom = (entries: SQL, part: Partial<Part>) =>
    sql`select * from (select ${columns} from ${entries} where ${matches(organizationId, part, filter)} ${end})`;
  if (filter.isRefused) return selectFrom(refusedEntries(organizationId), {});
  const statuses = filter.status === undefined ? TIME_ENTRY_STATUSES : [filter.status];
  const approvers = filter.approvals === undefined ? APPROVERS : [filter.approvals];
  const union = (selects: SQL[]) => sql.join(selects, sql` union all `);
  const ofApprover = (approvals: Approver) =>
    union(statuses.map((status) => selectFrom(byStatus, { approvals, status })));
  return union(approvers.map((approvals) => sql`select * from (${ofApprover(approvals)})`));
}

/** The audit rows of an action on an entry, except those of keys. */
const reportsOf = (organizationId: string, action: 'time_entry.handed_over' | 'time_entry.taken') =>
  sql`from ${auditLog} ${examined} indexed by audit_log_user_target
    where ${examined.organizationId} = ${organizationId} and ${examined.actorType} <> 'api_key'
      and ${examined.targetId} = ${timeEntries.id} and ${examined.action} = ${action}`;

/** Entries with what names them, and the first `characters` of each text. */
const entries = (db: Database, organizationId: string, characters: number) =>
  db
    .select({
      /** The audit row of its write. */
      seq: timeEntries.auditSeq,
      id: timeEntries.id,
      loggedAt: timeEntries.createdAt,
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
      deciderType: decision.actorType,
      reason: decision.detail,
      /** 1 if the PSA, which may have it, was to decide about it before. */
      wasHandedOver: sql<number>`${timeEntries.approvals} = 'settings' and exists (
        select 1 ${reportsOf(organizationId, 'time_entry.handed_over')})`.as('wasHandedOver'),
      /** What an administrator did in the PSA by hand, and who: `Entered by hand, Ada`. */
      byHand: sql<string | null>`(select ${examined.detail} || ', ' || ${examined.actorName}
        ${reportsOf(organizationId, 'time_entry.taken')} and ${examined.actorType} = 'user' order by ${examined.seq} desc limit 1)`.as(
        'byHand',
      ),
      /** Why the PSA could not take it. */
      refusal: sql<string | null>`${psaRefusals.reason}`.as('refusal'),
    })
    .from(timeEntries)
    .innerJoin(tickets, and(eq(tickets.organizationId, organizationId), eq(tickets.id, timeEntries.ticketId)))
    .innerJoin(companies, and(eq(companies.organizationId, organizationId), eq(companies.id, tickets.companyId)))
    .innerJoin(users, and(eq(users.organizationId, organizationId), eq(users.id, timeEntries.userId)))
    .innerJoin(apiKeys, and(eq(apiKeys.organizationId, organizationId), eq(apiKeys.id, timeEntries.keyId)))
    .leftJoin(
      psaRefusals,
      and(eq(psaRefusals.organizationId, organizationId), eq(psaRefusals.recordId, timeEntries.id)),
    )
    .leftJoin(decision, and(eq(decision.organizationId, organizationId), eq(decision.seq, timeEntries.approvalSeq)));

export type EntryRow = Awaited<ReturnType<typeof findEntries>>[number];

/** How many entries a call finds, and how many characters of each text. */
export interface TimePageSize {
  limit: number;
  characters: number;
}

/** The entries that match, the newest first. */
export function findEntries(
  db: Database,
  organizationId: string,
  filter: TimeFilter,
  { limit, characters }: TimePageSize,
) {
  const newestFirst = desc(timeEntries.auditSeq);
  const first = sql`order by ${newestFirst} limit ${limit}`;
  const ids = selectMatching(organizationId, filter, sql`${timeEntries.id}`, first);
  return entries(db, organizationId, characters)
    .where(and(eq(timeEntries.organizationId, organizationId), sql`${timeEntries.id} in (${ids})`))
    .orderBy(newestFirst)
    .limit(limit);
}

/** The entries with these ids. */
export const findEntriesById = (db: Database, organizationId: string, ids: readonly string[], characters: number) =>
  entries(db, organizationId, characters)
    .where(and(eq(timeEntries.organizationId, organizationId), isOneOf(ids)))
    .orderBy(timeEntries.auditSeq);

/** In minor units; null if the PSA decides about the entry, because it then computes the amount. */
export const AMOUNT = sql<
  number | null
>`iif(${timeEntries.approvals} = 'psa', null, ${timeEntries.billable} * round(${timeEntries.minutes} * ${timeEntries.hourlyRateMinor} / 60.0))`;

/** The totals of a company and technician. */
export const TOTALS = {
  /** The audit row of the newest entry. */
  seq: sql<number>`max(seq)`,
  companyId: sql<string>`${companies.id}`,
  company: sql<string>`${companies.name}`,
  technician: sql<string>`${users.name}`,
  count: sql<number>`sum(isSummed)`,
  /** Rejected entries, which neither `count` nor a sum includes. */
  rejected: sql<number>`sum(not isSummed)`,
  marked: sql<number>`sum(isMarked)`,
  minutes: sql<number>`sum(iif(isSummed, minutes, 0))`,
  /** Null if the PSA computes it for every entry. */
  amountMinor: sql<number | null>`sum(iif(isSummed, amount, null))`,
  /** The summed entries without an amount. */
  unpriced: sql<number>`sum(isSummed and amount is null)`,
};

export type TimeGroup = RowOf<typeof TOTALS>;

/** The totals of `listed`, which has `seq`, `ticketId`, `userId`, `minutes`, `amount`, `isMarked` and `isSummed` of entries. */
export const totalsOf = (organizationId: string, listed: SQL, selected = fields(TOTALS)) => sql`
  select ${selected} from ${listed}
  cross join ${tickets} on ${tickets.organizationId} = ${organizationId} and ${tickets.id} = ticketId
  cross join ${companies} on ${companies.organizationId} = ${organizationId} and ${companies.id} = ${tickets.companyId}
  cross join ${users} on ${users.organizationId} = ${organizationId} and ${users.id} = userId
  group by ${companies.id}, ${users.id}`;

/** The most entries that are sorted, marked and summed. */
export const MAX_SORTED = 10_000;
/** Up to which number the entries that wait are counted: one more tells that they are too many. */
export const MAX_COUNTED = MAX_SORTED + 1;

/** The most entries that have totals, unless they are sorted. */
export const MAX_TOTAL = 50_000;

/**
 * The totals of the entries that match, for each company and technician. If all that they have are more than `MAX_TOTAL`,
 * there are more. Rejected entries are apart, unless they alone are summed.
 */
export function sumEntries(db: Database, organizationId: string, filter: TimeFilter) {
  const summed = fields({
    seq: timeEntries.auditSeq,
    ticketId: timeEntries.ticketId,
    userId: timeEntries.userId,
    minutes: timeEntries.minutes,
    amount: AMOUNT,
    isMarked: sql`0`,
    isSummed: filter.status === 'REJECTED' ? sql`1` : sql`${timeEntries.status} <> 'REJECTED'`,
  });
  const matching = selectMatching(organizationId, filter, summed);
  return db.all<TimeGroup>(totalsOf(organizationId, sql`(select * from (${matching}) limit ${MAX_TOTAL + 1})`));
}

/** The users to whom time can be credited, by name. */
export const findTechnicians = (db: Database, organizationId: string, limit: number) =>
  db
    .select({ id: users.id, name: users.name })
    .from(users)
    // The condition of the partial index.
    .where(and(eq(users.organizationId, organizationId), sql`(${users.isTechnician} = 1 or ${users.isService} = 1)`))
    .orderBy(users.name, users.id)
    .limit(limit);

/** How many people are examined to find the latest decision. */
const MAX_DECIDERS = 500;

/** The latest decision of a person about time, even of one who is no longer an administrator. */
export function findLastDecision(db: Database, organizationId: string) {
  const ofActor = sql`select max(${examined.seq}) from ${auditLog} ${examined} indexed by audit_log_actor
    where ${examined.organizationId} = ${organizationId} and ${examined.actorType} = 'user' and ${examined.actorId} = actors.actor
      and ${examined.action} in ('time_entry.approved', 'time_entry.rejected')`;
  const latest = sql`select max((${ofActor})) from ${userActors(organizationId, MAX_DECIDERS)}`;
  return db
    .select({ by: auditLog.actorName, at: auditLog.at })
    .from(auditLog)
    .where(sql`${auditLog.organizationId} = ${organizationId} and ${auditLog.seq} = (${latest})`);
}

/** One time entry of an organization, if it has any. */
export const findAnyEntry = (db: Database, organizationId: string) =>
  db.select({ id: timeEntries.id }).from(timeEntries).where(eq(timeEntries.organizationId, organizationId)).limit(1);

/** Who approves the organization's new time. */
export const findApprover = (db: Database, organizationId: string) =>
  db.select({ approvals: organizations.approvals }).from(organizations).where(eq(organizations.id, organizationId));

/** The entries of an organization that wait for the settings area. */
export const ofQueue = (organizationId: string | Column) =>
  sql`${byStatus} where ${timeEntries.organizationId} = ${organizationId} and ${timeEntries.approvals} = 'settings' and ${timeEntries.status} = 'SUBMITTED'`;

/** How many entries of an organization wait, at most `MAX_COUNTED`. */
export const waitingCount = (organizationId: string | Column) =>
  sql<number>`(select count(*) from (select 1 from ${ofQueue(organizationId)} limit ${MAX_COUNTED}))`;

/** How many entries the PSA could not take and still should, at most `MAX_COUNTED`. Always one row. */
export const countRefusedEntries = (db: Database, organizationId: string) =>
  db.select({ count: sql<number>`refused`.as('refusedCount') }).from(
    sql`(select count(*) as refused from (select 1 from ${refusedEntries(organizationId)}
        where ${timeEntries.organizationId} = ${organizationId} limit ${MAX_COUNTED}))`,
  );

/** When the first entry of an organization that waits was written; null if none waits. */
export const waitingSince = (organizationId: Column) =>
  sql<
    number | null
  >`(select ${timeEntries.createdAt} from ${ofQueue(organizationId)} order by ${timeEntries.auditSeq} limit 1)`;

/** How many entries wait. Always one row. */
export const countWaiting = (db: Database, organizationId: string) =>
  db
    .select({ count: sql<number>`waiting`.as('waitingCount') })
    .from(sql`(select ${waitingCount(organizationId)} as waiting)`);
