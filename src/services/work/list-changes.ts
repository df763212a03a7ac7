import * as z from 'zod/mini';
import { type ChangeRow, findChanges, findCursorPosition } from '../../db/work/changes.ts';
import {
  type Change,
  type ChangedRecords,
  formatCursor,
  instant,
  optionalInstant,
  plain,
} from '../../domain/change.ts';
import { directoryId } from '../../domain/directory.ts';
import { lazyObject, wholeUpTo } from '../../domain/fields.ts';
import { fromMinorUnits } from '../../domain/money.ts';
import type { ChangesPage } from '../../domain/psa-shapes.ts';
import { parseStored, STORED_RECORDS, type StoredRecords } from '../../domain/stored-json.ts';
import { utf8Length } from '../../lib/bytes.ts';
import { query } from '../call-d1.ts';
import { parseInput } from '../parse-input.ts';
import type { ServiceContext } from '../service-context.ts';
import { requireValidCursor, startCursor } from './require-cursor.ts';

/** The most changes on one page: well under 32 MiB, the limit of one RPC, even with long texts. */
export const MAX_CHANGES = 100;

/** A page over HTTP ends before this size, as JSON; a change is smaller even with the longest text. */
export const MAX_PAGE_BYTES = 512 * 1024;

export const changesRequest = lazyObject(() => ({
  organization: directoryId('an organization'),
  cursor: startCursor,
  limit: z._default(wholeUpTo(MAX_CHANGES), MAX_CHANGES),
}));

/**
 * The next changes of an organization after a cursor, oldest first: every committed row of the audit log, none skipped.
 * A change may be read more than once, so the reader must be idempotent. With `maxBytes`, the page ends before its
 * changes, as JSON in UTF-8, are larger.
 * @throws ServiceError `invalid`, `organization_not_found`, `being_erased`, `cursor_reset` (the position is not in this
 *   database: a backup was restored or the organization erased, so start again with null)
 */
export async function listChanges(
  ctx: ServiceContext,
  request: z.input<typeof changesRequest>,
  maxBytes = Infinity,
): Promise<ChangesPage> {
  const { organization, cursor, limit } = parseInput(changesRequest, request);
  const seq = cursor?.seq ?? 0;
  // One transaction: the cursor is checked in the same state that the page is read from.
  const [[position], page] = await query(ctx, 'nothing_written', (db) =>
    db.batch([findCursorPosition(db, organization, seq), findChanges(db, organization, seq, limit)]),
  );
  const epoch = requireValidCursor(position, organization, cursor);
  const found = page.map((row) => toChange(row, epoch));
  const changes = firstWithin(maxBytes, found);
  const more = changes.length < found.length || found.length === limit;
  return { changes, cursor: changes.at(-1)?.cursor ?? request.cursor, more };
}

/** The first changes that together are not larger as a JSON array, at least one. */
function firstWithin(maxBytes: number, changes: Change[]): Change[] {
  if (maxBytes === Infinity) return changes;
  let bytes = '[]'.length;
  const end = changes.findIndex((change) => {
    bytes += utf8Length(JSON.stringify(change)) + ','.length;
    return bytes > maxBytes;
  });
  return end === -1 ? changes : changes.slice(0, Math.max(1, end));
}

/** A row of the feed as the PSA reads it. @throws DamagedData if its record is not one */
function toChange(row: ChangeRow, epoch: string): Change {
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
    note: note === null ? null : toRecord.note(note, what('note')),
    timeEntry: time_entry === null ? null : toRecord.time_entry(time_entry, what('time entry')),
    key: toKey(row),
  };
}

/** A record as the PSA reads it, from its JSON in the database. `what` names it. @throws DamagedData */
const toRecord = {
  note: (json: string, what: string) => toNote(parseStored(STORED_RECORDS.note, json, what)),
  time_entry: (json: string, what: string) => toTimeEntry(parseStored(STORED_RECORDS.time_entry, json, what)),
};

function toNote(row: StoredRecords['note']): NonNullable<ChangedRecords['note']> {
  return { ...row, createdAt: instant(row.createdAt), message: plain(row.message) };
}

function toTimeEntry({
  hourlyRateMinor,
  ...row
}: StoredRecords['time_entry']): NonNullable<ChangedRecords['timeEntry']> {
  return {
    ...row,
    createdAt: instant(row.createdAt),
    description: plain(row.description),
    billable: row.billable === 1,
    workDate: `${row.workDate}T00:00:00.000Z`,
    hourlyRate: fromMinorUnits(hourlyRateMinor),
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
