import { renderRequest } from './connection.ts';
import { load, type Requests } from './load.ts';
import { type BenchKey, makeKeys, TICKET } from './seed.ts';
import type { WorkerName } from './workers.ts';

/** More than an isolate caches: used in turn, each has left the cache again before its next request. */
const COLD_KEYS = 1_200;
const WARM_KEYS = 8;
const ADDRESSES = 16;
const UNBOUNDED_MS = 60_000;

const CACHED = 'time entry, cached key';
const UNCACHED = 'time entry, uncached key';
const FLOOR = 'floor chain';
const LEAST = 'least chain, known key';

/** The pairs of scenarios whose ratio within each round the report shows. */
export const RATIOS = [
  { of: CACHED, to: LEAST },
  { of: UNCACHED, to: FLOOR },
] as const;

/** What is sent to which worker. */
export interface Scenario {
  name: string;
  worker: WorkerName;
  requests: Requests;
  /** Puts the worker into the measured state before each slice. The default sends a few requests of the same kind. */
  warmUp?: (origin: URL) => Promise<unknown>;
}

const authorization = (value: string) => ({ Authorization: `Bearer ${value}`, 'User-Agent': 'bench' });
/** The requests come from several addresses, as those of a busy customer do. */
const address = (number: number) => ({ 'CF-Connecting-IP': `192.0.2.${number % ADDRESSES}` });

export const postTimeEntry = (number: number, key: string, idempotencyKey: string) =>
  renderRequest({
    method: 'POST',
    path: `/api/v1/tickets/${TICKET}/time-entries`,
    headers: { ...address(number), ...authorization(key), 'Idempotency-Key': idempotencyKey },
    body: { minutes: 30, description: 'Cleared the print queue', billable: true },
  });

function pick<T>(values: readonly T[], number: number): T {
  const value = values[number % values.length];
  if (value === undefined) throw new RangeError('nothing to pick from');
  return value;
}

/** What is measured. */
export async function makeScenarios(db: D1Database): Promise<Scenario[]> {
  const warm = await makeKeys(db, WARM_KEYS);
  const cold = await makeKeys(db, COLD_KEYS);
  const write = (keys: readonly BenchKey[]) => (number: number) =>
    postTimeEntry(number, pick(keys, number).value, crypto.randomUUID());
  const ping = (number: number) =>
    renderRequest({
      path: '/api/v1/ping',
      headers: { ...address(number), ...authorization(pick(cold, number).value) },
    });
  return [
    { name: FLOOR, worker: 'floor', requests: write(warm) },
    { name: LEAST, worker: 'least', requests: write(warm) },
    { name: CACHED, worker: 'api', requests: write(warm) },
    {
      name: UNCACHED,
      worker: 'api',
      requests: write(cold),
      // A ping wakes the keys' limiter objects and fills the isolate's cache with the last thousand keys.
      warmUp: (origin) => load(origin, 16, ping, 200, { ms: UNBOUNDED_MS, requests: cold.length }),
    },
  ];
}
