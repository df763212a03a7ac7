import { type Placeholder, type SQL, type SQLWrapper, sql } from 'drizzle-orm';
import type { ActorType } from '../../domain/audit-actions.ts';
import { forEachKind, type RecordKind } from '../../domain/record-kinds.ts';
import { anyKey, earlier, latest } from '../aliases.ts';
import { type Input, once, valuesFor } from '../query.ts';
import { auditLog } from '../schema/audit.ts';
import { organizations, users } from '../schema/directory.ts';
import { apiKeys } from '../schema/keys.ts';
import { timeEntries } from '../schema/work.ts';
import { RECORD_TABLES } from '../work/record-tables.ts';
import { latestAuditRow } from '../work/write.ts';

// An audit row is written only by the statement that follows a write in the same batch, and only for a row that this write
// changed. There is no `on conflict`: on a conflict this statement fails, and the write with it.

type AuditRow = typeof auditLog.$inferSelect;

/** `actorName` is used for `system` only. The names of keys and users come from the database. */
interface AuditValues extends Omit<AuditRow, 'seq' | 'at' | 'actorType' | 'day' | 'dayRecords' | 'dayBytes'> {
  now: AuditRow['at'];
  /** The day of a new record, in the organization's time zone; null for any other change. */
  day: AuditRow['day'] | null;
  records: number;
  bytes: number;
}

/** Where the actor is found, and its name. */
const ACTORS = {
  api_key: (values: Input<AuditValues>) => ({
    name: apiKeys.name,
    from: sql`${apiKeys}`,
    where: sql`${apiKeys.organizationId} = ${values.organizationId} and ${apiKeys.id} = ${values.actorId}`,
  }),
  user: (values: Input<AuditValues>) => ({
    name: users.name,
    from: sql`${users}`,
    where: sql`${users.organizationId} = ${values.organizationId} and ${users.id} = ${values.actorId}`,
  }),
  system: (values: Input<AuditValues>) => ({
    name: sql`${values.actorName}`,
    from: sql`${organizations}`,
    where: sql`${organizations.id} = ${values.organizationId}`,
  }),
} satisfies Record<ActorType, unknown>;

/** The target of the audit row, and its condition: the statement before has changed this target. */
interface Target {
  seq: SQLWrapper;
  id: SQLWrapper | Placeholder | string;
  ticketId: SQLWrapper | Placeholder | string | null;
  joins: SQL;
  where: SQL;
}

/** The statement before has changed one row. `ticketOf` is the kind of the record whose ticket it has; without it, the ticket is a value. */
const oneTarget =
  (ticketOf?: RecordKind) =>
  (values: Input<AuditValues>): Target => ({
    seq: sql`coalesce(${latest.seq}, 0) + 1`,
    id: values.targetId,
    ticketId: ticketOf === undefined ? values.ticketId : ticketIdOf(ticketOf, values),
    joins: sql``,
    where: sql`changes() = 1`,
  });

const isAmong = (id: SQLWrapper, { targetId }: Input<AuditValues>) =>
  sql`${id} in (select value from json_each(${targetId}))`;

/** The targets of a statement that changes several rows. Then `targetId` is a JSON array of the ids that it may change. */
const SEVERAL_TARGETS = {
  /** Each entry has the number of its audit row. */
  decidedEntries: (values: Input<AuditValues>): Target => ({
    seq: timeEntries.approvalSeq,
    id: timeEntries.id,
    ticketId: timeEntries.ticketId,
    joins: sql`join ${timeEntries} on ${timeEntries.organizationId} = ${values.organizationId}
      and ${isAmong(timeEntries.id, values)} and ${timeEntries.approvalSeq} > coalesce(${latest.seq}, 0)`,
    where: sql`true order by ${timeEntries.approvalSeq}`,
  }),
  /** A key is revoked once, so a revocation without an audit row was made by the statement before. */
  revokedKeys: (values: Input<AuditValues>): Target => ({
    seq: sql`coalesce(${latest.seq}, 0) + row_number() over (order by ${anyKey.id})`,
    id: anyKey.id,
    ticketId: sql`null`,
    joins: sql`join ${apiKeys} ${anyKey} on ${anyKey.organizationId} = ${values.organizationId} and ${isAmong(anyKey.id, values)}
      and ${anyKey.revokedAt} = ${values.now}`,
    where: sql`not exists (select 1 from ${auditLog} ${earlier} indexed by audit_log_user_target where ${earlier.organizationId} = ${values.organizationId}
      and ${earlier.targetId} = ${anyKey.id} and ${earlier.actorType} <> 'api_key' and ${earlier.action} = ${values.action})
      order by ${anyKey.id}`,
  }),
};

/**
 * The statement that inserts the audit rows after the newest one. The totals of the day continue those of that row, or begin
 * with a later day. A record of an earlier day (a write that took long at midnight, or after a change of the time zone)
 * changes no total.
 */
const auditRow = (actorType: ActorType, targetOf: (values: Input<AuditValues>) => Target) =>
  once((db, values: Input<AuditValues>) => {
    const { name, from, where } = ACTORS[actorType](values);
    const target = targetOf(values);
    const latestDay = sql`coalesce(${latest.day}, '')`;
    const total = (before: SQLWrapper, added: Input<AuditValues>['records']) =>
      sql`iif(${values.day} > ${latestDay}, 0, coalesce(${before}, 0)) + iif(${values.day} >= ${latestDay}, ${added}, 0)`;
    return db.insert(auditLog).select(sql`
      select ${valuesFor(auditLog, {
        organizationId: values.organizationId,
        seq: target.seq,
        at: values.now,
        actorType: sql.raw(`'${actorType}'`),
        actorId: values.actorId,
        actorName: name,
        action: values.action,
        targetId: target.id,
        ticketId: target.ticketId,
        requestId: values.requestId,
        idempotencyKey: values.idempotencyKey,
        sourceAddress: values.sourceAddress,
        userAgent: values.userAgent,
        detail: values.detail,
        day: sql`max(${latestDay}, coalesce(${values.day}, ''))`,
        dayRecords: total(latest.dayRecords, values.records),
        dayBytes: total(latest.dayBytes, values.bytes),
      })}
      from ${from} ${latestAuditRow(values.organizationId)} ${target.joins}
      where ${where} and ${target.where}`);
  });

function ticketIdOf(kind: RecordKind, { organizationId, targetId }: Input<AuditValues>) {
  const record = RECORD_TABLES[kind];
  return sql`(select ${record.ticketId} from ${record}
    where ${record.organizationId} = ${organizationId} and ${record.id} = ${targetId})`;
}

const auditRowsOf = (actorType: ActorType) => ({
  /** For a change whose ticket, if any, is passed in. */
  given: auditRow(actorType, oneTarget()),
  /** For a change to an existing record: uses the ticket of that record. */
  ofRecord: forEachKind((kind) => auditRow(actorType, oneTarget(kind))),
  /** For one statement that changes several rows. */
  ofEach: {
    decidedEntries: auditRow(actorType, SEVERAL_TARGETS.decidedEntries),
    revokedKeys: auditRow(actorType, SEVERAL_TARGETS.revokedKeys),
  },
});

export const AUDIT_ROWS = { api_key: auditRowsOf('api_key'), user: auditRowsOf('user'), system: auditRowsOf('system') };
