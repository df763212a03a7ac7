import { and, eq, gt, sql } from 'drizzle-orm';
import { oldestSeq } from '../audit/audit-log-statements.ts';
import { isBeingErased } from '../directory/erasure.ts';
import { type Database, type Fields, jsonObject } from '../query.ts';
import { auditLog } from '../schema/audit.ts';
import { databaseEpoch, organizations } from '../schema/directory.ts';
import { apiKeys } from '../schema/keys.ts';
import { notes, timeEntries } from '../schema/work.ts';

// The change feed: the audit log, with each record in its current state. A page reads at most three rows per change. It begins
// with the oldest row that is left, not with the position of the deletion: a record and the row that created it are deleted in
// one transaction, so a record in the feed has all of its changes there.

/** The target of a cursor. Null fields: there is no such organization or row. Always one row. */
export const findCursorPosition = (db: Database, organizationId: string, seq: number) =>
  db
    .select({
      epoch: databaseEpoch.epoch,
      organizationId: organizations.id,
      requestId: auditLog.requestId,
      /** If the row of the cursor is missing: the last row that was deleted, 0 for none. Otherwise not read. */
      deletedTo: sql<number | null>`iif(${auditLog.requestId} is null, ${oldestSeq(organizationId)} - 1, null)`.as(
        'deletedTo',
      ),
      isBeingErased: sql<number>`${isBeingErased(organizationId)}`.as('isBeingErased'),
    })
    .from(databaseEpoch)
    .leftJoin(organizations, eq(organizations.id, organizationId))
    .leftJoin(auditLog, and(eq(auditLog.organizationId, organizations.id), eq(auditLog.seq, seq)));

export type CursorPosition = Awaited<ReturnType<typeof findCursorPosition>>[number];

const OF_ALL = (record: typeof notes | typeof timeEntries) => ({
  id: record.id,
  ticketId: record.ticketId,
  createdAt: record.createdAt,
});

/** The fields of each kind of record in the feed, as `StoredRecords` has them. */
const NOTE = { ...OF_ALL(notes), message: notes.message } satisfies Fields;
const TIME_ENTRY = {
  ...OF_ALL(timeEntries),
  description: timeEntries.description,
  userId: timeEntries.userId,
  minutes: timeEntries.minutes,
  billable: timeEntries.billable,
  workDate: timeEntries.workDate,
  hourlyRateMinor: timeEntries.hourlyRateMinor,
  agreementSource: timeEntries.agreementSource,
  approvals: timeEntries.approvals,
  status: timeEntries.status,
} satisfies Fields;

/** The organization's audit rows after `seq`, in order, each with its record (as JSON, or null) and key. */
export const findChanges = (db: Database, organizationId: string, seq: number, limit: number) =>
  db
    .select({
      seq: auditLog.seq,
      at: auditLog.at,
      actorType: auditLog.actorType,
      actorId: auditLog.actorId,
      actorName: auditLog.actorName,
      action: auditLog.action,
      targetId: auditLog.targetId,
      ticketId: auditLog.ticketId,
      requestId: auditLog.requestId,
      idempotencyKey: auditLog.idempotencyKey,
      detail: auditLog.detail,
      keyId: apiKeys.id,
      keyName: apiKeys.name,
      keyHint: apiKeys.hint,
      keyExpiresAt: apiKeys.expiresAt,
      keyRevokedAt: apiKeys.revokedAt,
      keySuccessorId: apiKeys.successorId,
      note: jsonObject(NOTE, notes.organizationId).as('note'),
      time_entry: jsonObject(TIME_ENTRY, timeEntries.organizationId).as('time_entry'),
    })
    .from(auditLog)
    .leftJoin(
      notes,
      and(
        eq(notes.organizationId, auditLog.organizationId),
        eq(notes.id, auditLog.targetId),
        sql`${auditLog.action} glob 'note.*'`,
      ),
    )
    .leftJoin(
      timeEntries,
      and(
        eq(timeEntries.organizationId, auditLog.organizationId),
        eq(timeEntries.id, auditLog.targetId),
        sql`${auditLog.action} glob 'time_entry.*'`,
      ),
    )
    .leftJoin(
      apiKeys,
      and(
        eq(apiKeys.organizationId, auditLog.organizationId),
        sql`${apiKeys.id} = coalesce(${notes.keyId}, ${timeEntries.keyId},
          iif(${auditLog.action} glob 'api_key.*', ${auditLog.targetId}, null))`,
      ),
    )
    .where(and(eq(auditLog.organizationId, organizationId), gt(auditLog.seq, seq)))
    .orderBy(auditLog.seq)
    .limit(limit);

export type ChangeRow = Awaited<ReturnType<typeof findChanges>>[number];
