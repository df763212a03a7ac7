import { generateKey } from '../../src/domain/api-key.ts';
import { type RequestOptions, renderRequest } from './connection.ts';
import { load, type Requests } from './load.ts';
import { type BenchKey, makeKeys, TICKET } from './seed.ts';
import { FLOOR, LEAST } from './targets.ts';
import { KEY_PREFIX, type WorkerName, type Workers } from './workers.ts';

/**
 * More than an isolate remembers (env.ts: 1,000): used in turn, each has been forgotten again by
 * the time it comes back.
 */
const COLD_KEYS = 1_200;
const WARM_KEYS = 8;
const ADDRESSES = 16;
/** So many addresses are refused once each, by their own limiter objects. */
const REFUSED_ADDRESSES = 1_500;
const UNBOUNDED_MS = 60_000;

/** What is sent to which worker, and what comes back. */
export interface Scenario {
  name: string;
  worker: WorkerName;
  status: number;
  requests: Requests;
  /**
   * Puts the worker into the state that is measured, unmeasured, before each slice. The default
   * sends a few requests of the same kind.
   */
  warmUp?: (origin: URL) => Promise<unknown>;
  /** At most so many requests, where the state lasts no longer. */
  maxRequests?: number;
}

const TIME_ENTRY = { minutes: 30, description: 'Cleared the print queue', billable: true };
const timeEntries = `/api/v1/tickets/${TICKET}/time-entries`;
const authorization = (value: string) => ({ Authorization: `Bearer ${value}`, 'User-Agent': 'bench' });

/**
 * Not refused by its address, for it comes from one of several, as the requests of a busy customer
 * do.
 */
function from(number: number, options: RequestOptions): string {
  const address = `192.0.2.${number % ADDRESSES}`;
  return renderRequest({ ...options, headers: { 'CF-Connecting-IP': address, ...options.headers } });
}

export const postTimeEntry = (number: number, key: string, idempotencyKey: string) =>
  from(number, {
    method: 'POST',
    path: timeEntries,
    headers: { ...authorization(key), 'Idempotency-Key': idempotencyKey },
    body: TIME_ENTRY,
  });

const pick = <T>(values: readonly T[], number: number): T => {
  const value = values[number % values.length];
  if (value === undefined) throw new RangeError('nothing to pick from');
  return value;
};

/** What is measured. */
export async function makeScenarios(workers: Workers): Promise<Scenario[]> {
  const small = await workers.database('small');
  const keys = await makeKeys(small, WARM_KEYS);
  const write = (ring: readonly BenchKey[]) => (number: number) =>
    postTimeEntry(number, pick(ring, number).value, crypto.randomUUID());
  const ping = (ring: readonly BenchKey[]) => (number: number) =>
    from(number, { path: '/api/v1/ping', headers: authorization(pick(ring, number).value) });
  const cold = (ring: readonly BenchKey[]) => ({
    status: 201,
    requests: write(ring),
    // A ping wakes the keys' limiter objects and fills the isolate's memory with the last thousand
    // keys.
    warmUp: (origin: URL) => load(origin, 16, ping(ring), 200, { ms: UNBOUNDED_MS, requests: ring.length }),
  });
  const warm = (ring: readonly BenchKey[]) => ({ status: 201, requests: write(ring) });

  const large = await workers.database('large');
  const replayed = crypto.randomUUID();
  let group = 0;
  const unasked = (number: number) =>
    renderRequest({
      path: '/api/v1/ping',
      headers: { 'CF-Connecting-IP': `10.${group}.${number >> 8}.${number & 255}` },
    });

  const api: Scenario[] = [
    { name: 'ping', worker: 'api', status: 200, requests: ping(keys) },
    {
      name: 'note, cached key',
      worker: 'api',
      status: 201,
      requests: (number) =>
        from(number, {
          method: 'POST',
          path: `/api/v1/tickets/${TICKET}/notes`,
          headers: { ...authorization(pick(keys, number).value), 'Idempotency-Key': crypto.randomUUID() },
          body: { message: TIME_ENTRY.description },
        }),
    },
    { name: 'time entry, cached key', worker: 'api', ...warm(keys) },
    { name: 'time entry, uncached key', worker: 'api', ...cold(await makeKeys(small, COLD_KEYS)) },
    {
      name: 'replay',
      worker: 'api',
      status: 200,
      requests: (number) => postTimeEntry(number, pick(keys, number).value, replayed),
      warmUp: async (origin) => {
        const send = (number: number) => postTimeEntry(number, pick(keys, number).value, replayed);
        // The first of all makes the entry, and answers 201; it may not be there yet.
        await load(origin, 1, send, 201, { ms: UNBOUNDED_MS, requests: 1 }).catch(() => undefined);
        await load(origin, 1, send, 200, { ms: UNBOUNDED_MS, requests: 2 * ADDRESSES });
      },
    },
    {
      name: '401, unknown key',
      worker: 'api',
      status: 401,
      requests: (number) => postTimeEntry(number, generateKey(KEY_PREFIX), 'unknown'),
    },
    {
      name: '429 by address, from the limiter',
      worker: 'api-limited',
      status: 429,
      requests: unasked,
      maxRequests: REFUSED_ADDRESSES,
      // One request is admitted in 10 s, and ends at the missing key; the next of the same address
      // is refused by the limiter object.
      warmUp: (origin) => {
        group++;
        return load(origin, 16, unasked, 401, { ms: UNBOUNDED_MS, requests: REFUSED_ADDRESSES });
      },
    },
    {
      name: '429 by address, cached refusal',
      worker: 'api-limited',
      status: 429,
      requests: () => unasked(0),
      warmUp: async (origin) => {
        group++;
        await load(origin, 1, () => unasked(0), 401, { ms: UNBOUNDED_MS, requests: 1 });
        await load(origin, 1, () => unasked(0), 429, { ms: UNBOUNDED_MS, requests: ADDRESSES });
      },
    },
    { name: 'time entry, cached key, 1M entries', worker: 'api-large', ...warm(await makeKeys(large, WARM_KEYS)) },
    { name: 'time entry, uncached key, 1M entries', worker: 'api-large', ...cold(await makeKeys(large, COLD_KEYS)) },
  ];

  const others: Scenario[] = [
    { name: 'Hono, "hello"', worker: 'hono', status: 200, requests: (number) => from(number, { path: '/' }) },
    { name: FLOOR, worker: 'floor', ...warm(keys) },
    { name: LEAST, worker: 'least', ...warm(keys) },
  ];
  return [...others, ...api];
}
