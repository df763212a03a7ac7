import * as z from 'zod';
import { generateKey, hashKey } from '../../src/domain/api-key.ts';
import { Connection, renderRequest } from './connection.ts';
import { KEY_PREFIX } from './limits.ts';
import { type Cost, load, type Requests } from './load.ts';
import { type BenchKey, makeKeys, TICKET } from './seed.ts';
import type { Target } from './statistics.ts';
import type { WorkerName, Workers } from './workers.ts';

/** More than an isolate caches: used in turn, each has left the cache again before its next request. */
const COLD_KEYS = 1_200;
const WARM_KEYS = 8;
const ADDRESSES = 16;
const UNBOUNDED_MS = 60_000;

const FLOOR = 'floor chain';
const LEAST = 'least chain, known key';
const SAME = 'same work, known key';
const CACHED = 'time entry, cached key';
const UNCACHED = 'time entry, uncached key';

/** Two scenarios whose ratio within each round the report shows, with its targets. */
export interface Ratio {
  of: string;
  to: string;
  perSecond?: Target;
  cpu?: Target;
}

export const RATIOS: readonly Ratio[] = [
  { of: CACHED, to: SAME, perSecond: { rule: 'at least', bound: 0.93 }, cpu: { rule: 'at most', bound: 1.1 } },
  { of: UNCACHED, to: FLOOR, perSecond: { rule: 'at least', bound: 0.9 } },
  { of: CACHED, to: LEAST },
];

/** What is sent to which worker. */
export interface Scenario {
  name: string;
  worker: WorkerName;
  status: number;
  requests: Requests;
  /** Puts the worker into the measured state before each slice. The default sends a few requests of the same kind. */
  warmUp?: (origin: URL) => Promise<unknown>;
  /** If the table of costs has it. */
  cost?: Cost;
}

const authorization = (value: string) => ({ Authorization: `Bearer ${value}`, 'User-Agent': 'load' });
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

/** What is measured. `bills`: the costs in the README. */
export async function makeScenarios(
  workers: Workers,
  bills: ReadonlyMap<string, Cost>,
  withBetterAuth: boolean,
): Promise<Scenario[]> {
  const db = await workers.database();
  const warm = await makeKeys(db, WARM_KEYS);
  const cold = await makeKeys(db, COLD_KEYS);
  const write = (keys: readonly BenchKey[]) => (number: number) =>
    postTimeEntry(number, pick(keys, number).value, crypto.randomUUID());
  const ping = (number: number) =>
    renderRequest({
      path: '/api/v1/ping',
      headers: { ...address(number), ...authorization(pick(cold, number).value) },
    });
  const emptyEntry = (number: number) =>
    renderRequest({
      method: 'POST',
      path: `/api/v1/tickets/${TICKET}/time-entries`,
      headers: { ...address(number), ...authorization(pick(cold, number).value) },
      body: {},
    });
  /** A request with each of the keys wakes their limiter objects. */
  const wake = (requests: Requests, status: number) => (origin: URL) =>
    load(origin, 16, requests, status, { ms: UNBOUNDED_MS, requests: cold.length });
  const ofBill = (name: string, status: number, requests: Requests): Scenario => {
    const cost = bills.get(name);
    if (!cost) throw new Error(`the README has no bill of "${name}"`);
    return { name, worker: 'api', status, requests, cost };
  };
  const replay: Requests = (number) => postTimeEntry(number, pick(warm, 0).value, 'replay');
  await load(await workers.origin('api'), 1, replay, 201, { ms: UNBOUNDED_MS, requests: 1 });
  return [
    { name: FLOOR, worker: 'floor', status: 201, requests: write(cold), warmUp: wake(emptyEntry, 422) },
    { name: LEAST, worker: 'least', status: 201, requests: write(warm) },
    { name: SAME, worker: 'same', status: 201, requests: write(warm) },
    {
      name: UNCACHED,
      worker: 'api',
      status: 201,
      requests: write(cold),
      // A ping also fills the isolate's cache with the last thousand keys.
      warmUp: wake(ping, 200),
    },
    ofBill(CACHED, 201, write(warm)),
    ofBill('replay, cached key', 200, replay),
    ofBill('401, unknown key', 401, (number) => postTimeEntry(number, generateKey(KEY_PREFIX), 'refused')),
    ...(withBetterAuth ? [await betterAuth(workers, pick(warm, 0).value)] : []),
  ];
}

/** The same write after better-auth's check of its own key. */
async function betterAuth(workers: Workers, value: string): Promise<Scenario> {
  const connection = await Connection.open(await workers.origin('better-auth'));
  try {
    const send = async <Shape extends z.ZodType>(shape: Shape, request: string) =>
      shape.parse(JSON.parse((await connection.send(request)).body));
    const start = renderRequest({ path: `/?hash=${await hashKey(value)}&keys=${WARM_KEYS}` });
    const { keys } = await send(z.object({ keys: z.array(z.string()) }), start);
    const requests: Requests = (number) => postTimeEntry(number, pick(keys, number), crypto.randomUUID());
    // The first write also reads what the next ones know.
    await connection.send(requests(0));
    const cost = z.object({ calls: z.number(), read: z.number(), written: z.number() });
    const written = await send(z.object({ cost }), requests(0));
    return { name: "better-auth's key check, same write", worker: 'better-auth', status: 201, requests, ...written };
  } finally {
    connection.close();
  }
}
