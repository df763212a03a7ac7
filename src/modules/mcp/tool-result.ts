import type { FieldError } from '../../domain/fields.ts';
import type { DryRunResult, ReplayFields } from '../../domain/response-shapes.ts';
import type { ProblemCode } from '../../http/problems.ts';

export interface ToolResult {
  content: { type: 'text'; text: string }[];
  structuredContent: Record<string, unknown>;
  isError?: true;
}

/** The record that a tool wrote, or that an earlier call had written. */
export interface Written {
  id: string;
  /** The written record, in one sentence without its full stop. */
  sentence: string;
  /** Facts about the record, in addition to its id and ticket. */
  facts: Readonly<Record<string, string | number | boolean>>;
}

/** The code of a replay whose record is on another ticket. The other interfaces have no such error. */
const OTHER_TICKET = 'idempotency_key_on_other_ticket';

/** The result of a call whose record exists now: written by this call, or by an earlier one. */
export function writtenResult(
  target: { ticketId: string },
  { id, sentence, facts }: Written,
  { ticketId = target.ticketId, ...marks }: ReplayFields,
): ToolResult {
  const idempotentReplay = marks.idempotentReplay === true;
  const idempotencyMismatch = marks.idempotencyMismatch === true;
  const record = { id, ticketId, ...facts, idempotentReplay, idempotencyMismatch };
  if (!idempotentReplay) return resultOf(`${sentence}.`, record);
  if (ticketId !== target.ticketId) {
    const text = `This idempotencyKey was used on ticket ${ticketId}; nothing was written. If you report another event, use the idempotencyKey of that event. If the ticket was wrong before, tell a person: records cannot be moved.`;
    return errorResult(OTHER_TICKET, text, record);
  }
  const text = idempotencyMismatch
    ? 'An earlier call with this idempotencyKey wrote this record, from different arguments. It is unchanged, and nothing was written now. Do not call again with another idempotencyKey, unless you report another event.'
    : 'An earlier call with this idempotencyKey wrote this record, and nothing was written now. There is nothing left to do.';
  return resultOf(text, record);
}

/** The result of a dry run, with the fields of the API's response. */
export function dryRunResult(facts: DryRunResult): ToolResult {
  const text = facts.idempotentReplay
    ? 'Nothing was written. An earlier call with this idempotencyKey wrote a record, so this call would write nothing without dryRun either. That record may be on another ticket or from other arguments: the call without dryRun tells.'
    : 'Nothing was written. The call passed all checks: to write, send it without dryRun.';
  return resultOf(text, { ...facts });
}

/** The body of a problem. */
export interface ProblemJson {
  code: ProblemCode;
  detail: string;
  requestId: string;
  errors?: FieldError[];
  'violated-policies'?: string[];
}

/** The result of a call that is refused. */
export function problemResult(
  { code, detail, requestId, errors, 'violated-policies': policies }: ProblemJson,
  retryAfter: string | null,
): ToolResult {
  const sentences = errors ? errors.map((error) => error.detail) : [detail];
  return errorResult(code, `${inWordsOfTools(sentences.join('; '))}${ADVICE[code] ?? ''}`, {
    requestId,
    ...(errors && { errors }),
    ...(policies && { 'violated-policies': policies }),
    ...(retryAfter !== null && { retryAfterSeconds: Number(retryAfter) }),
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
function errorResult(code: string, text: string, facts: Record<string, unknown>): ToolResult {
  return { ...resultOf(text, { code, ...facts }), isError: true };
}

/** Text and facts are in both parts, because some clients show only one of them. */
function resultOf(message: string, facts: Record<string, unknown>): ToolResult {
  return {
    content: [{ type: 'text', text: `${message}\n${JSON.stringify(facts)}` }],
    structuredContent: { message, ...facts },
  };
}
