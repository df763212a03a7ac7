import type { BoundStatement } from '../../db/statement.ts';
import type { ExplainValues, Explanation, InsertValues, StoredRecord } from '../../db/work/record-table.ts';
import { whyUnauthorized } from '../../domain/api-key.ts';
import { dateIn } from '../../domain/calendar.ts';
import { hasCode, psaNotIncluded, ServiceError, Unauthorized } from '../../domain/errors.ts';
import { echo } from '../../domain/fields.ts';
import type { Principal } from '../../domain/principal.ts';
import { derivedId, timeOrderedId } from '../../domain/record-id.ts';
import { RECORD_KINDS, type RecordKind } from '../../domain/record-kinds.ts';
import { sha256, toHex, utf8Length } from '../../lib/bytes.ts';
import { writeWithAudit } from '../audit/write-with-audit.ts';
import { callD1 } from '../call-d1.ts';
import type { ActorContext } from '../context.ts';
import { toFoundKey } from '../keys/find-key.ts';

/** Reserved to find out, within the deadline, whether a batch without a response was committed. */
const SETTLE_MS = 2_000;
/** The cause may disappear before we read it; then insert again. */
const MAX_ROUNDS = 3;

/** The target of a write. */
export interface WriteTarget {
  ticketId: string;
  idempotencyKey: string | undefined;
}

/** How one kind of record is written. */
export interface RecordWrite<Row> {
  kind: RecordKind;
  /**
   * The validated body. Together with the ticket it decides whether a replay is the same request. A
   * field with a default would turn retries across the deployment that adds it into mismatches.
   */
  body: Record<string, string | number | boolean | undefined>;
  /** The text from the caller, and the minutes worked, as the daily ledger counts them. */
  text: string;
  minutes: number;
  /** `day` is the calendar date of the write in the organization's time zone, `YYYY-MM-DD`. */
  insert: (values: InsertValues, day: string) => BoundStatement<Row>;
  explain: (values: ExplainValues) => BoundStatement<Explanation<Row>>;
}

/** The outcome of a write. `mismatch`: a different request created the record. */
export interface WriteOutcome<Row> {
  row: Row;
  replayed: boolean;
  mismatch: boolean;
}

/**
 * Writes a record and its audit row in one transaction, or finds the record that this
 * Idempotency-Key already created.
 *
 * The insert checks key, plan, ticket and technician again, and the primary key makes it happen at
 * most once, so the database decides the response. The reason is read only if nothing was inserted.
 * @throws Unauthorized; ServiceError `psa_not_included`, `ticket_not_found`,
 *   `technician_not_eligible`, `unavailable`, `outcome_unknown`
 */
export async function writeOnce<Row extends StoredRecord>(
  ctx: ActorContext<Principal>,
  { ticketId, idempotencyKey }: WriteTarget,
  { kind, body, text, minutes, insert, explain }: RecordWrite<Row>,
): Promise<WriteOutcome<Row>> {
  const { organizationId, keyId, keyHash, chainId } = ctx.actor;
  const values = {
    organizationId,
    keyId,
    keyHash,
    id: idempotencyKey === undefined ? timeOrderedId(ctx.now()) : await derivedId(organizationId, kind, idempotencyKey),
    ticketId,
    requestId: ctx.requestId,
    requestDigest: toHex(await sha256(JSON.stringify([ticketId, Object.entries(body).sort()]))),
  };
  const target = { organizationId, actor: { type: 'api_key' as const, id: keyId }, source: ctx.source };
  const audit = { action: `${kind}.created` as const, targetId: values.id, ticket: { id: ticketId }, idempotencyKey };
  const counts = { kind, chainId, minutes, bytes: utf8Length(text) };
  const untilSettling = { ...ctx, deadlineAt: ctx.deadlineAt - SETTLE_MS };
  const outcomeUnknown = (cause: unknown) => unknownOutcome(idempotencyKey !== undefined, cause);

  let { timeZone } = ctx.actor;
  for (let round = 1; round <= MAX_ROUNDS; round++) {
    let attempts = 0;
    let lost: ServiceError | undefined;
    let readOnly: ServiceError | undefined;
    try {
      const [inserted] = await writeWithAudit(untilSettling, target, 'nothing_written', (now) => {
        attempts += 1;
        const day = dateIn(timeZone, now);
        return [{ ...audit, statement: insert({ ...values, now, timeZone }, day), counted: { ...counts, day } }];
      });
      const row = inserted?.results[0];
      if (row) return { row, replayed: false, mismatch: false };
    } catch (err) {
      if (!hasCode(err, 'unavailable')) throw err;
      if (err.database === 'unknown') lost = err;
      // A database that takes no writes can still show that there is nothing to write: a replay, or
      // a key that no longer works.
      else if (err.database === 'read_only') readOnly = err;
      else throw err;
    }

    const found = await callD1(ctx, 'nothing_written', (db) => explain(values).first(db)).catch((err: unknown) => {
      // A retried batch may have inserted nothing because its first attempt was committed.
      throw lost || attempts > 1 ? outcomeUnknown(lost?.cause ?? err) : err;
    });
    const row = found && found.id !== null ? found : undefined;
    // The row of this request: its batch was committed; only the acknowledgement was lost.
    if (row?.requestId === ctx.requestId) return { row, replayed: false, mismatch: false };
    if (lost && !row) throw outcomeUnknown(lost.cause);

    if (!found) throw new Unauthorized('unknown');
    requireWritable(found, kind, ticketId, ctx.now());
    // A redacted record has no digest, so a mismatch can no longer be detected.
    if (row)
      return { row, replayed: true, mismatch: row.requestDigest !== '' && row.requestDigest !== values.requestDigest };
    if (readOnly) throw readOnly;
    timeZone = found.timeZone;
  }
  throw new Error(`nothing prevents ${audit.action}, but nothing was inserted`);
}

/**
 * Throws the reason why a write inserted nothing, in the order of the API's checks. For an existing
 * record, ticket and technician no longer matter.
 */
function requireWritable(found: Explanation<StoredRecord>, kind: RecordKind, ticketId: string, now: number): void {
  const key = toFoundKey(found);
  const reason = whyUnauthorized(key, now, RECORD_KINDS[kind].scope);
  if (reason) throw new Unauthorized(reason, key);
  if (!key.hasPsa) throw psaNotIncluded();
  if (found.id !== null) return;
  if (found.ticketFound === 0) throw ticketNotFound(ticketId);
  if (found.userFound === 0) throw technicianNotEligible();
}

/** The organization has no active ticket with this id. */
export function ticketNotFound(ticketId: string): ServiceError {
  const sent = JSON.stringify(echo(ticketId));
  return new ServiceError('ticket_not_found', `Your organization has no ticket ${sent}; check the id in the path.`);
}

/** The userEmail of a time entry is not that of an active technician. */
export function technicianNotEligible(): ServiceError {
  return new ServiceError(
    'technician_not_eligible',
    'userEmail is not the address of an active technician of your organization; correct it, or omit it to credit the automation service account.',
  );
}

/** The database did not confirm the write, and a second read did not settle whether it happened. */
export function unknownOutcome(retryable: boolean, cause?: unknown): ServiceError {
  const detail = retryable
    ? 'The database did not confirm the write, so the record may exist. Send the same request with the same Idempotency-Key again: it never creates a second record.'
    : 'The database did not confirm the write, so the record may exist. Check the ticket before you send the request again. An Idempotency-Key makes retries safe.';
  return new ServiceError('outcome_unknown', detail, { retryable, cause });
}
