import { env } from 'cloudflare:workers';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import limits from '../../../src/docs/pages/limits.md?raw';
import { generateKey } from '../../../src/domain/api-key.ts';
import { inThousands } from '../../../src/lib/in-thousands.ts';
import { recordRefusal } from '../../../src/services/keys/record-refusal.ts';
import published from '../../bench/README.md?raw';
import { withReplica } from '../../support/d1.ts';
import { makeLastOrganization } from '../../support/last-organization.ts';
import { refusedRequest } from '../../support/refused-requests.ts';
import { copyKey } from '../../support/settings.ts';
import {
  asOperator,
  importRecords,
  type KeyOptions,
  type makeApi,
  makeCountedApi,
  makeKey,
  makeWorld,
  newAddress,
  TIME,
} from '../../support/world.ts';

// What a request costs: calls of Durable Objects and D1, statements, rows read and written. The
// counts are exact, and the same in a small and in a large organization.

const SIZE = 10_000;
let small: { key: string; organization: string };
let large: { key: string; organization: string };

afterAll(() => {
  vi.useRealTimers();
});

beforeAll(async () => {
  // A key that has written today reads more rows, so midnight must not come.
  vi.useFakeTimers({ toFake: ['Date'] });
  const first = await makeWorld();
  small = first;
  for (let i = 0; i < 10; i++) expect((await first.api.postTime(first.key)).status).toBe(201);
  const world = await makeWorld();
  large = world;
  const { organization, key, api } = world;
  await importRecords(
    ...Array.from({ length: SIZE }, (_, i) => ({
      type: 'user',
      organization,
      id: `u${i}`,
      email: `u${i}@x.example`,
      name: 'U',
      technician: true,
    })),
    ...Array.from({ length: SIZE }, (_, i) => ({ type: 'ticket', organization, id: `t${i}`, company: 'acme' })),
  );
  // One entry through the API, and 10,000 copies of it with audit rows.
  expect((await api.postTime(key)).status).toBe(201);
  const numbers = `with recursive n(i) as (select 1 union all select i + 1 from n where i < ${SIZE})`;
  await env.DB.batch([
    env.DB.prepare(
      `insert into audit_log (organization_id, seq, at, actor_type, actor_id, actor_name, action, target_id, request_id)
       ${numbers} select ?1, i + (select max(seq) from audit_log where organization_id = ?1), 0, 'api_key', 'k' || (i % 100), 'k', 'time_entry.created', 'e' || i, 'r' from n order by i`,
    ).bind(organization),
    env.DB.prepare(
      `insert into time_entries ${numbers} select organization_id, 'e' || i, ticket_id, created_at, key_id, request_id, request_digest, audit_seq + i,
         user_id, minutes, description, billable, work_date, hourly_rate_minor, agreement_source, approvals, status, approval_seq from n, (select * from time_entries where organization_id = ?1)`,
    ).bind(organization),
  ]);
  // 150 more keys that have written today, 60 of them replaced.
  await env.DB.batch([
    env.DB.prepare(
      `with recursive n(i) as (select 1 union all select i + 1 from n where i < 150)
       insert into api_keys (organization_id, id, chain_id, name, hash, hint, scopes, created_at, created_by, successor_id)
       select organization_id, 'key-' || i, 'key-' || i, 'Key ' || i, lower(hex(randomblob(32))), hint, scopes, created_at, created_by,
         iif(i > 90, 'successor-' || i, null) from n, (select * from api_keys where organization_id = ?1)`,
    ).bind(organization),
    env.DB.prepare(
      `insert into key_days select k.organization_id, k.id, d.day, k.id, 1, 0, 0, 1, 1, null
       from api_keys k join key_days d on d.organization_id = k.organization_id where k.organization_id = ?1 and k.id like 'key-%'`,
    ).bind(organization),
  ]);
  // A read of a range examines the row after it: both organizations have one.
  for (const { organization: organizationId } of [small, large]) {
    await copyKey(organizationId, (await makeKey(organizationId)).id, { prefix: 'z-', count: 1 });
    await recordRefusal(asOperator(), { organizationId, keyId: 'z-000' }, { request: refusedRequest(organizationId) });
  }
  await makeLastOrganization(organization, 'key-1');
});

/** What one request costs. */
interface Bill {
  objectCalls: number;
  d1Calls: number;
  read: number;
  written: number;
}

const readsOf = (calls: { rowsRead: number }[]) => calls.reduce((sum, { rowsRead }) => sum + rowsRead, 0);

interface Request {
  what: string;
  status: number;
  /** A request to the same isolate before. */
  before?: Request['send'];
  send: (api: ReturnType<typeof makeApi>, world: typeof small) => Promise<Response>;
}

const time: Request['send'] = (api, { key }) => api.postTime(key);
const keyedTime: Request['send'] = (api, { key }) => api.postTime(key, TIME, { 'Idempotency-Key': 'budget' });
const timeOf =
  (userEmail: string): Request['send'] =>
  (api, { key }) =>
    api.postTime(key, { ...TIME, userEmail });
const firstOfDay: Request['send'] = async (api, { organization }) => api.postTime((await makeKey(organization)).value);

test.each<Request>([
  { what: 'a time entry with an uncached key', status: 201, send: time },
  { what: 'a time entry credited to a technician', status: 201, send: timeOf('tess@northwind.example') },
  { what: 'the first write of a key on a day', status: 201, send: firstOfDay },
  { what: 'a time entry with a cached key', status: 201, before: time, send: time },
  { what: 'a note with an uncached key', status: 201, send: (api, { key }) => api.postNote(key) },
  { what: 'a replay', status: 200, before: keyedTime, send: keyedTime },
  // The last call of a refused write records it, after the response.
  { what: 'a refused ticket', status: 404, send: (api, { key }) => api.postTime(key, TIME, {}, '9999') },
  { what: 'a refused technician', status: 422, send: timeOf('nobody@x.example') },
])('$what costs as much in a large organization as in a small one', async ({ status, before, send }) => {
  const costs = [];
  for (const world of [small, large]) {
    const { api, d1 } = makeCountedApi();
    await before?.(api, world);
    d1.length = 0;
    expect((await send(api, world)).status).toBe(status);
    await api.settled();
    expect(readsOf(d1)).toBeLessThanOrEqual(40);
    costs.push(d1.map(({ statements, rowsRead, rowsWritten }) => ({ statements, rowsRead, rowsWritten })));
  }
  expect(costs[0]).toEqual(costs[1]);
});

test('a write sets one timer for all that it awaits', async () => {
  const { api, key } = await makeWorld();
  const timers = vi.spyOn(globalThis, 'setTimeout');
  for (const _ of ['uncached', 'cached']) expect((await api.postTime(key)).status).toBe(201);
  expect(timers.mock.calls.map(([, ms]) => ms)).toEqual([1_000, 1_000]);
  timers.mockRestore();
});

test('test/bench/README.md contains the numbers that are counted here', async () => {
  const { api, d1, limiters } = makeCountedApi();
  const ONE_REQUEST = { quota: 1, windowMs: 10_000 };
  const limited = makeCountedApi({ config: { ipLimit: ONE_REQUEST, keyLimit: ONE_REQUEST } });
  const keys = { 'Idempotency-Key': crypto.randomUUID() };
  /** A new key, which has written once today, but not through this isolate. */
  const fresh = async (options?: KeyOptions) => {
    const { value } = await makeKey(large.organization, options);
    expect((await makeCountedApi().api.postTime(value)).status).toBe(201);
    return value;
  };
  const [note, time] = [await fresh(), await fresh()];
  const address = { 'CF-Connecting-IP': newAddress() };
  const ping = (key: string) => api.send('/api/v1/ping', { key });

  const rows: string[] = [];
  const counted = new Map<string, Bill>();
  /** Runs a request and adds its line to the table. */
  const line = async (what: string, status: number, request: () => Promise<Response>, counters = { d1, limiters }) => {
    counters.d1.length = 0;
    counters.limiters.length = 0;
    expect((await request()).status, what).toBe(status);
    const written = counters.d1.reduce((sum, { rowsWritten }) => sum + rowsWritten, 0);
    const bill = {
      objectCalls: counters.limiters.length,
      d1Calls: counters.d1.length,
      read: readsOf(counters.d1),
      written,
    };
    counted.set(what, bill);
    rows.push(`| ${[what, ...Object.values(bill)].join(' | ')} |`);
  };

  await line('time entry, uncached key', 201, () => api.postTime(time, TIME, keys));
  await line('time entry, cached key', 201, () => api.postTime(time, TIME, { 'Idempotency-Key': crypto.randomUUID() }));
  await line('note, uncached key', 201, () => api.postNote(note));
  await line('note, cached key', 201, () => api.postNote(note));
  await line('replay, cached key', 200, () => api.postTime(time, TIME, keys));
  const limitedKey = await fresh({ companies: 'acme globex' });
  await api.postTime(limitedKey);
  await line('time entry, cached key limited to companies', 201, () => api.postTime(limitedKey));
  await line("replay of another key's record, cached key limited to companies", 200, () =>
    api.postTime(limitedKey, TIME, keys),
  );
  const dryRun = () => api.post('/api/v1/tickets/1001/time-entries/dry-run', limitedKey, TIME);
  await dryRun();
  await api.settled();
  await line('dry run of a time entry, cached key', 200, dryRun);
  await line('ping', 200, () => ping(time));
  await line('401, unknown key', 401, () => ping(generateKey('twb')));
  await line('401, missing or malformed key', 401, () => ping('twb_malformed'));
  await limited.api.send('/api/v1/ping', { headers: address });
  await line('429 by address', 429, () => limited.api.send('/api/v1/ping', { headers: address }), limited);
  await line(
    '429 by address, cached refusal',
    429,
    () => limited.api.send('/api/v1/ping', { headers: address }),
    limited,
  );
  // Each from another address, so that the limit of an address does not refuse it.
  const byKey = () => limited.api.postTime(time, TIME, { 'CF-Connecting-IP': newAddress() });
  expect((await byKey()).status).toBe(429);
  await line('429 by key, cached refusal', 429, () => byKey(), limited);
  expect(published).toContain(rows.join('\n'));

  const nearby = withReplica(env.DB);
  await nearby.catchUp(large.organization);
  const created = await makeKey(large.organization);
  const nearRows: string[] = [];
  /** Runs a request in a new isolate, and adds its line to the table with read replicas. */
  const nearLine = async (
    what: string,
    status: number,
    request: (one: ReturnType<typeof makeCountedApi>['api']) => Promise<Response>,
    { api: one, d1: calls } = makeCountedApi({ bindings: { DB: nearby.db } }),
  ) => {
    calls.length = 0;
    expect((await request(one)).status, what).toBe(status);
    const near = calls.filter(({ replica }) => replica).length;
    const written = calls.reduce((sum, { rowsWritten }) => sum + rowsWritten, 0);
    nearRows.push(`| ${[what, near, calls.length - near, readsOf(calls), written].join(' | ')} |`);
  };
  await nearLine('time entry, uncached key', 201, (one) => one.postTime(time));
  const isolate = makeCountedApi({ bindings: { DB: nearby.db } });
  await isolate.api.postTime(time);
  await nearLine('time entry, cached key', 201, (one) => one.postTime(time), isolate);
  await nearLine('note, uncached key', 201, (one) => one.postNote(note));
  await nearLine('time entry, key created a moment ago', 201, (one) => one.postTime(created.value));
  await nearLine('replay, uncached key', 200, (one) => one.postTime(time, TIME, keys));
  await nearLine('422, uncached key', 422, (one) => one.postTime(time, {}));
  await nearLine('ping', 200, (one) => one.send('/api/v1/ping', { key: time }));
  await nearLine('401 to a write, unknown key', 401, (one) => one.postTime(generateKey('twb')));
  await nearLine('401 to a ping, unknown key', 401, (one) => one.send('/api/v1/ping', { key: generateKey('twb') }));
  expect(published).toContain(nearRows.join('\n'));

  const writes = [...counted.values()].filter(({ written }) => written > 0);
  const highest = (column: keyof Bill) => Math.max(...writes.map((bill) => bill[column]));
  const dollars = (amount: number) => `$${(Math.round(amount * 100) / 100).toFixed(2)}`;
  // The prices on the page of limits: 500 writes a technician, each with the highest counts, and with the push, 2 more
  // requests and a row.
  for (const technicians of [10, 100, 1_000]) {
    const millions = (technicians * 500) / 1e6;
    const requests = Math.max(0, millions * (highest('objectCalls') + 2) - 1) * 0.15;
    const price = dollars(5 + requests + Math.max(0, millions * (highest('written') + 1) - 50));
    expect(limits).toContain(`| ${[technicians, technicians * 500].map(inThousands).join(' | ')} | ${price} |`);
  }
});
