import { env } from 'cloudflare:workers';
import { beforeAll, describe, expect, test } from 'vitest';
import { generateKey } from '../../src/domain/api-key.ts';
import { call } from '../../src/rpc/call.ts';
import { listChanges } from '../../src/services/work/list-changes.ts';
import { reportingSize } from '../support/d1.ts';
import { loggedLines } from '../support/searched-logs.ts';
import { config, makeApi, makeWorld } from '../support/world.ts';

const GB = 1_000_000_000;

let world: Awaited<ReturnType<typeof makeWorld>>;
beforeAll(async () => {
  world = await makeWorld();
});

/** A database whose size the test sets, as a new isolate meets it. */
function makeSized(bytes: number) {
  const size = { bytes };
  return { size, DB: reportingSize(env.DB, () => size.bytes) };
}

/** An API on such a database, and a request that reads from it. */
function makeSizedApi(bytes: number, databaseLimit = 10 * GB) {
  const { size, DB } = makeSized(bytes);
  const api = makeApi({ bindings: { DB }, config: { databaseLimit } });
  /** Reports a size of the database to the API, and returns the shares that it logs at a level. */
  const see = async (reported: number, level: 'warn' | 'error') => {
    size.bytes = reported;
    // Drop the lines of other levels.
    loggedLines('database_size');
    await api.send('/api/v1/ping', { key: generateKey(config().keyPrefix) });
    return loggedLines('database_size', level).map(({ share }) => share);
  };
  return { api, see };
}

describe('a database whose size crosses 70% or 90% of its limit', () => {
  test('the size is logged at the call that reads it, with the request id', async () => {
    const { api } = makeSizedApi(7.2 * GB);
    const response = await api.postNote(world.key);
    expect(response.status).toBe(201);
    expect(loggedLines('database_size', 'warn')).toEqual([
      { event: 'database_size', requestId: response.headers.get('X-Request-Id'), bytes: 7.2 * GB, share: 0.72 },
    ]);
  });

  test('the size is logged once for each threshold, and again only after it fell below it', async () => {
    const { see } = makeSizedApi(0);
    expect(await see(6.99 * GB, 'warn')).toEqual([]);
    expect(await see(7 * GB, 'warn')).toEqual([0.7]);
    expect(await see(8.9 * GB, 'warn')).toEqual([]);
    expect(await see(9 * GB, 'error')).toEqual([0.9]);
    expect(await see(9.9 * GB, 'error')).toEqual([]);
    expect(await see(8 * GB, 'warn')).toEqual([]);
    expect(await see(9.1 * GB, 'error')).toEqual([0.91]);
    expect(await see(1 * GB, 'warn')).toEqual([]);
    expect(await see(7.5 * GB, 'warn')).toEqual([0.75]);
  });

  test('the size is logged once as an error if it crosses both thresholds together', async () => {
    const { api } = makeSizedApi(9.5 * GB);
    await Promise.all(Array.from({ length: 5 }, () => api.postTime(world.key)));
    expect(loggedLines('database_size').map(({ share }) => share)).toEqual([0.95]);
    const { see } = makeSizedApi(0);
    expect(await see(9.5 * GB, 'error')).toEqual([0.95]);
  });

  test("the size is measured against the deployment's limit", async () => {
    const { see } = makeSizedApi(0, 500_000_000);
    expect(await see(0.4 * GB, 'warn')).toEqual([0.8]);
  });

  test('the size is logged by a write with a cached key', async () => {
    const { size, DB } = makeSized(1 * GB);
    const api = makeApi({ bindings: { DB } });
    await api.postNote(world.key);
    loggedLines('database_size');
    size.bytes = 8 * GB;
    await api.postNote(world.key);
    expect(loggedLines('database_size', 'warn')).toMatchObject([{ share: 0.8 }]);
  });

  test('the size is logged by a call over a service binding', async () => {
    const { DB } = makeSized(9 * GB);
    const request = { organization: world.organization, cursor: null, limit: 1 };
    const answered = await call({ ...env, DB }, (ctx) => listChanges(ctx, request));
    expect(answered).toMatchObject({ ok: true });
    expect(loggedLines('database_size', 'error')).toMatchObject([{ requestId: expect.any(String), share: 0.9 }]);
  });
});
