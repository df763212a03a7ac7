import type { ChangeRow } from '../../db/work/changes.ts';
import { type Change, type ChangedRecords, instant, optionalInstant, plain } from '../../domain/change.ts';
import { formatCursor } from '../../domain/change-cursor.ts';
import { fromMinorUnits } from '../../domain/money.ts';
import { parseStored } from '../../domain/stored-json.ts';
import { STORED_RECORDS, type StoredRecords } from '../../domain/stored-record.ts';

/** A row of the feed as the PSA reads it. @throws DamagedData if its record is not one */
export function toChange(row: ChangeRow, epoch: string): Change {
  const { seq, action, targetId, ticketId, requestId, idempotencyKey, detail, note, time_entry } = row;
  const what = (noun: string) => `the ${noun} of change ${seq}`;
  return {
    cursor: formatCursor({ epoch, seq, requestId }),
    seq,
    at: instant(row.at),
    action,
    actor: { type: row.actorType, id: row.actorId, name: plain(row.actorName) },
    targetId,
    ticketId,
    requestId,
    idempotencyKey,
    detail: detail === null ? null : plain(detail),
    note: note === null ? null : toNote(parseStored(STORED_RECORDS.note, note, what('note'))),
    timeEntry:
      time_entry === null ? null : toTimeEntry(parseStored(STORED_RECORDS.time_entry, time_entry, what('time entry'))),
    key: toKey(row),
  };
}

function toNote({ id, ticketId, createdAt, message }: StoredRecords['note']): ChangedRecords['note'] {
  return { id, ticketId, createdAt: instant(createdAt), message: plain(message) };
}

/** A time entry as the PSA reads it. */
export function toTimeEntry(row: StoredRecords['time_entry']): ChangedRecords['timeEntry'] {
  return {
    id: row.id,
    ticketId: row.ticketId,
    createdAt: instant(row.createdAt),
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

function toKey({ keyId, keyName, keyHint, ...row }: ChangeRow): Change['key'] {
  if (keyId === null || keyName === null || keyHint === null) return null;
  return {
    id: keyId,
    name: plain(keyName),
    hint: keyHint,
    expiresAt: optionalInstant(row.keyExpiresAt),
    revokedAt: optionalInstant(row.keyRevokedAt),
    successorId: row.keySuccessorId,
  };
}
