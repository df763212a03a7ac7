// Writes to tickets. It retries failed requests, and the Idempotency-Key prevents duplicates.
// Generate the types from the OpenAPI document of the service:
//
//   npm install openapi-fetch
//   npx -p typescript@5 -p openapi-typescript openapi-typescript <address>/api/v1/openapi.json -o api.d.ts
import createClient from 'openapi-fetch';
import type { components, paths } from './api.d.ts';

export type Note = components['schemas']['NoteRequest'];
export type TimeEntry = components['schemas']['TimeEntryRequest'];

const MAX_ATTEMPTS = 10;
const MAX_TEXT_LENGTH = 32_000;
/** Longer than any limit of requests asks to wait. A daily limit asks for hours: that is an error. */
const MAX_WAIT_SECONDS = 120;

/** Cuts a text to the maximum length without splitting a character, as `text.slice` could. */
export function limitText(text: string): string {
  return Array.from(text).slice(0, MAX_TEXT_LENGTH).join('');
}

/** Creates a client for one key. It retries GET requests and requests with an Idempotency-Key. */
export function ticketClient(baseUrl: string, key: string) {
  return createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${key}` }, fetch: fetchWithRetries });
}

/** Adds an internal note. Throws if a different request used the Idempotency-Key before: then this note was not written. */
export async function addNote(
  client: ReturnType<typeof ticketClient>,
  ticketId: string,
  idempotencyKey: string,
  { message }: Note,
) {
  const { data, error } = await client.POST('/tickets/{ticketId}/notes', {
    params: { path: { ticketId }, header: { 'Idempotency-Key': idempotencyKey } },
    body: { message: limitText(message) },
  });
  return written(data, error);
}

/**
 * Logs time. If the technician cannot be credited, sends the request again without userEmail: then the
 * service account is credited. The Idempotency-Key can be reused because nothing was written.
 * Throws if a different request used the Idempotency-Key before: then this entry was not written.
 */
export async function logTime(
  client: ReturnType<typeof ticketClient>,
  ticketId: string,
  idempotencyKey: string,
  entry: TimeEntry,
) {
  const send = (body: TimeEntry) =>
    client.POST('/tickets/{ticketId}/time-entries', {
      params: { path: { ticketId }, header: { 'Idempotency-Key': idempotencyKey } },
      body: { ...body, description: limitText(body.description) },
    });
  let { data, error } = await send(entry);
  const { userEmail, ...rest } = entry;
  const isNotEligible = error && 'code' in error && error.code === 'technician_not_eligible';
  // A mismatch too: the technician may not have been eligible when the entry was first written.
  if (userEmail !== undefined && (isNotEligible || data?.idempotencyMismatch)) {
    ({ data, error } = await send(rest));
  }
  return written(data, error);
}

/** The record of a response. Throws if nothing was written now. */
function written<Data extends object>(data: Data | undefined, error: object | undefined): Data {
  if (data && 'idempotencyMismatch' in data && data.idempotencyMismatch)
    throw new Error('The Idempotency-Key was used for a different request before.');
  if (data) return data;
  throw new Error(
    error && 'detail' in error
      ? String(error.detail)
      : 'The key is not valid for this request. See /docs/errors#unauthorized.',
  );
}

/** Retries with exponential backoff and random jitter, and never before the time in Retry-After. */
async function fetchWithRetries(request: Request): Promise<Response> {
  const retryable = request.method === 'GET' || request.headers.has('Idempotency-Key');
  for (let attempt = 1; ; attempt++) {
    const result = await fetch(request.clone()).catch((err: unknown) => ({ err }));
    const failed = 'err' in result || result.status === 429 || result.status >= 500;
    if (!failed) return result;
    const retryAfter = 'err' in result ? 0 : Number(result.headers.get('Retry-After') ?? 0);
    if (!retryable || attempt === MAX_ATTEMPTS || retryAfter > MAX_WAIT_SECONDS) {
      if ('err' in result) throw result.err;
      return result;
    }
    const seconds = Math.max(retryAfter, Math.min(2 ** (attempt - 1), 30)) + Math.random();
    await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
  }
}
