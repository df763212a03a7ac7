import { auditKeyWrite } from '../../db/audit/audit-row.ts';
import { callD1, D1Failure } from '../../db/client.ts';
import type { ExplainValues, Explanation, InsertValues } from '../../db/statements.ts';
import { type Scope, whyUnauthorized } from '../../domain/api-key.ts';
import { sha256, toHex } from '../../lib/bytes.ts';
import { echo } from '../../domain/fields.ts';
import { derivedId, type RecordKind, timeOrderedId } from '../../domain/record-id.ts';
import { OutcomeUnknown, psaNotIncluded, Refusal, Unauthorized } from '../../domain/errors.ts';
import { toFoundKey } from '../keys/find-key.ts';
import type { ApiContext } from '../context.ts';
import { unavailable } from '../unavailable.ts';

/** Kept back from the deadline for finding out whether a batch without an answer was committed. */
const SETTLE_MS = 2_000;
/** Between a refused insert and the question why, the reason may have gone; then the insert is tried again. */
const MAX_ROUNDS = 3;

/** Of every record: what tells one's own row from a replay, and a replay of another request. */
interface StoredRecord {
  id: string;
  ticketId: string;
  requestId: string;
  requestDigest: string;
}

/** What a write is addressed to. */
export interface WriteTarget {
  ticketId: string;
  idempotencyKey: string | undefined;
}

/** A write that is to happen at most once. */
export interface WriteRequest extends WriteTarget {
  kind: RecordKind;
  scope: Scope;
  /** The validated body: with the ticket, what a replay is compared by. */
  body: Record<string, string | number | boolean | undefined>;
}

/** The two statements that differ by kind of record. */
export interface WriteStatements {
  insert: (values: InsertValues, timeZone: string) => D1PreparedStatement;
  explain: (values: ExplainValues) => D1PreparedStatement;
}

/** What came of a write. A replay that differs from the request that made the record names the record's ticket. */
export interface Written<Row> {
  row: Row;
  replayed: boolean;
  mismatch: boolean;
}

/**
 * Writes a record and its audit row in one transaction, or finds the record that this Idempotency-Key already made.
 *
 * The insert itself re-checks key, plan, ticket and technician, and the primary key makes it happen at most once: what the database
 * decided is the answer. Only when it inserted nothing is it asked why.
 * @throws Unauthorized, Refusal
 */
export async function writeOnce<Row extends StoredRecord>(
  ctx: ApiContext,
  request: WriteRequest,
  statements: WriteStatements,
): Promise<Written<Row>> {
  const { principal } = ctx;
  const { ticketId, idempotencyKey } = request;
  const values = {
    organizationId: principal.organizationId,
    keyId: principal.keyId,
    id: idempotencyKey === undefined ? timeOrderedId(ctx.now()) : await derivedId(principal.organizationId, request.kind, idempotencyKey),
    ticketId,
    requestId: ctx.requestId,
    requestDigest: toHex(await sha256(JSON.stringify([ticketId, Object.entries(request.body).sort()]))),
  };
  const audit = {
    ...values,
    action: `${request.kind}.created`,
    targetId: values.id,
    idempotencyKey: idempotencyKey ?? null,
    sourceAddress: ctx.source.address,
    userAgent: ctx.source.userAgent,
  };

  let timeZone = principal.timeZone;
  let sent = 0;
  const insert = async () => {
    const now = ctx.now();
    sent += 1;
    const [inserted] = await ctx.db.batch<Row>([
      statements.insert({ ...values, now }, timeZone),
      auditKeyWrite.bind(ctx.db, { ...audit, now }),
    ]);
    return inserted?.results[0];
  };
  const explain = () => statements.explain(values).first<Explanation<Row>>();

  for (let round = 1; round <= MAX_ROUNDS; round++) {
    let lost: D1Failure | undefined;
    let refused: D1Failure | undefined;
    sent = 0;
    try {
      const row = await callD1({ calls: ctx.calls, deadlineAt: ctx.deadlineAt - SETTLE_MS }, insert);
      if (row) return { row, replayed: false, mismatch: false };
    } catch (err) {
      if (!(err instanceof D1Failure)) throw err;
      if (err.kind === 'unknown') lost = err;
      // A database that takes no writes can still say that there is nothing to write: a replay, or a dead key.
      else if (err.kind === 'read_only') refused = err;
      else throw unavailable(err);
    }

    const found = await callD1(ctx, explain).catch((err: unknown) => {
      // A batch that was sent again found nothing to insert perhaps because its first sending had been committed.
      throw lost || sent > 1 ? new OutcomeUnknown(idempotencyKey !== undefined, lost ?? err) : unavailable(err);
    });
    const row = found && found.id !== null ? found : undefined;
    // The row of this very request: its batch was committed, only the acknowledgement was lost.
    if (row?.requestId === ctx.requestId) return { row, replayed: false, mismatch: false };
    if (lost && !row) throw new OutcomeUnknown(idempotencyKey !== undefined, lost);

    if (!found) throw new Unauthorized('unknown');
    const refusal = whyRefused(found, request, ctx.now());
    if (refusal) throw refusal;
    // A redacted record has no digest: nobody can tell any more what was asked for.
    if (row) return { row, replayed: true, mismatch: row.requestDigest !== '' && row.requestDigest !== values.requestDigest };
    if (refused) throw unavailable(refused);
    timeZone = found.timeZone;
  }
  throw new Error(`nothing stands in the way of ${audit.action}, yet nothing was inserted`);
}

/** The reason why a write inserts nothing, in the order in which the API checks; a record that is there already outranks the rest. */
function whyRefused(
  found: Explanation<StoredRecord>,
  { kind, scope, ticketId }: WriteRequest,
  now: number,
): Unauthorized | Refusal | undefined {
  const key = toFoundKey(found);
  const reason = whyUnauthorized(key, now, scope);
  if (reason) return new Unauthorized(reason, key);
  if (!key.hasPsa) return psaNotIncluded();
  if (found.id !== null) return undefined;
  if (found.foundTicket === null)
    return new Refusal(
      'ticket_not_found',
      `Your organization has no ticket ${JSON.stringify(echo(ticketId))}; check the id in the address.`,
    );
  if (kind === 'time_entry' && found.foundUser === null) {
    return new Refusal(
      'technician_not_eligible',
      'userEmail is not the address of an active technician of your organization; correct it, or leave it out to credit the automation service account.',
    );
  }
  return undefined;
}
