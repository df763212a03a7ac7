import { env } from 'cloudflare:workers';
import { inconsistencies } from '../../support/ledger.ts';
import { callTool, type ToolResult } from '../../support/tools.ts';
import { makeApi, makeKey, makeOrganization, TIME, UNLIMITED } from '../../support/world.ts';

type Api = ReturnType<typeof makeApi>;

/** The interfaces that a write with an Idempotency-Key can be sent to. */
export const INTERFACES: ('REST' | 'MCP')[] = callTool ? ['REST', 'MCP'] : ['REST'];

/** An organization with a key of its own. */
export async function makeWorld() {
  const organization = await makeOrganization();
  const { value: key } = await makeKey(organization);
  return { organization, key };
}

/**
 * One request to write. No other request has its text, except for repeats under its
 * Idempotency-Key.
 */
export interface Write {
  kind: 'note' | 'time entry';
  /** The interface it is sent to; REST by default. A call of a tool has an Idempotency-Key. */
  through?: (typeof INTERFACES)[number];
  idempotencyKey: string | undefined;
  text: string;
}

/** Sends a write, to an unknown ticket or with an invalid body if that is asked for. */
export function send(
  api: Api,
  key: string,
  { kind, idempotencyKey, text, through }: Write,
  { unknownTicket = false, invalidBody = false } = {},
): Promise<Response> {
  const ticket = unknownTicket ? '9999' : '1001';
  const headers = {
    // All requests have one address, because each address has a limiter object of its own.
    'CF-Connecting-IP': '192.0.2.1',
    ...(idempotencyKey === undefined ? {} : { 'Idempotency-Key': idempotencyKey }),
  };
  const extra = invalidBody ? { minutes: 0 } : {};
  if (callTool && through === 'MCP') {
    const [name, body] =
      kind === 'note'
        ? (['add_internal_note', { message: text }] as const)
        : (['log_time', { ...TIME, description: text }] as const);
    const args = { ticketId: ticket, ...body, ...extra, idempotencyKey };
    return callTool(api, key, name, args, { 'CF-Connecting-IP': '192.0.2.1' });
  }
  return kind === 'note'
    ? api.postNote(key, { message: text, ...extra }, headers, ticket)
    : api.postTime(key, { ...TIME, description: text, ...extra }, headers, ticket);
}

/** Sends a write without faults. */
export const sendWithoutFaults = (key: string, write: Write) =>
  send(makeApi({ agents: true, config: UNLIMITED }), key, write);

/** What a response says became of a write. */
export interface Claim {
  outcome:
    | 'written'
    | 'replayed'
    | 'unavailable'
    | 'outcome_unknown'
    | 'internal_error'
    | 'rate_limited'
    | 'refused'
    | 'unexpected';
  requestId: string;
  /** The id of the record, if it was written or replayed. */
  id?: string;
  /** How the response breaks the contract, in words. */
  wrong: string[];
}

const OUTCOMES: Record<string, Claim['outcome']> = {
  '503 unavailable': 'unavailable',
  '503 outcome_unknown': 'outcome_unknown',
  '500 internal_error': 'internal_error',
  '429 rate_limited': 'rate_limited',
  '404 ticket_not_found': 'refused',
  '422 validation_failed': 'refused',
};

/** What of the database's own words a response must never repeat. */
const INTERNALS = /hunter2|SQLITE|D1_ERROR|insert into|overloaded|object|locked/i;

/** Reads the response to a write, which may be repeated if it had an Idempotency-Key. */
export async function readClaim(response: Response, isRepeatable: boolean): Promise<Claim> {
  const { status, headers } = response;
  const text = await response.text();
  const wrong: string[] = INTERNALS.test(text) ? [`it shows internals: ${text}`] : [];
  const expect = (what: string, actual: unknown, expected: unknown) => {
    if (actual !== expected) wrong.push(`${what} is ${actual} instead of ${expected}, ${status} ${text}`);
  };
  const requestId = headers.get('X-Request-Id') ?? '';
  const retryAfter = headers.get('Retry-After');
  const { result }: { result?: ToolResult } = JSON.parse(text);
  if (result) return readToolClaim(result, { requestId, isReplay: headers.has('Idempotency-Replayed'), wrong });
  const body: {
    note?: { id: string };
    entry?: { id: string };
    status?: number;
    code?: string;
    requestId?: string;
    idempotentReplay?: boolean;
  } = JSON.parse(text);
  const id = (body.note ?? body.entry)?.id;
  if (id !== undefined) {
    const isReplay = status === 200;
    expect('Retry-After', retryAfter, null);
    expect('Idempotency-Replayed', headers.get('Idempotency-Replayed'), isReplay ? 'true' : null);
    expect('idempotentReplay', body.idempotentReplay, isReplay ? true : undefined);
    expect('the status', status, isReplay ? 200 : 201);
    return { outcome: isReplay ? 'replayed' : 'written', requestId, id, wrong };
  }
  const outcome = OUTCOMES[`${status} ${body.code}`] ?? 'unexpected';
  expect('the status in the body', body.status, status);
  expect('the request id in the body', body.requestId, requestId);
  if (outcome === 'unexpected') wrong.push(`no such response is expected: ${status} ${text}`);
  else if (outcome === 'rate_limited') expect('Retry-After', Number(retryAfter) >= 1, true);
  else if (isRetryable(outcome, isRepeatable))
    expect('Retry-After', /^[4-8]$/.test(retryAfter ?? '') || retryAfter, true);
  else expect('Retry-After', retryAfter, null);
  return { outcome, requestId, wrong };
}

/** Reads the result of a tool. Unlike the REST interface, its refusals have no status of their own. */
function readToolClaim(
  { isError = false, structuredContent }: ToolResult,
  { requestId, isReplay, wrong }: { requestId: string; isReplay: boolean; wrong: string[] },
): Claim {
  const { id, code, idempotentReplay, retryAfterSeconds } = structuredContent;
  if (!isError) {
    if (idempotentReplay !== isReplay) wrong.push(`idempotentReplay is ${idempotentReplay}`);
    return { outcome: isReplay ? 'replayed' : 'written', requestId, id: String(id), wrong };
  }
  const status = Object.keys(OUTCOMES).find((one) => one.endsWith(` ${code}`)) ?? '';
  const outcome = OUTCOMES[status] ?? 'unexpected';
  if (outcome === 'unexpected') wrong.push(`no such result is expected: ${code}`);
  const isExpected =
    outcome === 'rate_limited'
      ? Number(retryAfterSeconds) >= 1
      : isRetryable(outcome, true)
        ? /^[4-8]$/.test(String(retryAfterSeconds))
        : retryAfterSeconds === undefined;
  if (!isExpected) wrong.push(`retryAfterSeconds is ${retryAfterSeconds} with ${code}`);
  return { outcome, requestId, wrong };
}

const isRetryable = (outcome: Claim['outcome'], isRepeatable: boolean) =>
  outcome === 'unavailable' || (outcome === 'outcome_unknown' && isRepeatable);

export interface StoredRecord {
  id: string;
  requestId: string;
  text: string;
}

/**
 * All records of an organization, as `recordsOf`, compared with the audit log and the daily ledger.
 * No later write mends an inconsistency, so it is enough to look at the end of each case.
 * @throws if they do not agree
 */
export async function consistentRecordsOf(organization: string): Promise<StoredRecord[]> {
  const found = await inconsistencies(env.DB, organization);
  if (found.length > 0) throw new Error(found.join('\n'));
  return recordsOf(organization);
}

/** All records of an organization in the order in which they were written. */
export async function recordsOf(organization: string): Promise<StoredRecord[]> {
  const { results } = await env.DB.prepare(
    `select id, request_id as requestId, message as text, audit_seq from notes where organization_id = ?1
     union all select id, request_id, description, audit_seq from time_entries where organization_id = ?1 order by audit_seq`,
  )
    .bind(organization)
    .all<StoredRecord>();
  return results;
}

/**
 * How a response breaks the contract, or contradicts the database: a written record is there once,
 * a refused or failed request has no record, and a request of unknown outcome has one at most.
 */
export function contradictions(claim: Claim, records: readonly StoredRecord[]): string[] {
  const ids = records.filter(({ requestId }) => requestId === claim.requestId).map(({ id }) => id);
  const mayBeThere = claim.outcome === 'outcome_unknown' || claim.outcome === 'internal_error';
  const isTrue = mayBeThere ? ids.length <= 1 : ids.join() === (claim.outcome === 'written' ? claim.id : '');
  return isTrue
    ? claim.wrong
    : [...claim.wrong, `after ${claim.outcome} the database holds ${ids.join() || 'nothing'}`];
}
