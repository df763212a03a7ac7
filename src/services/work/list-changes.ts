import * as z from 'zod';
import { callD1 } from '../../db/client.ts';
import { findChanges, findPlace, type PlaceRow } from '../../db/work/changes.ts';
import type { Change, PlainText } from '../../domain/change.ts';
import { type ChangeCursor, formatCursor, parseCursor } from '../../domain/change-cursor.ts';
import { Declined } from '../../domain/declined.ts';
import { directoryId } from '../../domain/directory.ts';
import { record, says } from '../../domain/fields.ts';
import { fromMinorUnits } from '../../domain/money.ts';

import type { AgreementSource, TimeEntryStatus } from '../../domain/time-entry.ts';
import type { ServiceContext } from '../context.ts';
import { repeatable } from '../repeatable.ts';
import { validated } from '../parse-input.ts';

/** Most changes of one page: with the longest texts still well under the 32 MiB that one RPC may carry. */
export const MAX_CHANGES = 100;

export interface ChangesPage {
  changes: Change[];
  /** Where to go on, now or at any later time; null while there never was a change. */
  cursor: string | null;
  /** Whether the page is full, so that there may be more already. */
  more: boolean;
}

const limitRule = `a whole number from 1 to ${MAX_CHANGES}`;
const cursorRule = 'the cursor of an earlier answer, or null for the beginning';
/** A cursor as it was given out, or null. */
export const cursorText = z
  .string({ error: says(cursorRule) })
  .transform((text, context) => {
    const cursor = parseCursor(text);
    if (cursor) return cursor;
    context.addIssue({ code: 'custom', message: says(cursorRule)({ input: text }), params: { code: 'invalid_format' } });
    return z.NEVER;
  })
  .nullable();
const changesRequest = record({
  organization: directoryId('an organization'),
  cursor: cursorText,
  limit: z
    .int({ error: says(limitRule) })
    .min(1, { error: says(limitRule) })
    .max(MAX_CHANGES, { error: says(limitRule) }),
});

/**
 * The next changes of an organization behind a cursor, oldest first: each committed row of the audit log, none skipped. A change may be
 * read again, so do with it what may be done twice.
 * @throws Invalid naming the argument; Declined `organization_not_found` or `cursor_reset`: the cursor's place is not in this database
 *   (any more), for a backup was restored or the organization erased, so begin again at null; Refusal `unavailable`
 */
export async function changes(
  ctx: ServiceContext,
  request: { organization: string; cursor: string | null; limit: number },
): Promise<ChangesPage> {
  const { organization, cursor, limit } = validated(changesRequest, request);
  const at = { organizationId: organization, seq: cursor?.seq ?? 0 };
  // One transaction: the place is judged in the very state that the page is read from.
  const [place, page] = await repeatable(() =>
    callD1(ctx, () => ctx.db.batch<PlaceRow | ChangeRow>([findPlace.bind(ctx.db, at), findChanges.bind(ctx.db, { ...at, limit })])),
  );
  const epoch = judge(place?.results.find(isPlace), organization, cursor);
  const rows = page?.results.filter(isChange) ?? [];
  const found = rows.map((row) => toChange(row, epoch));
  return { changes: found, cursor: found.at(-1)?.cursor ?? request.cursor, more: found.length === limit };
}

/**
 * The database's epoch, if a cursor into the organization's audit log is (still) good here.
 * @throws Declined
 */
export function judge(place: PlaceRow | undefined, organization: string, cursor: ChangeCursor | null): string {
  if (!place) throw new Error('the database has no epoch; apply the migrations');
  if (cursor && (cursor.epoch !== place.epoch || (place.organizationId !== null && cursor.requestId !== place.requestId))) {
    throw new Declined(
      'cursor_reset',
      'The place that the cursor stands for is not in this database, which was restored or replaced; begin again at null.',
    );
  }
  if (place.organizationId === null) throw new Declined('organization_not_found', `There is no organization ${organization}.`);
  return place.epoch;
}

/** A row of `findChanges`. Of the three records that it may be about, those that it is not about are null. */
interface ChangeRow {
  seq: number;
  at: number;
  actorType: Change['actor']['type'];
  actorId: string;
  actorName: string;
  action: string;
  targetId: string;
  auditTicketId: string | null;
  requestId: string;
  idempotencyKey: string | null;
  detail: string | null;
  noteId: string | null;
  message: string;
  noteTicketId: string;
  noteCreatedAt: number;
  entryId: string | null;
  description: string;
  entryTicketId: string;
  entryCreatedAt: number;
  userId: string;
  minutes: number;
  billable: number;
  workDate: string;
  hourlyRateMinor: number;
  agreementSource: AgreementSource;
  status: TimeEntryStatus;
  keyId: string | null;
  keyName: string;
  keyHint: string;
  keyExpiresAt: number | null;
  keyRevokedAt: number | null;
  keySuccessorId: string | null;
}

const isPlace = (row: PlaceRow | ChangeRow): row is PlaceRow => 'epoch' in row;
const isChange = (row: PlaceRow | ChangeRow): row is ChangeRow => !isPlace(row);

const instant = (at: number) => new Date(at).toISOString();
const optionalInstant = (at: number | null) => (at === null ? null : instant(at));
const plain = (text: string): PlainText => ({ mediaType: 'text/plain', text });

function toChange(row: ChangeRow, epoch: string): Change {
  const { seq, action, targetId, requestId, idempotencyKey, detail, noteId, entryId, keyId } = row;
  return {
    cursor: formatCursor({ epoch, seq, requestId }),
    seq,
    at: instant(row.at),
    action,
    actor: { type: row.actorType, id: row.actorId, name: plain(row.actorName) },
    targetId,
    ticketId: row.auditTicketId,
    requestId,
    idempotencyKey,
    detail: detail === null ? null : plain(detail),
    note: noteId === null ? null : toNote(row, noteId),
    timeEntry: entryId === null ? null : toTimeEntry(row, entryId),
    key: keyId === null ? null : toKey(row, keyId),
  };
}

function toNote({ noteTicketId, noteCreatedAt, message }: ChangeRow, id: string): Change['note'] {
  return { id, ticketId: noteTicketId, createdAt: instant(noteCreatedAt), message: plain(message) };
}

function toTimeEntry(row: ChangeRow, id: string): Change['timeEntry'] {
  return {
    id,
    ticketId: row.entryTicketId,
    createdAt: instant(row.entryCreatedAt),
    userId: row.userId,
    minutes: row.minutes,
    description: plain(row.description),
    billable: row.billable === 1,
    workDate: `${row.workDate}T00:00:00.000Z`,
    hourlyRate: fromMinorUnits(row.hourlyRateMinor),
    agreementSource: row.agreementSource,
    status: row.status,
  };
}

function toKey(row: ChangeRow, id: string): Change['key'] {
  return {
    id,
    name: plain(row.keyName),
    hint: row.keyHint,
    expiresAt: optionalInstant(row.keyExpiresAt),
    revokedAt: optionalInstant(row.keyRevokedAt),
    successorId: row.keySuccessorId,
  };
}
