import { and, asc, eq, gt, ne, sql } from 'drizzle-orm';
import { REDACTED } from '../../domain/change.ts';
import type { RecordKind } from '../../domain/record-id.ts';
import { type ActorValues, byActiveAdministrator } from '../directory/administrators.ts';
import { nextSeq } from '../audit/audit-row.ts';
import { builder, statement, value } from '../client.ts';
import { apiKeys, auditLog, databaseEpoch, notes, organizations, timeEntries } from '../schema.ts';

// Statements by which the PSA reads, reviews and redacts what was written. They find rows by keys that begin with the organization; a
// page of changes reads at most three rows for each change.

const column = <T>(expression: unknown, name: string) => sql<T>`${expression}`.as(name);

/** Where a cursor is looked for: `{ epoch, organizationId, requestId }`, the last two null if there is no such organization or row. */
export interface PlaceRow {
  epoch: string;
  organizationId: string | null;
  requestId: string | null;
}

/** The database's epoch, the organization and the audit row with this `seq`. */
export const findPlace = statement<{ organizationId: string; seq: number }>(
  builder
    .select({
      epoch: column(databaseEpoch.epoch, 'epoch'),
      organizationId: column(organizations.id, 'organizationId'),
      requestId: column(auditLog.requestId, 'requestId'),
    })
    .from(databaseEpoch)
    .leftJoin(organizations, eq(organizations.id, sql.placeholder('organizationId')))
    .leftJoin(auditLog, and(eq(auditLog.organizationId, organizations.id), eq(auditLog.seq, sql.placeholder('seq')))),
);

const columns = {
  seq: auditLog.seq,
  at: auditLog.at,
  actorType: auditLog.actorType,
  actorId: auditLog.actorId,
  actorName: auditLog.actorName,
  action: auditLog.action,
  targetId: auditLog.targetId,
  auditTicketId: auditLog.ticketId,
  requestId: auditLog.requestId,
  idempotencyKey: auditLog.idempotencyKey,
  detail: auditLog.detail,
  noteId: notes.id,
  message: notes.message,
  noteTicketId: notes.ticketId,
  noteCreatedAt: notes.createdAt,
  entryId: timeEntries.id,
  description: timeEntries.description,
  entryTicketId: timeEntries.ticketId,
  entryCreatedAt: timeEntries.createdAt,
  userId: timeEntries.userId,
  minutes: timeEntries.minutes,
  billable: timeEntries.billable,
  workDate: timeEntries.workDate,
  hourlyRateMinor: timeEntries.hourlyRateMinor,
  agreementSource: timeEntries.agreementSource,
  status: timeEntries.status,
  keyId: apiKeys.id,
  keyName: apiKeys.name,
  keyHint: apiKeys.hint,
  keyExpiresAt: apiKeys.expiresAt,
  keyRevokedAt: apiKeys.revokedAt,
  keySuccessorId: apiKeys.successorId,
};

const isAbout = (kind: RecordKind | 'api_key') => sql`${auditLog.action} glob ${sql.raw(`'${kind}.*'`)}`;

/** The organization's audit rows behind `seq`, in order, each with the record it is about and that record's key. */
export const findChanges = statement<{ organizationId: string; seq: number; limit: number }>(
  builder
    .select(Object.fromEntries(Object.entries(columns).map(([name, from]) => [name, column(from, name)])))
    .from(auditLog)
    .leftJoin(notes, and(eq(notes.organizationId, auditLog.organizationId), eq(notes.id, auditLog.targetId), isAbout('note')))
    .leftJoin(
      timeEntries,
      and(eq(timeEntries.organizationId, auditLog.organizationId), eq(timeEntries.id, auditLog.targetId), isAbout('time_entry')),
    )
    .leftJoin(
      apiKeys,
      and(
        eq(apiKeys.organizationId, auditLog.organizationId),
        eq(apiKeys.id, sql`coalesce(${notes.keyId}, ${timeEntries.keyId}, iif(${isAbout('api_key')}, ${auditLog.targetId}, null))`),
      ),
    )
    .where(and(eq(auditLog.organizationId, sql.placeholder('organizationId')), gt(auditLog.seq, sql.placeholder('seq'))))
    .orderBy(asc(auditLog.seq))
    .limit(sql.placeholder('limit')),
);

/** Reviews an entry that is SUBMITTED, if the actor is an active administrator. */
export const markReviewed = statement<ActorValues & { id: string; status: 'APPROVED' | 'REJECTED' }>(
  builder
    .update(timeEntries)
    .set({ status: value<'APPROVED'>('status'), reviewSeq: nextSeq })
    .where(
      and(
        eq(timeEntries.organizationId, sql.placeholder('organizationId')),
        eq(timeEntries.id, sql.placeholder('id')),
        eq(timeEntries.status, sql`'SUBMITTED'`),
        byActiveAdministrator,
      ),
    ),
);

/** An entry's review: all null but the status while it is SUBMITTED. */
export interface ReviewRow {
  status: 'SUBMITTED' | 'APPROVED' | 'REJECTED';
  reviewedAt: number | null;
  reviewedBy: string | null;
  requestId: string | null;
}

/** The standing of an entry, or none: what to say when nothing was reviewed. */
export const findReview = statement<{ organizationId: string; id: string }>(
  builder
    .select({
      status: column(timeEntries.status, 'status'),
      reviewedAt: column(auditLog.at, 'reviewedAt'),
      reviewedBy: column(auditLog.actorId, 'reviewedBy'),
      requestId: column(auditLog.requestId, 'requestId'),
    })
    .from(timeEntries)
    .leftJoin(auditLog, and(eq(auditLog.organizationId, timeEntries.organizationId), eq(auditLog.seq, timeEntries.reviewSeq)))
    .where(and(eq(timeEntries.organizationId, sql.placeholder('organizationId')), eq(timeEntries.id, sql.placeholder('id')))),
);

interface RecordValues {
  organizationId: string;
  id: string;
}

const recordIn = (table: typeof notes | typeof timeEntries) =>
  and(eq(table.organizationId, sql.placeholder('organizationId')), eq(table.id, sql.placeholder('id')));

/**
 * Puts "[redacted]" in the place of a record's text, unless it stands there already. The request's digest goes too: with it one could try
 * out what the text was.
 */
export const markRedacted = {
  note: statement<RecordValues>(
    builder
      .update(notes)
      .set({ message: sql.raw(`'${REDACTED}'`), requestDigest: sql`''` })
      .where(and(recordIn(notes), ne(notes.message, sql.raw(`'${REDACTED}'`)))),
  ),
  time_entry: statement<RecordValues>(
    builder
      .update(timeEntries)
      .set({ description: sql.raw(`'${REDACTED}'`), requestDigest: sql`''` })
      .where(and(recordIn(timeEntries), ne(timeEntries.description, sql.raw(`'${REDACTED}'`)))),
  ),
} satisfies Record<RecordKind, unknown>;

/** `{ id }` of a record, or none. */
export const findRecord = {
  note: statement<RecordValues>(builder.select({ id: notes.id }).from(notes).where(recordIn(notes))),
  time_entry: statement<RecordValues>(builder.select({ id: timeEntries.id }).from(timeEntries).where(recordIn(timeEntries))),
} satisfies Record<RecordKind, unknown>;
