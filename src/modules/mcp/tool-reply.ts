import type { Problem, ProblemCode } from '../../http/problems.ts';
import type { WriteOutcome, WriteTarget } from '../../services/work/write-once.ts';

export interface ToolResult {
  content: { type: 'text'; text: string }[];
  structuredContent: Record<string, unknown>;
  isError?: true;
}

/** A result, and what the HTTP response and the log show of it. */
export interface ToolReply {
  result: ToolResult;
  headers?: Readonly<Record<string, string>>;
  code?: string;
  /** The write that created nothing, because an earlier call had its Idempotency-Key. */
  lost?: WriteTarget;
}

/** The record that a tool wrote, or that an earlier call had written. */
export interface Written<Row> {
  outcome: WriteOutcome<Row>;
  /** The written record, in one sentence without its full stop. */
  sentence: string;
  /** Facts about the record, in addition to its id and ticket. */
  facts: Readonly<Record<string, string | number | boolean>>;
}

/** The code of a replay whose record is on another ticket. The other interfaces have no such error. */
const OTHER_TICKET = 'idempotency_key_on_other_ticket';

/** The reply to a call whose record exists now: written by this call, or by an earlier one. */
export function writtenReply(
  target: WriteTarget,
  { outcome, sentence, facts }: Written<{ id: string; ticketId: string }>,
): ToolReply {
  const { row, replayed, delivery } = outcome;
  const isOnOtherTicket = row.ticketId !== target.ticketId;
  const mismatch = outcome.mismatch || isOnOtherTicket;
  const record = {
    id: row.id,
    ticketId: row.ticketId,
    ...facts,
    idempotentReplay: replayed,
    idempotencyMismatch: mismatch,
    ...(delivery && { delivery }),
  };
  const marks = {
    headers: {
      ...(replayed && { 'Idempotency-Replayed': 'true' }),
      ...(mismatch && { 'Idempotency-Mismatch': 'true' }),
    },
    ...(mismatch && { lost: target }),
  };
  if (!replayed) return { result: resultOf(`${sentence}.`, record), ...marks };
  if (isOnOtherTicket) {
    const text = `This idempotencyKey was used on ticket ${row.ticketId}; nothing was written. If you report another event, use the idempotencyKey of that event. If the ticket was wrong before, tell a person: records cannot be moved.`;
    return { ...errorReply(OTHER_TICKET, text, record), ...marks };
  }
  const left =
    delivery?.state === 'refused' ? 'The ticketing system refused it: tell a person.' : 'There is nothing left to do.';
  const text = mismatch
    ? 'An earlier call with this idempotencyKey wrote this record, from different arguments. It is unchanged, and nothing was written now. Do not call again with another idempotencyKey, unless you report another event.'
    : `An earlier call with this idempotencyKey wrote this record, and nothing was written now. ${left}`;
  return { result: resultOf(text, record), ...marks };
}

/** The reply to a call that is refused. */
export function problemReply({ code, detail, extras }: Problem, requestId: string): ToolReply {
  const { errors } = extras.members ?? {};
  const sentences = errors ? errors.map((error) => error.detail) : [detail];
  const wait = extras.headers?.['Retry-After'];
  return errorReply(code, `${inWordsOfTools(sentences.join('; '))}${ADVICE[code] ?? ''}`, {
    requestId,
    ...extras.members,
    ...(wait === undefined ? {} : { retryAfterSeconds: Number(wait) }),
  });
}

/** The details of the REST interface name a header and a body. */
function inWordsOfTools(detail: string): string {
  return detail
    .replaceAll('Idempotency-Key', 'idempotencyKey')
    .replaceAll('The body', 'The arguments')
    .replace(', or was sent more than once', '')
    .replace('send the request again after', 'wait');
}

/** The next step for an agent, appended to the detail of a problem. */
const ADVICE: Partial<Record<ProblemCode, string>> = {
  validation_failed: '. Nothing was written: correct the arguments and call again.',
  invalid_idempotency_key: ' Nothing was written.',
  ticket_not_found: ' Nothing was written; the idempotencyKey is still unused.',
  technician_not_eligible: ' Nothing was written; the idempotencyKey is still unused.',
  rate_limited: ' Nothing was written. After that, call again with the same idempotencyKey.',
  internal_error: ' The record may exist: call again with the same idempotencyKey and the same arguments.',
  unavailable: ' Call again after retryAfterSeconds.',
  outcome_unknown: ' Call again after retryAfterSeconds.',
};

/** `text` tells the agent what to correct. */
function errorReply(code: string, text: string, facts: Record<string, unknown>): ToolReply {
  return { result: { ...resultOf(text, { code, ...facts }), isError: true }, code };
}

/** Text and facts are in both parts, because some clients show only one of them. */
function resultOf(message: string, facts: Record<string, unknown>): ToolResult {
  return {
    content: [{ type: 'text', text: `${message}\n${JSON.stringify(facts)}` }],
    structuredContent: { message, ...facts },
  };
}
