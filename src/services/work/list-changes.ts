import * as z from 'zod';
import { batch } from '../../db/statement.ts';
import { type ChangeRow, type CursorPosition, findChanges, findCursorPosition } from '../../db/work/changes.ts';
import type { RecordRows } from '../../db/work/record-tables.ts';
import { type Change, type ChangedRecords, instant, optionalInstant, plain } from '../../domain/change.ts';
import { type ChangeCursor, formatCursor, parseCursor } from '../../domain/change-cursor.ts';
import { directoryId } from '../../domain/directory.ts';
import { beingErased, ServiceError } from '../../domain/errors.ts';
import { ruleError, strictObject } from '../../domain/fields.ts';
import { fromMinorUnits } from '../../domain/money.ts';
import type { RecordKind } from '../../domain/record-kinds.ts';
import { utf8Length } from '../../lib/bytes.ts';
import { callD1 } from '../call-d1.ts';
import type { ServiceContext } from '../context.ts';
import { parseInput } from '../parse-input.ts';

/** The most changes on one page: well under 32 MiB, the limit of one RPC, even with long texts. */
export const MAX_CHANGES = 100;

/**
 * A page that is sent over HTTP ends before this size, as JSON; a single change is smaller than this
 * even with the longest text.
 */
export const MAX_PAGE_BYTES = 512 * 1024;

export interface ChangesPage {
  changes: Change[];
  /** The cursor to continue from, now or later; null if the organization has no changes. */
  cursor: string | null;
  /** Whether the page has ended before the feed has, so that there may be more. */
  more: boolean;
}

const limitRule = `a whole number from 1 to ${MAX_CHANGES}`;
const cursorRule = 'the cursor of an earlier response, or null to start from the beginning';
/** A cursor from an earlier response, or null. */
export const cursorText = z
  .string({ error: ruleError(cursorRule) })
  .transform((text, context) => {
    const cursor = parseCursor(text);
    if (cursor) return cursor;
    context.addIssue({
      code: 'custom',
      message: ruleError(cursorRule)({ input: text }),
      params: { code: 'invalid_format' },
    });
    return z.NEVER;
  })
  .nullable();
/** The input of `listChanges`. */
export const changesRequest = strictObject({
  organization: directoryId('an organization'),
  cursor: cursorText,
  limit: z
    .int({ error: ruleError(limitRule) })
    .min(1, { error: ruleError(limitRule) })
    .max(MAX_CHANGES, { error: ruleError(limitRule) })
    .default(MAX_CHANGES),
});

/**
 * The next changes of an organization after a cursor, oldest first: every committed row of the
 * audit log, none skipped. A change may be read more than once, so the reader must be idempotent.
 * With `maxBytes`, the page ends before its changes, as JSON in UTF-8, are larger.
 * @throws ServiceError `invalid`, `organization_not_found`, `being_erased`, `cursor_reset` (the
 *   position is not in this database: a backup was restored or the organization erased, so start
 *   again with null), `unavailable`
 */
export async function listChanges(
  ctx: ServiceContext,
  request: z.input<typeof changesRequest>,
  maxBytes = Infinity,
): Promise<ChangesPage> {
  const { organization, cursor, limit } = parseInput(changesRequest, request);
  const after = { organizationId: organization, seq: cursor?.seq ?? 0 };
  // One transaction: the cursor is checked in the same state that the page is read from.
  const [position, page] = await callD1(ctx, 'safe_to_repeat', (db) =>
    batch(db, [findCursorPosition.bind(after), findChanges.bind({ ...after, limit })]),
  );
  const epoch = requireValidCursor(position.results[0], organization, cursor);
  const found = page.results.map((row) => toChange(row, epoch));
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

/**
 * Returns the database's epoch if a cursor into the organization's audit log is valid here.
 * @throws ServiceError `organization_not_found`, `being_erased`, `cursor_reset`
 */
export function requireValidCursor(
  position: CursorPosition | undefined,
  organization: string,
  cursor: ChangeCursor | null,
): string {
  if (!position) throw new Error('the database has no epoch; apply the migrations');
  const { epoch, organizationId, requestId, isBeingErased } = position;
  // Before the cursor is judged: its row may be gone.
  if (isBeingErased === 1) throw beingErased();
  if (cursor && (cursor.epoch !== epoch || (organizationId !== null && cursor.requestId !== requestId))) {
    throw new ServiceError(
      'cursor_reset',
      'The position of the cursor is not in this database, which was restored or replaced; start again with null.',
    );
  }
  if (organizationId === null)
    throw new ServiceError('organization_not_found', `There is no organization ${organization}.`);
  return epoch;
}

function toChange(row: ChangeRow, epoch: string): Change {
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
