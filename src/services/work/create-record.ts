import type { BoundStatement, Database } from '../../db/query.ts';
import { explainNote, insertNote, type StoredNote } from '../../db/work/note-statements.ts';
import {
  explainServiceTimeEntry,
  explainTechnicianTimeEntry,
  insertServiceTimeEntry,
  insertTechnicianTimeEntry,
  type StoredTimeEntry,
} from '../../db/work/time-entry-statements.ts';
import type { ExplainValues, Explanation, Inserted, InsertValues, StoredRecord } from '../../db/work/write.ts';
import { type Principal, whyUnauthorized } from '../../domain/api-key.ts';
import { dateIn } from '../../domain/calendar.ts';
import { exceededDayLimit, lower, type OwnDayLimit, untilMidnight } from '../../domain/day-limit.ts';
import {
  dailyLimitReached,
  errorOf,
  hasCode,
  idempotencyMismatch,
  type ServiceError,
  ticketNotFound,
  Unauthorized,
  unknownOutcome,
} from '../../domain/errors.ts';
import { derivedId, timeOrderedId } from '../../domain/record-id.ts';
import { type NoteRequest, RECORD_KINDS, type RecordKind, type TimeEntryRequest } from '../../domain/record-kinds.ts';
import { sha256, utf8Length } from '../../lib/bytes.ts';
import { writeWithAudit } from '../audit/write-with-audit.ts';
import { send } from '../call-d1.ts';
import { toFoundKey } from '../keys/find-key.ts';
import type { WriteContext } from '../service-context.ts';
import { awaitTicket } from './await-ticket.ts';

const noteWrite = (body: NoteRequest): RecordWrite<StoredNote> => ({
  kind: 'note',
  body,
  text: body.message,
  minutes: 0,
  insert: (db, values) => insertNote(db, { ...values, message: body.message }),
  explain: explainNote,
});

function timeEntryWrite(body: TimeEntryRequest): RecordWrite<StoredTimeEntry> {
  const { minutes, description } = body;
  const billable: 0 | 1 = body.billable ? 1 : 0;
  const userEmail = body.userEmail ?? undefined;
  return {
    kind: 'time_entry',
    body,
    userEmail,
    text: description,
    minutes,
    insert: (db, values) => {
      const entry = { ...values, description, billable };
      return userEmail === undefined
        ? insertServiceTimeEntry(db, entry)
        : insertTechnicianTimeEntry(db, { ...entry, userEmail });
    },
    explain: (db, values) =>
      userEmail === undefined
        ? explainServiceTimeEntry(db, values)
        : explainTechnicianTimeEntry(db, { ...values, userEmail }),
  };
}

/** Adds an internal note to a ticket. Nothing is ever sent to a customer. @throws as `writeOnce` */
export const createNote = (ctx: WriteContext, target: WriteTarget, body: NoteRequest) =>
  writeOnce(ctx, target, noteWrite(body), 'write');

/**
 * Logs time on a ticket: SUBMITTED, dated today in the organization's time zone, at the rate of the company's active
 * agreement or the organization's default, credited to the named technician or the service account.
 * @throws as `writeOnce`
 */
export const createTimeEntry = (ctx: WriteContext, target: WriteTarget, body: TimeEntryRequest) =>
  writeOnce(ctx, target, timeEntryWrite(body), 'write');

/** The replay that a request to add a note would get, if there is one. A note has no date. @throws as `writeOnce` */
export async function dryRunNote(ctx: WriteContext, target: WriteTarget, body: NoteRequest) {
  const outcome = await writeOnce(ctx, target, noteWrite(body), 'dryRun');
  return 'row' in outcome ? outcome : {};
}

/** The replay that a request to log time would get, or its work date. @throws as `writeOnce` */
export const dryRunTimeEntry = (ctx: WriteContext, target: WriteTarget, body: TimeEntryRequest) =>
  writeOnce(ctx, target, timeEntryWrite(body), 'dryRun');

/**
 * Reserved to find out, within the deadline, whether a batch without a response was committed; half of the rest of the
 * deadline, if that is less.
 */
const SETTLE_MS = 2_000;
/** The cause may disappear before we read it; then insert again. */
const MAX_ROUNDS = 3;
/** An adapter reports every minute. */
const REPORTED_MS = 2 * 60_000;
/** After this time, an adapter that works has sent a new ticket. */
const TICKET_RETRY_MS = 10_000;

export interface WriteTarget {
  ticketId: string;
  idempotencyKey: string | undefined;
}

interface RecordWrite<Row> {
  kind: RecordKind;
  /**
   * The validated body. Together with the ticket it decides whether a replay is the same request. Do not add a field with
   * a default: a retry from before that deployment would become a mismatch.
   */
  body: Record<string, string | number | boolean | null | undefined>;
  /** The text from the caller, and the minutes worked, as the daily ledger counts them. */
  text: string;
  minutes: number;
  /** The technician that the request names. */
  userEmail?: string | undefined;
  insert: (db: Database, values: InsertValues) => BoundStatement<Row & Inserted>;
  explain: (db: Database, values: ExplainValues) => BoundStatement<Explanation<Row>>;
}

/** The outcome of a write. `mismatch`: a different request created the record. */
export interface WriteOutcome<Row> {
  row: Row;
  replayed: boolean;
  mismatch: boolean;
}

/** Identifies a request: the SHA-256 in hex of its ticket and its body. A field that is null is as if it were left out. */
async function digestOf(ticketId: string, body: RecordWrite<never>['body']): Promise<string> {
  const fields = Object.entries(body).filter(([, value]) => value !== undefined && value !== null);
  return (await sha256(JSON.stringify([ticketId, fields.sort()]))).toHex();
}

/** `write` inserts the record. `dryRun` inserts nothing, and tells what a write would get now. */
type Mode = 'write' | 'dryRun';

/** The outcome of a dry run if nothing prevents the write: the work date that it would get. */
interface Accepted {
  workDate: string;
}

/**
 * Writes a record and its audit row in one transaction, or finds the record that this Idempotency-Key already created.
 *
 * The insert checks key, plan, ticket and technician again, and the primary key makes it happen at most once, so the
 * database decides the response. The reason is read only if nothing was inserted.
 * @throws Unauthorized; ServiceError `psa_not_included`, `daily_limit_reached`, `ticket_not_found`,
 *   `technician_not_eligible`, `outcome_unknown`
 */
function writeOnce<Row extends StoredRecord>(
  ctx: WriteContext,
  target: WriteTarget,
  record: RecordWrite<Row>,
  mode: 'write',
): Promise<WriteOutcome<Row>>;
function writeOnce<Row extends StoredRecord>(
  ctx: WriteContext,
  target: WriteTarget,
  record: RecordWrite<Row>,
  mode: 'dryRun',
): Promise<WriteOutcome<Row> | Accepted>;
async function writeOnce<Row extends StoredRecord>(
  ctx: WriteContext,
  target: WriteTarget,
  record: RecordWrite<Row>,
  mode: Mode,
): Promise<WriteOutcome<Row> | Accepted> {
  const write = { ...record, target, values: await valuesOf(ctx, target, record) };
  const run = () => tryWrite(ctx, write, mode);
  // A caller that gives up during the wait sends the request again: without an Idempotency-Key, both would write.
  if (mode === 'write' && target.idempotencyKey === undefined) return run();
  return awaitTicket(ctx, { run, look: () => tryWrite(ctx, write, 'dryRun') });
}

async function tryWrite<Row extends StoredRecord>(
  ctx: WriteContext,
  write: Write<Row>,
  mode: Mode,
): Promise<WriteOutcome<Row> | Accepted> {
  const { target } = write;
  let key: KeyState = ctx.actor;
  for (let round = 1; round <= MAX_ROUNDS; round++) {
    const tried = mode === 'write' ? await sendWrite(ctx, write, key) : { day: dateIn(key.timeZone, ctx.now()) };
    const { day, inserted, unknown, readOnly } = tried;
    if (inserted) {
      ctx.onDecided();
      showDayUse(ctx, inserted.chainRecords + 1, key.dayLimit, untilMidnight(day, key.timeZone, ctx.now()));
      return { row: inserted, replayed: false, mismatch: false };
    }

    const asked = { ...write.values, day };
    const [found] = await send(ctx, 'nothing_written', (db) => write.explain(db, asked)).catch((err: unknown) => {
      throw unknown ? unknownOutcome(target, unknown.cause ?? err) : err;
    });
    // The actor may be from a cache or a replica; the response shows the key as the primary has it.
    ctx.onDecided(found ? toFoundKey(found) : undefined);
    const row = found && found.id !== null ? found : undefined;
    // The row of this request: its batch was committed; only the acknowledgement was lost.
    if (row?.requestId === ctx.requestId) {
      const { dayLimit } = toFoundKey(row);
      showDayUse(ctx, row.chainRecords, dayLimit, untilMidnight(day, key.timeZone, ctx.now()));
      return { row, replayed: false, mismatch: false };
    }
    if (unknown?.isLost && !row) throw unknownOutcome(target, unknown.cause);

    if (!found) throw new Unauthorized('unknown');
    const outcome = whyNotInserted(ctx, write, found, { day, timeZone: key.timeZone });
    if (outcome) return outcome;
    if (mode === 'dryRun' && found.timeZone === key.timeZone) return { workDate: day };
    if (readOnly) throw readOnly;
    // All are checked now, and the next round requires them.
    key = toFoundKey(found);
  }
  throw new Error(`nothing prevents a new ${write.kind}, but nothing was inserted`);
}

/** The parts of the key that an insert requires to be those that were checked. */
type KeyState = Pick<Principal, 'timeZone' | 'allowedNetworks' | 'expiresAt' | 'dayLimit'>;

interface Write<Row> extends RecordWrite<Row> {
  target: WriteTarget;
  values: Awaited<ReturnType<typeof valuesOf>>;
}

/** What all statements of a write have in common. */
async function valuesOf(
  ctx: WriteContext,
  { ticketId, idempotencyKey }: WriteTarget,
  { kind, body, text, minutes }: Pick<RecordWrite<never>, 'kind' | 'body' | 'text' | 'minutes'>,
) {
  const { actor, dayLimits, requestId } = ctx;
  const { organizationId, keyId, keyHash, chainId } = actor;
  return {
    organizationId,
    keyId,
    keyHash,
    id: idempotencyKey === undefined ? timeOrderedId(ctx.now()) : await derivedId(organizationId, kind, idempotencyKey),
    ticketId,
    chainId,
    minutes,
    bytes: utf8Length(text),
    keyDayRecords: dayLimits.key?.records ?? null,
    keyDayBytes: dayLimits.key?.bytes ?? null,
    organizationDayRecords: dayLimits.organization?.records ?? null,
    organizationDayBytes: dayLimits.organization?.bytes ?? null,
    requestId,
    requestDigest: await digestOf(ticketId, body),
  };
}

/** What became of the batch of a write. */
interface Tried<Row> {
  /** The day that it was for. */
  day: string;
  inserted?: (Row & Inserted) | undefined;
  /** It may have been committed without a response: its only one (`isLost`), or that of an earlier attempt. */
  unknown?: { isLost: boolean; cause?: unknown } | undefined;
  /** The database takes no writes. It can still show a replay, or a key that no longer works. */
  readOnly?: ServiceError;
}

/** Sends the batch of a write. @throws ServiceError `unavailable` if it was not run */
async function sendWrite<Row extends StoredRecord>(
  ctx: WriteContext,
  { target: { ticketId, idempotencyKey }, values, kind, minutes, insert }: Write<Row>,
  { timeZone, allowedNetworks, expiresAt, dayLimit }: KeyState,
): Promise<Tried<Row>> {
  const { organizationId, keyId, chainId, bytes, id } = values;
  const actor = { type: 'api_key' as const, id: keyId };
  const left = ctx.deadlineAt - Date.now();
  const untilSettling = { ...ctx, deadlineAt: ctx.deadlineAt - Math.min(SETTLE_MS, left / 2) };
  let day = dateIn(timeZone, ctx.now());
  let attempts = 0;
  const batch = (db: Database, now: number) => {
    attempts += 1;
    day = dateIn(timeZone, now);
    const key = { timeZone, allowedNetworks, expiresAt, dayLimitRecords: dayLimit.records };
    return [
      {
        action: `${kind}.created` as const,
        targetId: id,
        ticket: { id: ticketId },
        idempotencyKey,
        statement: insert(db, { ...values, ...key, now, day }),
        counted: { kind, chainId, day, minutes, bytes },
      },
    ];
  };
  try {
    const audit = { organizationId, actor, source: ctx.source };
    const [result] = await writeWithAudit(untilSettling, audit, 'nothing_written', batch);
    // A batch that was sent again inserts nothing if its first attempt was committed.
    return { day, inserted: result?.results[0], unknown: attempts > 1 ? { isLost: false } : undefined };
  } catch (err) {
    if (!hasCode(err, 'unavailable')) throw err;
    if (err.info.database === 'unknown') return { day, unknown: { isLost: true, cause: err.cause } };
    if (err.info.database !== 'read_only') throw err;
    return { day, readOnly: err, unknown: attempts > 1 ? { isLost: false } : undefined };
  }
}

/**
 * Why nothing was inserted on that day: the outcome is the record that was there, and a refusal is thrown. Undefined if
 * nothing prevents the write now, or if the organization's day is another one since its time zone was changed.
 */
function whyNotInserted<Row extends StoredRecord>(
  ctx: WriteContext,
  { target, values, kind, userEmail }: Write<Row>,
  found: Explanation<Row>,
  { day, timeZone }: { day: string; timeZone: string },
): WriteOutcome<Row> | undefined {
  const key = requireKey(ctx, found, kind);
  const isSameZone = found.timeZone === timeZone;
  // One reading of the clock: Retry-After must not be earlier than the end of the day.
  const resetMs = untilMidnight(day, timeZone, ctx.now());
  if (isSameZone) showDayUse(ctx, found.chainRecords, key.dayLimit, resetMs);
  const noTicket = () => ticketNotFound(target.ticketId, missingTicket(found, ctx.now()));
  if (found.id !== null) {
    if (found.fromOwnChain === 0) {
      if (found.ticketFound === 0) throw noTicket();
      // Nothing of a record on a ticket of another company is shown.
      if (found.recordAdmitted === 0) throw idempotencyMismatch(target);
    }
    // A redacted record has no digest, so a mismatch can no longer be detected.
    const mismatch = found.requestDigest !== '' && found.requestDigest !== values.requestDigest;
    return { row: found, replayed: true, mismatch };
  }
  if (isSameZone) {
    const exceeded = exceededDayLimit(ctx.dayLimits, key.dayLimit, found, values);
    if (exceeded) throw dailyLimitReached(exceeded, timeZone, resetMs);
  }
  if (found.ticketFound === 0) throw noTicket();
  if (found.userFound === 0) throw errorOf('technician_not_eligible', { userEmail });
  return undefined;
}

/** Whether the ticket exists, for the administrators, and when to try again: the same whatever the reason is. */
const missingTicket = ({ otherCompany, connectedAt }: Explanation<StoredRecord>, now: number) => ({
  isOfOtherCompany: otherCompany === 1,
  retryAfterMs: connectedAt !== null && now - connectedAt <= REPORTED_MS ? TICKET_RETRY_MS : undefined,
});

/** Shows in the RateLimit header how much of its limit of records the key has used on that day. */
function showDayUse({ dayLimits, onKeyDay }: WriteContext, used: number, own: OwnDayLimit, resetMs: number): void {
  const quota = lower(dayLimits.key?.records, own.records);
  if (quota !== null) onKeyDay({ quota, used, resetMs });
}

/** The key, if it may still write. @throws Unauthorized; ServiceError `psa_not_included` */
function requireKey({ now, source: { address } }: WriteContext, found: Explanation<StoredRecord>, kind: RecordKind) {
  const key = toFoundKey(found);
  const reason = whyUnauthorized(key, { now: now(), address, scope: RECORD_KINDS[kind].scope });
  if (reason) throw new Unauthorized(reason, key);
  if (!key.hasPsa) throw errorOf('psa_not_included');
  return key;
}
