import { env } from 'cloudflare:workers';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { redactRecord } from '../../../src/services/work/record-services.ts';
import { aroundD1 } from '../../support/d1.ts';
import { ledgerInconsistencies } from '../../support/ledger.ts';
import { aroundLimiters } from '../../support/limiter.ts';
import {
  asOperator,
  importRecords,
  makeApi,
  makeKey,
  makeOrganization,
  makeWorld,
  rowsOf,
  TIME,
} from '../../support/world.ts';

const HOUR_MS = 3_600_000;
const ORGANIZATION = { type: 'organization', name: 'N', psa: true, timeZone: 'UTC', defaultHourlyRate: 120 };
const idempotent = (key: string) => ({ 'Idempotency-Key': key });

/** The number of responses with each status. */
function tally(responses: Response[]): Record<number, number> {
  const counts: Record<number, number> = {};
  for (const { status } of responses) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

/**
 * The records of an organization, after a check that the numbers of the audit log have no gaps, that
 * each record has its audit row, and that the daily ledger counts it.
 */
async function recordsOf(organization: string) {
  const audit = await rowsOf('audit_log', organization);
  const records = [...(await rowsOf('notes', organization)), ...(await rowsOf('time_entries', organization))];
  const seqs = audit.map(({ seq }) => seq);
  expect(seqs).toEqual(seqs.map((_, index) => index + 1));
  const audited = audit
    .filter(({ actor_type }) => actor_type === 'api_key')
    .map(({ target_id, seq }) => `${target_id} ${seq}`);
  expect(records.map(({ id, audit_seq }) => `${id} ${audit_seq}`).sort()).toEqual(audited.sort());
  expect(await ledgerInconsistencies(env.DB, organization)).toEqual([]);
  return records;
}

describe('a repeated Idempotency-Key', () => {
  test('a repeated key returns the time entry of the first request with 200, and writes no second one', async () => {
    const { organization, key, api } = await makeWorld();
    const first = await api.postTime(key, TIME, idempotent('"flow:1"'));
    expect(first.headers.get('Idempotency-Replayed')).toBeNull();
    const body = await first.json<object>();
    expect(body).not.toHaveProperty('idempotentReplay');
    const second = await api.postTime(key, TIME, idempotent('flow:1'));
    expect(second.status).toBe(200);
    expect(second.headers.get('Idempotency-Replayed')).toBe('true');
    expect(second.headers.get('Idempotency-Mismatch')).toBeNull();
    expect(await second.json()).toEqual({ ...body, idempotentReplay: true });
    expect(await recordsOf(organization)).toHaveLength(1);
    expect((await rowsOf('audit_log', organization)).at(-1)).toMatchObject({ idempotency_key: 'flow:1' });
  });

  test('notes and time entries, and organizations, use their keys separately', async () => {
    const one = await makeWorld();
    const two = await makeWorld();
    const responses = [
      await one.api.postNote(one.key, undefined, idempotent('k')),
      await one.api.postTime(one.key, undefined, idempotent('k')),
      await two.api.postTime(two.key, undefined, idempotent('k')),
    ];
    expect(tally(responses)).toEqual({ 201: 3 });
  });

  test('a repeated key returns the entry unchanged after changes of the directory, and with another key', async () => {
    const { organization, key, api } = await makeWorld();
    const request = { ...TIME, userEmail: 'tess@northwind.example' };
    const body = await (await api.postTime(key, request, idempotent('k'))).json<object>();
    await importRecords(
      {
        type: 'user',
        organization,
        id: 'tess',
        email: 'tess@northwind.example',
        name: 'Tess',
        technician: true,
        active: false,
      },
      { type: 'agreement', organization, id: 'acme-support', company: 'acme', hourlyRate: 500 },
      { type: 'ticket', organization, id: '1001', company: 'acme', active: false },
    );
    const other = await makeKey(organization, { name: 'make: nightly', scopes: ['tickets:time:write'] });
    for (const anyKey of [key, other.value]) {
      const replay = await api.postTime(anyKey, { ...request, userEmail: 'TESS@northwind.example' }, idempotent('k'));
      expect(replay.status).toBe(200);
      expect(replay.headers.get('Idempotency-Mismatch')).toBeNull();
      expect(await replay.json()).toEqual({ ...body, idempotentReplay: true });
    }
    expect((await api.postTime(key, request, idempotent('k2'))).status).toBe(404);
  });

  test.each([
    ['another body', { ...TIME, minutes: 31 }, '1001'],
    ['an additional technician', { ...TIME, userEmail: 'nobody@northwind.example' }, '1001'],
    ['another ticket', TIME, '1002'],
    ['an unknown ticket', TIME, '9999'],
  ])('a repeated key with %s returns the first entry, and reports the mismatch', async (_, body, ticket) => {
    const { organization, key, api } = await makeWorld();
    const first = await (await api.postTime(key, TIME, idempotent('k'))).json<object>();
    const replay = await api.postTime(key, body, idempotent('k'), ticket);
    expect(replay.status).toBe(200);
    expect(replay.headers.get('Idempotency-Replayed')).toBe('true');
    expect(replay.headers.get('Idempotency-Mismatch')).toBe('true');
    expect(await replay.json()).toEqual({
      ...first,
      idempotentReplay: true,
      idempotencyMismatch: true,
      ticketId: '1001',
    });
    expect(await recordsOf(organization)).toHaveLength(1);
  });

  test('a repeated key returns the record after a redaction, and reports no mismatch', async () => {
    const { organization, key, api } = await makeWorld();
    const { note } = await (await api.postNote(key, { message: 'hunter2' }, idempotent('k'))).json<{
      note: { id: string };
    }>();
    expect(await redactRecord(asOperator(), { organization, kind: 'note', id: note.id, by: 'Ops' })).toEqual({
      status: 'redacted',
    });
    const replay = await api.postNote(key, { message: 'hunter2' }, idempotent('k'));
    expect(replay.headers.get('Idempotency-Mismatch')).toBeNull();
    expect(await replay.json()).toEqual({ note, idempotentReplay: true });
  });

  test('a key can be used again after a request that failed', async () => {
    const { organization, key, api } = await makeWorld();
    expect((await api.postTime(key, { ...TIME, minutes: 0 }, idempotent('k'))).status).toBe(422);
    expect((await api.postTime(key, TIME, idempotent('k'), '9999')).status).toBe(404);
    expect((await api.postTime(key, { ...TIME, userEmail: 'ivan@northwind.example' }, idempotent('k'))).status).toBe(
      422,
    );
    expect((await api.postTime(key, TIME, idempotent('k'))).status).toBe(201);
    expect(await recordsOf(organization)).toHaveLength(1);
  });

  test('100 simultaneous requests with one key write one entry and one audit row: one 201 and ninety-nine 200', async () => {
    // No request meets its deadline.
    vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const { organization, key, api } = await makeWorld();
    const responses = await Promise.all(Array.from({ length: 100 }, () => api.postTime(key, TIME, idempotent('k'))));
    expect(tally(responses)).toEqual({ 200: 99, 201: 1 });
    const ids = await Promise.all(
      responses.map(async (response) => (await response.json<{ entry: { id: string } }>()).entry.id),
    );
    expect(new Set(ids).size).toBe(1);
    expect(await recordsOf(organization)).toHaveLength(1);
  });
});

test('simultaneous writes leave no gap in the numbers of the audit log', async () => {
  const { organization, key, api } = await makeWorld();
  const other = await makeKey(organization, { name: 'second' });
  const writes = Array.from({ length: 60 }, (_, i) => {
    const by = i % 2 === 0 ? key : other.value;
    if (i % 3 === 0) return api.postNote(by);
    return i % 3 === 1 ? api.postTime(by) : api.postTime(by, TIME, {}, '9999');
  });
  expect(tally(await Promise.all(writes))).toEqual({ 201: 40, 404: 20 });
  expect(await recordsOf(organization)).toHaveLength(40);
});

describe('after the key is looked up and before the write is committed', () => {
  /** The database, with an event before the first batch. */
  function beforeBatch(event: () => Promise<unknown>) {
    let done = false;
    return aroundD1(env.DB, async (run, statements) => {
      if (statements > 1 && !done) {
        done = true;
        await event();
      }
      return run();
    });
  }

  async function expectNothingWritten(organization: string, response: Response, status: number) {
    expect(response.status).toBe(status);
    expect(await recordsOf(organization)).toEqual([]);
  }

  test.each(['postNote', 'postTime'] as const)(
    '%s: a key works until the millisecond before its expiry',
    async (post) => {
      const organization = await makeOrganization();
      const expiry = Date.now() + HOUR_MS;
      let now = Date.now();
      const { value: key } = await makeKey(organization, { expires: new Date(expiry).toISOString() });
      const onKeyLimit = aroundLimiters(env.RATE_LIMITER, (take, name) => {
        if (name.startsWith('key:')) now = instant;
        return take();
      });
      const write = () => makeApi({ now: () => now, bindings: { RATE_LIMITER: onKeyLimit } })[post](key);
      let instant = expiry;
      await expectNothingWritten(organization, await write(), 401);
      [now, instant] = [Date.now(), expiry - 1];
      expect((await write()).status).toBe(201);
    },
  );

  test('a key that expires before the batch is repeated after a lost connection gets 401', async () => {
    const organization = await makeOrganization();
    const expiry = Date.now() + HOUR_MS;
    let now = Date.now();
    const { value: key } = await makeKey(organization, { expires: new Date(expiry).toISOString() });
    let lost = false;
    const DB = aroundD1(env.DB, (run, statements) => {
      if (statements === 1 || lost) return run();
      lost = true;
      now = expiry;
      return Promise.reject(new Error('D1_ERROR: Network connection lost.'));
    });
    const response = await makeApi({ now: () => now, bindings: { DB } }).postTime(key, TIME);
    await expectNothingWritten(organization, response, 401);
  });

  test.each([
    ['an organization that loses PSA', 403, { ...ORGANIZATION, psa: false }],
    ['a ticket that becomes inactive', 404, { type: 'ticket', id: '1001', company: 'acme', active: false }],
  ])('%s gets %i', async (_, status, record) => {
    const { organization, key } = await makeWorld();
    const owner = record.type === 'ticket' ? { organization } : { id: organization };
    const DB = beforeBatch(() => importRecords({ ...record, ...owner }));
    await expectNothingWritten(organization, await makeApi({ bindings: { DB } }).postNote(key), status);
  });

  test('a ticket that becomes inactive, and active again before the reason is read, gets 201', async () => {
    const { organization, key } = await makeWorld();
    const ticket = (active: boolean) =>
      importRecords({ type: 'ticket', organization, id: '1001', company: 'acme', active });
    for (const path of ['notes', 'time-entries']) {
      let batches = 0;
      const DB = aroundD1(env.DB, async (run, statements) => {
        if (statements === 1 || ++batches > 1) return run();
        await ticket(false);
        const results = await run();
        await ticket(true);
        return results;
      });
      const body = path === 'notes' ? { message: 'x' } : TIME;
      expect((await makeApi({ bindings: { DB } }).post(`/api/v1/tickets/1001/${path}`, key, body)).status).toBe(201);
    }
    expect(await recordsOf(organization)).toHaveLength(2);
  });

  test("an entry gets the date in the organization's new time zone", async () => {
    const { organization, key } = await makeWorld();
    const now = () => Date.parse('2026-11-21T20:00:00Z');
    const move = () => importRecords({ ...ORGANIZATION, id: organization, timeZone: 'Asia/Tokyo' });
    const response = await makeApi({ now, bindings: { DB: beforeBatch(move) } }).postTime(key);
    expect(response.status).toBe(201);
    expect(await response.json()).toMatchObject({ entry: { workDate: '2026-11-22T00:00:00.000Z' } });
    expect(await recordsOf(organization)).toHaveLength(1);
  });
});
