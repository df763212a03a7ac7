// Writes into tickets so that nothing is lost and nothing is written twice. The types come from the service's own document:
//
//   npm install openapi-fetch && npx -p typescript@5 -p openapi-typescript openapi-typescript <address>/api/v1/openapi.json -o api.d.ts
import createClient from 'openapi-fetch';
import type { components, paths } from './api.d.ts';

export type TimeEntry = components['schemas']['TimeEntryRequest'];

const MAX_TRIES = 10;
const MAX_TEXT_LENGTH = 32_000;

/** A text cut to what a note or description holds, between characters: `slice` on the string itself could cut an emoji in half. */
export function limitText(text: string): string {
  return Array.from(text).slice(0, MAX_TEXT_LENGTH).join('');
}

/** A client for one service and key. Requests with an Idempotency-Key are sent again, unchanged, until they have arrived. */
export function ticketClient(baseUrl: string, key: string) {
  return createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${key}` }, fetch: fetchUntilArrived });
}

/**
 * Logs time. If the technician cannot be credited, the same request without userEmail credits the service account; the
 * Idempotency-Key is still free then.
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
  if (error && 'code' in error && error.code === 'technician_not_eligible') {
    const { userEmail: _, ...rest } = entry;
    ({ data, error } = await send(rest));
  }
  if (data) return data;
  throw new Error(
    error && 'detail' in error ? error.detail : 'The key is not good for this: see /docs/problems#unauthorized.',
  );
}

/** Waits as long as the service says (Retry-After), or a little longer each time, never less than it asked and never in step. */
async function fetchUntilArrived(request: Request): Promise<Response> {
  const repeatable = request.method === 'GET' || request.headers.has('Idempotency-Key');
  for (let tries = 1; ; tries++) {
    const outcome = await fetch(request.clone()).catch((err: unknown) => ({ err }));
    const failed = 'err' in outcome || outcome.status === 429 || outcome.status >= 500;
    if (!failed) return outcome;
    if (!repeatable || tries === MAX_TRIES) {
      if ('err' in outcome) throw outcome.err;
      return outcome;
    }
    const asked = 'err' in outcome ? 0 : Number(outcome.headers.get('Retry-After') ?? 0);
    const seconds = Math.max(asked, Math.min(2 ** (tries - 1), 30)) + Math.random();
    await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
  }
}
