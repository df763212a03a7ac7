import { and, eq, sql } from 'drizzle-orm';
import { REDACTED } from '../../domain/change.ts';
import type { Approver, RecordKind, TimeEntryStatus } from '../../domain/record-kinds.ts';
import { decision, examined, waiting } from '../aliases.ts';
import { nextSeq } from '../audit/audit-log-statements.ts';
import { type AdministratorValues, byActiveAdministrator } from '../directory/administrator-statements.ts';
import { type Database, excluded, valuesFor } from '../query.ts';
import { auditLog } from '../schema/audit.ts';
import { organizations } from '../schema/directory.ts';
import { deletions, psaRefusals, timeEntries } from '../schema/work.ts';
import { RECORD_TABLES, TEXT_COLUMNS } from './record-tables.ts';
import { AMOUNT, goesToPsa } from './time-queue-statements.ts';

interface RecordId {
  organizationId: string;
  kind: RecordKind;
  id: string;
}

const isTheRecord = ({ organizationId, kind, id }: RecordId) => {
  const record = RECORD_TABLES[kind];
  return sql`${record.organizationId} = ${organizationId} and ${record.id} = ${id}`;
};

/** Replaces a text with "[redacted]", and removes the request digest, which could confirm a guess at it. */
export function markRedacted(db: Database, record: RecordId) {
  const text = TEXT_COLUMNS[record.kind];
  const isReadable = and(isTheRecord(record), sql`${text} <> ${REDACTED}`);
  return record.kind === 'note'
    ? db.update(RECORD_TABLES.note).set({ message: REDACTED, requestDigest: '' }).where(isReadable)
    : db.update(RECORD_TABLES.time_entry).set({ description: REDACTED, requestDigest: '' }).where(isReadable);
}

export const findRecord = (db: Database, record: RecordId) =>
  db.select({ id: RECORD_TABLES[record.kind].id }).from(RECORD_TABLES[record.kind]).where(isTheRecord(record));

interface ApprovalValues {
  organizationId: string;
  /** Who decided; undefined if no administrator did. */
  userId: string | undefined;
  ids: readonly string[];
  status: TimeEntryStatus;
  approvals: Approver;
}

/**
 * Sets the status of those of the entries that are SUBMITTED and that `approvals` decides about, if the user is an active
 * administrator. Returns the entries that it changed, each of which has the number of its audit row.
 */
export const recordApprovals = (db: Database, { organizationId, userId, ids, status, approvals }: ApprovalValues) => {
  const decided = db
    .select({ id: waiting.id, position: sql<number>`row_number() over (order by ${waiting.auditSeq})`.as('position') })
    .from(waiting)
    .where(
      and(
        eq(waiting.organizationId, organizationId),
        // One value, because D1 binds at most 100.
        sql`${waiting.id} in (select value from json_each(${JSON.stringify(ids)}))`,
        // The `+` keeps SQLite from reading all waiting entries from the index of the status.
        sql`+${waiting.status} = 'SUBMITTED'`,
        sql`+${waiting.approvals} = ${approvals}`,
        userId === undefined ? undefined : byActiveAdministrator({ organizationId, userId }),
      ),
    )
    .as('decided');
  return db
    .update(timeEntries)
    .set({ status, approvalSeq: sql`${nextSeq(organizationId)} - 1 + ${decided.position}` })
    .from(decided)
    .where(and(eq(timeEntries.organizationId, organizationId), eq(timeEntries.id, decided.id)))
    .returning({ id: timeEntries.id, minutes: timeEntries.minutes, amountMinor: AMOUNT.as('amountMinor') });
};

/** The approval of an entry; no row if there is no such entry. `decidedAt` and `decidedBy` are null while it is SUBMITTED. */
export const findApproval = (db: Database, organizationId: string, id: string) =>
  db
    .select({
      approvals: timeEntries.approvals,
      status: timeEntries.status,
      decidedAt: decision.at,
      decidedBy: decision.actorId,
    })
    .from(timeEntries)
    .leftJoin(
      decision,
      and(eq(decision.organizationId, timeEntries.organizationId), eq(decision.seq, timeEntries.approvalSeq)),
    )
    .where(and(eq(timeEntries.organizationId, organizationId), eq(timeEntries.id, id)));

/** Hands an entry that waits for the PSA to the settings area, if the organization's new time is decided there. */
export const handToSettings = (db: Database, organizationId: string, id: string) =>
  db
    .update(timeEntries)
    .set({ approvals: 'settings' })
    .where(
      and(
        eq(timeEntries.organizationId, organizationId),
        eq(timeEntries.id, id),
        eq(timeEntries.approvals, 'psa'),
        eq(timeEntries.status, 'SUBMITTED'),
        isNotDeleted(organizationId),
        sql`exists (select 1 from ${organizations}
          where ${organizations.id} = ${organizationId} and ${organizations.approvals} = 'settings')`,
      ),
    );

/** The first entries that wait for a decision of the PSA. */
export const findWaitingForPsa = (db: Database, organizationId: string, limit: number) =>
  db
    .select({ id: timeEntries.id })
    .from(timeEntries)
    .where(
      and(
        eq(timeEntries.organizationId, organizationId),
        eq(timeEntries.approvals, 'psa'),
        eq(timeEntries.status, 'SUBMITTED'),
        isNotDeleted(organizationId),
      ),
    )
    .orderBy(timeEntries.auditSeq)
    .limit(limit);

/** Condition: the entry is after the position up to which old records are deleted, in several transactions. */
const isNotDeleted = (organizationId: string) =>
  sql`${timeEntries.auditSeq} > coalesce((select ${deletions.toSeq} from ${deletions}
    where ${deletions.organizationId} = ${organizationId}), 0)`;

// The records that the PSA could not take. Nothing is written about a record that it takes.

/**
 * Condition: an administrator has entered the time by hand. If its text was redacted, the PSA can still refuse that, because
 * it can have the entry as well.
 */
const isEnteredByHand = ({ organizationId, id }: RecordId) =>
  sql`${timeEntries.description} <> ${REDACTED} and exists (
    select 1 from ${auditLog} ${examined} indexed by audit_log_user_target
    where ${examined.organizationId} = ${organizationId} and ${examined.targetId} = ${id} and ${examined.actorType} <> 'api_key'
      and ${examined.actorType} = 'user' and ${examined.action} = 'time_entry.taken')`;

/**
 * Stores that the PSA refused an existing record, unless that is stored with the same reason, or an administrator has entered
 * it by hand.
 */
export const storePsaRefusal = (db: Database, record: RecordId, reason: string, now: number) =>
  db
    .insert(psaRefusals)
    .select(
      sql`select ${valuesFor(psaRefusals, {
        organizationId: record.organizationId,
        recordId: record.id,
        kind: record.kind,
        reason,
        refusedAt: now,
      })} from ${RECORD_TABLES[record.kind]}
        where ${isTheRecord(record)}${record.kind === 'note' ? sql.empty() : sql` and not (${isEnteredByHand(record)})`}`,
    )
    .onConflictDoUpdate({
      target: [psaRefusals.organizationId, psaRefusals.recordId],
      set: { reason: excluded(psaRefusals.reason), refusedAt: excluded(psaRefusals.refusedAt) },
      setWhere: sql`${psaRefusals.reason} <> ${excluded(psaRefusals.reason)}`,
    });

/** Removes the stored refusal of a record by the PSA. */
export const withdrawRefusal = (db: Database, { organizationId, kind, id }: RecordId) =>
  db
    .delete(psaRefusals)
    .where(
      and(eq(psaRefusals.organizationId, organizationId), eq(psaRefusals.recordId, id), eq(psaRefusals.kind, kind)),
    );

interface ByHandValues extends AdministratorValues {
  id: string;
  /** Whether the text was redacted when the administrator read it: not if that has changed since. */
  isRedacted: boolean;
}

/** Removes the stored refusal of time that goes to the PSA, if the user is an active administrator. */
export const withdrawRefusalByHand = (db: Database, { organizationId, userId, id, isRedacted }: ByHandValues) =>
  db.delete(psaRefusals).where(
    and(
      eq(psaRefusals.organizationId, organizationId),
      eq(psaRefusals.recordId, id),
      eq(psaRefusals.kind, 'time_entry'),
      byActiveAdministrator({ organizationId, userId }),
      sql`exists (select 1 from ${timeEntries} where ${timeEntries.organizationId} = ${organizationId}
          and ${timeEntries.id} = ${id} and (${goesToPsa})
          and (${timeEntries.description} = ${REDACTED}) = ${isRedacted ? 1 : 0})`,
    ),
  );

/** The latest report that the PSA refused a time entry, or that the entry is in the PSA now. */
export const findTaken = (db: Database, organizationId: string, id: string) =>
  db
    .select({
      action: auditLog.action,
      actorType: auditLog.actorType,
      actorId: auditLog.actorId,
      by: auditLog.actorName,
      at: auditLog.at,
    })
    .from(auditLog)
    .where(
      sql`${auditLog.organizationId} = ${organizationId} and ${auditLog.seq} = (
        select max(${examined.seq}) from ${auditLog} ${examined} indexed by audit_log_user_target
        where ${examined.organizationId} = ${organizationId} and ${examined.targetId} = ${id}
          and ${examined.actorType} <> 'api_key' and ${examined.action} in ('time_entry.refused', 'time_entry.taken'))`,
    );

/** How many records the PSA refused, and since when: of all organizations with ids between `from` and `to`. */
export const countRefusals = (db: Database, { from, to }: { from: string; to: string }) =>
  db
    .select({
      refused: sql<number>`count(*)`.as('refused'),
      since: sql<number | null>`min(${psaRefusals.refusedAt})`.as('since'),
    })
    .from(psaRefusals)
    .where(sql`${psaRefusals.organizationId} between ${from} and ${to}`);
