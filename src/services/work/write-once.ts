import type { BoundStatement } from '../../db/statement.ts';
import type { ExplainValues, Explanation, Inserted, InsertValues, StoredRecord } from '../../db/work/record-table.ts';
import { type Principal, whyUnauthorized } from '../../domain/api-key.ts';
import { dateIn } from '../../domain/calendar.ts';
import {
  type ExceededDayLimit,
  exceededDayLimit,
  lower,
  type OwnDayLimit,
  untilMidnight,
} from '../../domain/day-limit.ts';
import { deliveryOf } from '../../domain/delivery.ts';
import { errorOf, hasCode, ServiceError, Unauthorized } from '../../domain/errors.ts';
import { echo } from '../../domain/fields.ts';
import { derivedId, timeOrderedId } from '../../domain/record-id.ts';
import { RECORD_KINDS, type RecordKind } from '../../domain/record-kinds.ts';
import type { Delivery } from '../../domain/response-shapes.ts';
import { sha256, utf8Length } from '../../lib/bytes.ts';
import { writeWithAudit } from '../audit/write-with-audit.ts';
import { readOne } from '../call-d1.ts';
import { toFoundKey } from '../keys/find-key.ts';
import type { WriteContext } from '../service-context.ts';

/** Reserved to find out, within the deadline, whether a batch without a response was committed. */
const SETTLE_MS = 2_000;
/** The cause may disappear before we read it; then insert again. */
const MAX_ROUNDS = 3;

export interface WriteTarget {
  ticketId: string;
  idempotencyKey: string | undefined;
}

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
  insert: (values: InsertValues) => BoundStatement<Row & Inserted>;
  explain: (values: ExplainValues) => BoundStatement<Explanation<Row>>;
}

/**
 * The outcome of a write. `mismatch`: a different request created the record. `delivery`: whether the PSA has it, in a
 * replay for the rotation chain that wrote it.
 */
export interface WriteOutcome<Row> {
  row: Row;
  replayed: boolean;
  mismatch: boolean;
  delivery?: Delivery | undefined;
}

/** Identifies a request: the SHA-256 in hex of its ticket and its body. */
const digestOf = async (ticketId: string, body: object): Promise<string> =>
  (await sha256(JSON.stringify([ticketId, Object.entries(body).sort()]))).toHex();

/**
 * Writes a record and its audit row in one transaction, or finds the record that this Idempotency-Key already created.
 *
 * The insert checks key, plan, ticket and technician again, and the primary key makes it happen at most once, so the
 * database decides the response. The reason is read only if nothing was inserted.
 *
 * With `accepted`, it is a dry run: nothing is inserted. If nothing prevents the write on that day, it returns what
 * `accepted` returns.
 * @throws Unauthorized; ServiceError `psa_not_included`, `daily_limit_reached`, `ticket_not_found`,
 *   `technician_not_eligible`, `outcome_unknown`
 */
export async function writeOnce<Row extends StoredRecord, Accepted = never>(
  ctx: WriteContext,
  { ticketId, idempotencyKey }: WriteTarget,
  { kind, body, text, minutes, insert, explain }: RecordWrite<Row>,
  accepted?: (day: string) => Accepted,
): Promise<WriteOutcome<Row> | Accepted> {
  const { organizationId, keyId, keyHash, chainId } = ctx.actor;
  const { dayLimits } = ctx;
  const values = {
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
    requestId: ctx.requestId,
    requestDigest: await digestOf(ticketId, body),
  };
  const target = { organizationId, actor: { type: 'api_key' as const, id: keyId }, source: ctx.source };
  const audit = {
    action: `${kind}.created` as const,
    targetId: values.id,
    ticket: { id: ticketId },
    idempotencyKey,
  };
  const untilSettling = { ...ctx, deadlineAt: ctx.deadlineAt - SETTLE_MS };
  const outcomeUnknown = (cause: unknown) => unknownOutcome(idempotencyKey !== undefined, cause);

  let { timeZone, allowedNetworks, expiresAt, dayLimit }: Principal = ctx.actor;
  let day = dateIn(timeZone, ctx.now());
  const report = (used: number, own: OwnDayLimit, resetMs = untilMidnight(day, timeZone, ctx.now())) => {
    const quota = lower(dayLimits.key?.records, own.records);
    if (quota !== null) ctx.onKeyDay({ quota, used, resetMs });
  };
  for (let round = 1; round <= MAX_ROUNDS; round++) {
    let attempts = 0;
    let lost: ServiceError | undefined;
    let readOnly: ServiceError | undefined;
    if (!accepted)
      try {
        const [inserted] = await writeWithAudit(untilSettling, target, 'nothing_written', (now) => {
          attempts += 1;
          day = dateIn(timeZone, now);
          const key = { timeZone, allowedNetworks, expiresAt, dayLimitRecords: dayLimit.records };
          const statement = insert({ ...values, ...key, now, day });
          return [{ ...audit, statement, counted: { kind, chainId, day, minutes, bytes: values.bytes } }];
        });
        const row = inserted?.results[0];
        if (row) {
          report(row.chainRecords + 1, dayLimit);
          return { row, replayed: false, mismatch: false };
        }
      } catch (err) {
        if (!hasCode(err, 'unavailable')) throw err;
        if (err.info.database === 'unknown') lost = err;
        // A database that takes no writes can still show that there is nothing to write: a replay, or
        // a key that no longer works.
        else if (err.info.database === 'read_only') readOnly = err;
        else throw err;
      }

    const found = await readOne(ctx, explain({ ...values, day })).catch((err: unknown) => {
      // A retried batch may have inserted nothing because its first attempt was committed.
      throw lost || attempts > 1 ? outcomeUnknown(lost?.cause ?? err) : err;
    });
    // The actor may be from a cache or a replica; the response shows the key as the primary has it.
    if (found) ctx.onKey(toFoundKey(found));
    const row = found && found.id !== null ? found : undefined;
    // The row of this request: its batch was committed; only the acknowledgement was lost.
    if (row?.requestId === ctx.requestId) {
      report(row.chainRecords, toFoundKey(row).dayLimit);
      return { row, replayed: false, mismatch: false };
    }
    if (lost && !row) throw outcomeUnknown(lost.cause);

    if (!found) throw new Unauthorized('unknown');
    const key = requireKey(ctx, found, kind);
    // After a change of the zone the day is another one, and the next round writes on that.
    const isSameZone = found.timeZone === timeZone;
    // One reading of the clock: Retry-After must not be earlier than the end of the day.
    const resetMs = untilMidnight(day, timeZone, ctx.now());
    if (isSameZone) report(found.chainRecords, key.dayLimit, resetMs);
    if (row?.fromOwnChain === 0) {
      if (found.ticketFound === 0) throw ticketNotFound(ticketId, found.otherCompany === 1);
      // Nothing of a record on a ticket of another company is shown.
      if (row.recordAdmitted === 0) throw idempotencyMismatch({ ticketId, idempotencyKey });
    }
    // A redacted record has no digest, so a mismatch can no longer be detected.
    if (row) {
      const mismatch = row.requestDigest !== '' && row.requestDigest !== values.requestDigest;
      return { row, replayed: true, mismatch, delivery: deliveryOf(row, ctx.changed !== undefined) };
    }
    if (isSameZone) {
      const exceeded = exceededDayLimit(dayLimits, key.dayLimit, found, values);
      if (exceeded) throw dailyLimitReached(exceeded, timeZone, resetMs);
    }
    if (found.ticketFound === 0) throw ticketNotFound(ticketId, found.otherCompany === 1);
    if (found.userFound === 0) throw errorOf('technician_not_eligible');
    if (accepted && isSameZone) return accepted(day);
    if (readOnly) throw readOnly;
    // All are checked now, and the next round requires them.
    ({ timeZone, allowedNetworks, expiresAt, dayLimit } = key);
    day = dateIn(timeZone, ctx.now());
  }
  throw new Error(`nothing prevents ${audit.action}, but nothing was inserted`);
}

/** The key, if it may still write. @throws Unauthorized; ServiceError `psa_not_included` */
function requireKey({ now, source: { address } }: WriteContext, found: Explanation<StoredRecord>, kind: RecordKind) {
  const key = toFoundKey(found);
  const reason = whyUnauthorized(key, { now: now(), address, scope: RECORD_KINDS[kind].scope });
  if (reason) throw new Unauthorized(reason, key);
  if (!key.hasPsa) throw errorOf('psa_not_included');
  return key;
}

const MEASURES: Record<ExceededDayLimit['what'], (amount: number) => string> = {
  records: (amount) => `${amount} new ${amount === 1 ? 'record' : 'records'}`,
  minutes: (amount) => `${amount} minutes`,
  bytes: (amount) => `${amount / 1_000_000} MB of text`,
};

export function dailyLimitReached(
  { name, what, limit, used, added }: ExceededDayLimit,
  timeZone: string,
  retryAfterMs: number,
): ServiceError {
  const whose = name === 'key-day' ? 'This key' : 'Your organization';
  const isTooLarge = added > limit;
  const rest = used < limit ? ', and this record would exceed it' : '';
  const why = isTooLarge ? `, and this record alone has ${MEASURES[what](added)}` : rest;
  const remedy = isTooLarge
    ? 'Write less, or ask an administrator for a higher limit.'
    : `Send the same request with the same Idempotency-Key after midnight (${timeZone}), or ask an administrator.`;
  const detail = `${whose} may write ${MEASURES[what](limit)} a day${why}; nothing was written. ${remedy}`;
  return new ServiceError('daily_limit_reached', detail, { dayLimit: { name, retryAfterMs } });
}

/** The same for a ticket that does not exist and for one of a company that the key is not for. */
export function ticketNotFound(ticketId: string, isOfOtherCompany = false): ServiceError {
  const sent = JSON.stringify(echo(ticketId));
  const detail = `There is no ticket ${sent} that this key may write to. Check the ticket id; a new ticket may become known here within two minutes.`;
  return new ServiceError('ticket_not_found', detail, { isOfOtherCompany });
}

/** A different request used the Idempotency-Key, for a record on the ticket `existing`, if the key may know that. */
export function idempotencyMismatch(lostWrite: WriteTarget, existing = lostWrite.ticketId): ServiceError {
  const where = existing === lostWrite.ticketId ? '' : ` on ticket ${existing}`;
  const detail = `A different request${where} used this Idempotency-Key before, so nothing was written. Check that it identifies one event, and send another event with its own Idempotency-Key.`;
  return new ServiceError('idempotency_mismatch', detail, { lostWrite });
}

/** The database did not confirm the write, and a second read did not settle whether it happened. */
export function unknownOutcome(retryable: boolean, cause?: unknown): ServiceError {
  const detail = retryable
    ? 'The database did not confirm the write, so the record may exist. Send the same request with the same Idempotency-Key again: it never creates a second record.'
    : 'The database did not confirm the write, so the record may exist. Check the ticket before you send the request again. An Idempotency-Key makes retries safe.';
  return new ServiceError('outcome_unknown', detail, { retryable, cause });
}
