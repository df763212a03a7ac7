import { and, desc, eq, gte, inArray, lt, type SQL, type SQLWrapper, sql } from 'drizzle-orm';
import { AUDIT_TEXT_LENGTH } from '../../domain/audit-actions.ts';
import { RECORD_KIND_NAMES, type RecordKind } from '../../domain/record-kinds.ts';
import { decision, examined, latest, oldest } from '../aliases.ts';
import { type Database, fields, type RowOf } from '../query.ts';
import { auditLog } from '../schema/audit.ts';
import { tickets, users } from '../schema/directory.ts';
import { apiKeys } from '../schema/keys.ts';
import { notes, psaRefusals, timeEntries } from '../schema/work.ts';
import { RECORD_TABLES } from '../work/record-tables.ts';

// Reads of the audit log, each of a bounded number of rows. An index by actor has the rows of a key or administrator.

/** Which entries a page shows. Times are UTC milliseconds; `until` is excluded. A field that is missing matches any value. */
interface AuditMatch {
  keyId?: string | undefined;
  administratorId?: string | undefined;
  actions?: readonly string[] | undefined;
  /** The entry's ticket is each of these. */
  ticketIds?: readonly string[] | undefined;
  requestId?: string | undefined;
  /** Only the rows about time entries of at least so many minutes. */
  minutes?: number | undefined;
  since?: number | undefined;
  until?: number | undefined;
}

/** A range of the log, from `from` to before `before`, newest first. */
export interface AuditRange extends AuditMatch {
  organizationId: string;
  before: number;
  from: number;
  /** How many rows of the range are examined at most, and how many of them are returned. */
  examine: number;
  limit: number;
}

/** How many characters of the beginning of an Idempotency-Key tell workflows apart. */
const MAX_SHOWN_PREFIX = 40;

/** How many changes of a key a search by its id shows. */
const MAX_CHANGES = 50;

/** The number of the organization's next audit row. */
export const nextSeq = (organizationId: string | SQLWrapper) =>
  sql<number>`(select coalesce(max(${latest.seq}), 0) + 1 from ${auditLog} ${latest} where ${latest.organizationId} = ${organizationId})`;

const inRange = ({ organizationId, before, from }: AuditRange) =>
  and(eq(auditLog.organizationId, organizationId), lt(auditLog.seq, before), gte(auditLog.seq, from));

const matches = (range: AuditRange) =>
  and(
    range.actions && inArray(auditLog.action, [...range.actions]),
    ...(range.ticketIds ?? []).map((id) => eq(auditLog.ticketId, id)),
    range.requestId === undefined ? undefined : eq(auditLog.requestId, range.requestId),
    range.since === undefined ? undefined : gte(auditLog.at, range.since),
    range.until === undefined ? undefined : lt(auditLog.at, range.until),
    range.minutes === undefined
      ? undefined
      : sql`${auditLog.action} glob 'time_entry.*' and exists (select 1 from ${timeEntries}
          where ${timeEntries.organizationId} = ${range.organizationId} and ${timeEntries.id} = ${auditLog.targetId}
            and ${timeEntries.minutes} >= ${range.minutes})`,
  );

/** The number of the organization's oldest audit row; 1 if there is none. */
export const oldestSeq = (organizationId: string) =>
  sql<number>`(select coalesce(min(${oldest.seq}), 1) from ${auditLog} ${oldest} where ${oldest.organizationId} = ${organizationId})`;

/** The first row that a page of the whole log examines: its numbers have no gaps. */
const lowest = ({ organizationId, before, from, examine }: AuditRange) =>
  sql<number>`max(${from}, ${oldestSeq(organizationId)}, min(${before}, ${nextSeq(organizationId)}) - ${examine})`;

/** The numbers of the newest rows of the range that satisfy a condition, at most `examine`, from an index. */
const newest = (range: AuditRange, index: 'audit_log_actor' | 'audit_log_user_target', condition: SQL) => sql`
  select ${auditLog.seq} from ${auditLog} indexed by ${sql.identifier(index)} where ${inRange(range)} and ${condition}
  order by ${auditLog.seq} desc limit ${range.examine}`;

const byActor = (type: 'api_key' | 'user', id: string) =>
  sql`${auditLog.actorType} = ${sql.raw(`'${type}'`)} and ${auditLog.actorId} = ${id}`;

/** The rows that are examined for an administrator, or for a key: its writes, and the changes to it. */
function examinedRows(range: AuditRange): SQL | undefined {
  const { keyId, administratorId } = range;
  if (administratorId !== undefined) {
    const byAdministrator = byActor('user', administratorId);
    return newest(
      range,
      'audit_log_actor',
      keyId === undefined ? byAdministrator : sql`${byAdministrator} and ${auditLog.targetId} = ${keyId}`,
    );
  }
  if (keyId === undefined) return undefined;
  // The condition of the partial index has to be in the text.
  const changes = sql`${auditLog.actorType} <> 'api_key' and ${auditLog.targetId} = ${keyId}`;
  const from = (rows: SQL) => sql`select ${examined.seq} from (${rows}) ${examined}`;
  const both = sql`${from(newest(range, 'audit_log_actor', byActor('api_key', keyId)))} union all ${from(newest(range, 'audit_log_user_target', changes))}`;
  return sql`${from(both)} order by ${examined.seq} desc limit ${range.examine}`;
}

/** The numbers of the matching rows of a page, newest first. */
function matchingSeqs(range: AuditRange): SQL {
  const rows = examinedRows(range);
  // One lower bound: SQLite uses the first one of several for its search, and filters by the others.
  const isExamined = rows
    ? sql`${auditLog.seq} in (${rows})`
    : sql`${auditLog.seq} < ${range.before} and ${auditLog.seq} >= ${lowest(range)}`;
  const ofOrganization = eq(auditLog.organizationId, range.organizationId);
  return sql`select ${auditLog.seq} from ${auditLog} where ${and(ofOrganization, isExamined, matches(range))}
    order by ${auditLog.seq} desc limit ${range.limit}`;
}

/** The record's text as it is now; null if the row is about no record. */
const text = sql<string | null>`coalesce(${notes.message}, ${timeEntries.description})`;

/** The rows with these numbers, newest first, each with its key (the actor, or the one that was changed) and its record. */
const rowsOf = (db: Database, organizationId: string, seqs: SQL, shownText: SQL<string | null>) =>
  db
    .select({
      seq: auditLog.seq,
      /** UTC milliseconds. */
      at: auditLog.at,
      actorType: auditLog.actorType,
      actorId: auditLog.actorId,
      /** The actor's name at that time. */
      actorName: auditLog.actorName,
      action: auditLog.action,
      targetId: auditLog.targetId,
      ticketId: auditLog.ticketId,
      requestId: auditLog.requestId,
      idempotencyKey: auditLog.idempotencyKey,
      detail: auditLog.detail,
      sourceAddress: auditLog.sourceAddress,
      userAgent: auditLog.userAgent,
      keyId: apiKeys.id,
      keyName: apiKeys.name,
      keyHint: apiKeys.hint,
      keyRevokedAt: apiKeys.revokedAt,
      minutes: timeEntries.minutes,
      technician: sql<string | null>`${users.name}`.as('technician'),
      billable: timeEntries.billable,
      hourlyRateMinor: timeEntries.hourlyRateMinor,
      approvals: timeEntries.approvals,
      status: timeEntries.status,
      /** Who approved or rejected the time, and when. */
      decidedBy: sql<string | null>`${decision.actorName}`.as('decidedBy'),
      decidedAt: sql<number | null>`${decision.at}`.as('decidedAt'),
      /** Why the PSA could not take the record that the row created, if that is so. */
      refusal: psaRefusals.reason,
      text: shownText.as('text'),
      /** In characters. */
      textLength: sql<number | null>`length(${text})`.as('textLength'),
    })
    .from(auditLog)
    .leftJoin(
      apiKeys,
      and(
        eq(apiKeys.organizationId, auditLog.organizationId),
        sql`${apiKeys.id} = iif(${auditLog.actorType} = 'api_key', ${auditLog.actorId}, ${auditLog.targetId})`,
      ),
    )
    .leftJoin(notes, and(eq(notes.organizationId, auditLog.organizationId), eq(notes.id, auditLog.targetId)))
    .leftJoin(
      timeEntries,
      and(eq(timeEntries.organizationId, auditLog.organizationId), eq(timeEntries.id, auditLog.targetId)),
    )
    .leftJoin(users, and(eq(users.organizationId, timeEntries.organizationId), eq(users.id, timeEntries.userId)))
    .leftJoin(
      decision,
      and(eq(decision.organizationId, auditLog.organizationId), eq(decision.seq, timeEntries.approvalSeq)),
    )
    .leftJoin(
      psaRefusals,
      and(
        eq(psaRefusals.organizationId, auditLog.organizationId),
        eq(psaRefusals.recordId, auditLog.targetId),
        sql`${auditLog.action} = ${psaRefusals.kind} || '.created'`,
      ),
    )
    .where(and(eq(auditLog.organizationId, organizationId), sql`${auditLog.seq} in (${seqs})`))
    .orderBy(desc(auditLog.seq));

export type AuditLogRow = Awaited<ReturnType<typeof rowsOf>>[number];

/** One character more than is shown tells if a text is longer. */
const BEGINNING = sql<string | null>`substr(${text}, 1, ${sql.raw(String(AUDIT_TEXT_LENGTH + 1))})`;

/** The matching rows of a page, with the beginnings of their texts. */
export const findAuditPage = (db: Database, range: AuditRange) =>
  rowsOf(db, range.organizationId, matchingSeqs(range), BEGINNING);

/** What a page examined: the next page begins at the lowest row. Always one row. */
export function findExamined(db: Database, range: AuditRange) {
  const rows = examinedRows(range);
  const { organizationId } = range;
  // SQLite takes the time from the row with the minimum.
  if (rows)
    return db
      .select({
        examined: sql<number>`count(*)`.as('examined'),
        lowest: sql<number | null>`min(${auditLog.seq})`.as('lowest'),
        lowestAt: sql<number | null>`${auditLog.at}`.as('lowestAt'),
        oldest: oldestSeq(organizationId).as('oldest'),
        /** How many of them match; null if that was not counted. */
        matching: sql<number | null>`count(*) filter (where ${matches(range) ?? sql`true`})`.as('matching'),
      })
      .from(auditLog)
      .where(and(eq(auditLog.organizationId, organizationId), sql`${auditLog.seq} in (${rows})`));
  return db
    .select({
      examined: sql<number>`min(${range.before}, ${nextSeq(organizationId)}) - ${lowest(range)}`.as('examined'),
      lowest: sql<number | null>`${lowest(range)}`.as('lowest'),
      lowestAt: sql<number | null>`max(${auditLog.at})`.as('lowestAt'),
      /** The oldest row of the organization. */
      oldest: oldestSeq(organizationId).as('oldest'),
      matching: sql<number | null>`null`.as('matching'),
    })
    .from(auditLog)
    .where(and(eq(auditLog.organizationId, organizationId), sql`${auditLog.seq} = ${lowest(range)}`));
}

export type Examined = Awaited<ReturnType<typeof findExamined>>[number];

/** How many rows of a range of the whole log match, at most `limit`. */
export const countMatching = (db: Database, range: AuditRange) =>
  db.select({ count: sql<number>`count(*)`.as('count') }).from(sql`(${matchingSeqs(range)})`);

/** What a key wrote since an instant, from how many addresses, and how many rows were examined to find it. */
export const countWritesOfKey = (db: Database, range: AuditRange & { keyId: string; since: number }) =>
  db
    .select({
      writes: sql<number>`count(*) filter (where ${auditLog.at} >= ${range.since})`.as('writes'),
      addresses: sql<number>`count(distinct iif(${auditLog.at} >= ${range.since}, ${auditLog.sourceAddress}, null))`.as(
        'addresses',
      ),
      examined: sql<number>`count(*)`.as('examined'),
    })
    .from(auditLog)
    .where(
      and(
        eq(auditLog.organizationId, range.organizationId),
        sql`${auditLog.seq} in (${newest(range, 'audit_log_actor', byActor('api_key', range.keyId))})`,
      ),
    );

/** The text before the first `end`; null if there is none. */
const beginning = (text: SQLWrapper, end: string) =>
  sql`iif(instr(${text}, ${end}) > 0, substr(${text}, 1, instr(${text}, ${end}) - 1), null)`;

/**
 * The writes of a key since an instant, among its latest `limit`, by the beginning of the Idempotency-Key up to its first `:` and
 * by the name of the program in the User-Agent. The workflow that wrote last is the first.
 */
export function findKeyWorkflows(
  db: Database,
  { organizationId, keyId, since, limit }: { organizationId: string; keyId: string; since: number; limit: number },
) {
  const writes = sql`select ${auditLog.at}, ${auditLog.idempotencyKey}, ${auditLog.userAgent}
    from ${auditLog} indexed by audit_log_actor
    where ${auditLog.organizationId} = ${organizationId} and ${byActor('api_key', keyId)}
    order by ${auditLog.seq} desc limit ${limit}`;
  const prefix = sql<string | null>`substr(${beginning(examined.idempotencyKey, ':')}, 1, ${MAX_SHOWN_PREFIX})`;
  // The first word, without its version.
  const word = sql`coalesce(${beginning(examined.userAgent, ' ')}, ${examined.userAgent})`;
  const program = sql<string | null>`coalesce(${beginning(word, '/')}, ${word})`;
  const lastAt = sql<number>`max(${examined.at})`;
  return db
    .select({
      prefix: prefix.as('prefix'),
      program: program.as('program'),
      writes: sql<number>`count(*)`.as('writes'),
      lastAt: lastAt.as('lastAt'),
    })
    .from(sql`(${writes}) ${examined}`)
    .where(gte(examined.at, since))
    .groupBy(prefix, program)
    .orderBy(desc(lastAt), prefix, program);
}

/** What all keys wrote on the latest day on which one did, from the newest audit row; no row if there is none. */
export const findLatestDay = (db: Database, organizationId: string) =>
  db
    .select({
      /** Calendar date in the organization's time zone, `YYYY-MM-DD`; empty if nothing was counted. */
      day: auditLog.day,
      /** New records and bytes of text. */
      records: auditLog.dayRecords,
      bytes: auditLog.dayBytes,
    })
    .from(auditLog)
    .where(eq(auditLog.organizationId, organizationId))
    .orderBy(desc(auditLog.seq))
    .limit(1);

/** The users among the first `limit` actors that are users. */
export function findAuditAdministrators(db: Database, organizationId: string, limit: number) {
  return db
    .select({
      id: users.id,
      name: users.name,
      isPresent: sql<number>`${users.active} and ${users.isAdmin}`.as('isPresent'),
    })
    .from(userActors(organizationId, limit))
    .crossJoin(users)
    .where(sql`${users.organizationId} = ${organizationId} and ${users.id} = actors.actor`);
}

/**
 * The first `limit` ids of actors that are users, as `actors.actor`. Each step seeks the next actor in the index, so the
 * number of rows read does not depend on an actor's activity.
 */
export function userActors(organizationId: string, limit: number): SQL {
  const actor = sql.identifier('actor');
  const first = (condition: SQL) => sql`(select min(${auditLog.actorId}) from ${auditLog}
    where ${auditLog.organizationId} = ${organizationId} and ${auditLog.actorType} = 'user' ${condition})`;
  return sql`(with recursive actors(${actor}) as (
      select ${first(sql``)}
      union all
      select ${first(sql`and ${auditLog.actorId} > actors.${actor}`)} from actors where actors.${actor} is not null
      limit ${limit}
    ) select ${actor} from actors) actors`;
}

/** The first `seq` not earlier than `at` (UTC milliseconds), or the next free one: a binary search in the database. */
export function findFirstSeqSince(db: Database, organizationId: string, at: number) {
  const found = { seq: sql<number>`low` };
  return db.all<RowOf<typeof found>>(sql`
    with recursive search(low, high) as (
      select ${oldestSeq(organizationId)}, ${nextSeq(organizationId)}
      union all
      select iif(${auditLog.at} >= ${at}, low, (low + high) / 2 + 1), iif(${auditLog.at} >= ${at}, (low + high) / 2, high)
      from search cross join ${auditLog} on ${auditLog.organizationId} = ${organizationId} and ${auditLog.seq} = (low + high) / 2
      where low < high
    )
    select ${fields(found)} from search where low = high`);
}

/** The audit rows of the records with these ids, and the newest changes of the key with this id, with whole texts. */
export function findAuditRowsAbout(
  db: Database,
  { organizationId, id, ...ids }: { organizationId: string; id: string } & Record<RecordKind, string>,
) {
  const records = RECORD_KIND_NAMES.map((kind) => {
    const table = RECORD_TABLES[kind];
    return sql`select ${table.auditSeq} from ${table}
      where ${table.organizationId} = ${organizationId} and ${table.id} in (${id}, ${ids[kind]})`;
  });
  const changes = sql`select ${examined.seq} from (select ${auditLog.seq} from ${auditLog} indexed by audit_log_user_target
    where ${auditLog.organizationId} = ${organizationId} and ${auditLog.actorType} <> 'api_key' and ${auditLog.targetId} = ${id}
    order by ${auditLog.seq} desc limit ${MAX_CHANGES}) ${examined}`;
  return rowsOf(db, organizationId, sql.join([...records, changes], sql` union all `), text);
}

/** The ticket with this id: no row if the directory does not have it. */
export const findTicket = (db: Database, organizationId: string, id: string) =>
  db
    .select({ id: tickets.id })
    .from(tickets)
    .where(and(eq(tickets.organizationId, organizationId), eq(tickets.id, id)));
