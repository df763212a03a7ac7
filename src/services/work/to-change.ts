import type { ChangeRow } from '../../db/work/changes.ts';
import type { RecordRows } from '../../db/work/record-tables.ts';
import { type Change, type ChangedRecords, instant, optionalInstant, plain } from '../../domain/change.ts';
import { formatCursor } from '../../domain/change-cursor.ts';
import { fromMinorUnits } from '../../domain/money.ts';
import type { RecordKind } from '../../domain/record-kinds.ts';

/** A row of the feed as the PSA reads it. */
export function toChange(row: ChangeRow, epoch: string): Change {
  const { seq, action, targetId, ticketId, requestId, idempotencyKey, detail, keyId } = row;
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
    note: recordOf(row, 'note', toNote),
    timeEntry: recordOf(row, 'time_entry', toTimeEntry),
    key: keyId === null ? null : toKey(row, keyId),
  };
}

/** The record of one kind that a change is about, from the JSON of its `RecordRows`. */
function recordOf<Kind extends RecordKind, T>(
  row: ChangeRow,
  kind: Kind,
  convert: (record: RecordRows[Kind]) => T,
): T | null {
  const json = row[kind];
  return json === null ? null : convert(JSON.parse(json));
}

function toNote({ id, ticketId, createdAt, message }: RecordRows['note']): ChangedRecords['note'] {
  return { id, ticketId, createdAt: instant(createdAt), message: plain(message) };
}

function toTimeEntry(row: RecordRows['time_entry']): ChangedRecords['timeEntry'] {
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
