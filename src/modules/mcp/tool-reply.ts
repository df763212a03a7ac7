import type { WriteOutcome, WriteTarget } from '../../services/work/write-once.ts';

export interface ToolResult {
  content: { type: 'text'; text: string }[];
  structuredContent: Record<string, unknown>;
  isError?: true;
}

/** A result, and what the HTTP response and the log show of it. */
export interface ToolReply {
  result: ToolResult;
  headers: Readonly<Record<string, string>>;
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
  const headers: Record<string, string> = {
    ...(replayed ? { 'Idempotency-Replayed': 'true' } : {}),
    ...(mismatch ? { 'Idempotency-Mismatch': 'true' } : {}),
  };
  const lost = mismatch ? { lost: target } : {};
  if (isOnOtherTicket) {
    return {
      ...errorReply(
        OTHER_TICKET,
        `This idempotencyKey was used on ticket ${row.ticketId}; nothing was written. If you report another event, use the idempotencyKey of that event. If the ticket was wrong before, tell a person: records cannot be moved.`,
        record,
      ),
      headers,
      ...lost,
    };
  }
  const left =
    delivery?.state === 'refused' ? 'The ticketing system refused it: tell a person.' : 'There is nothing left to do.';
  const text = !replayed
    ? `${sentence}.`
    : mismatch
      ? 'An earlier call with this idempotencyKey wrote this record, from different arguments. It is unchanged, and nothing was written now. Do not call again with another idempotencyKey, unless you report another event.'
      : `An earlier call with this idempotencyKey wrote this record, and nothing was written now. ${left}`;
  return { result: resultOf(text, record), headers, ...lost };
}

/** The reply that reports an error. `text` tells the agent what to correct. */
export function errorReply(code: string, text: string, facts: Record<string, unknown>): ToolReply {
  return { result: { ...resultOf(text, { code, ...facts }), isError: true }, headers: {}, code };
}

/** Text and facts are in both parts, because some clients show only one of them. */
function resultOf(message: string, facts: Record<string, unknown>): ToolResult {
  return {
    content: [{ type: 'text', text: `${message}\n${JSON.stringify(facts)}` }],
    structuredContent: { message, ...facts },
  };
}
