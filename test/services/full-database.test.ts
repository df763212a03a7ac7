import { env } from 'cloudflare:workers';
import { describe, expect, test } from 'vitest';
import { aroundD1, withoutWrites } from '../support/d1.ts';
import { makeSettings, signIn } from '../support/settings.ts';
import { makeApi, makeKey, NOTE, revoke, rowsOf, TIME } from '../support/world.ts';

/** Messages of D1 and of SQLite. */
const NO_WRITES = {
  full: 'D1_ERROR: Exceeded maximum DB size',
  'of a full account': 'D1_ERROR: Exceeded maximum account storage limit.',
  'full, as SQLite says it': 'D1_ERROR: database or disk is full: SQLITE_FULL',
  'read-only': 'D1_ERROR: attempt to write a readonly database: SQLITE_READONLY',
};

/** An organization with a key, and with a form that revokes the key through an app. */
async function makeRevocable() {
  const { organization, headers, base } = await makeSettings();
  const key = await makeKey(organization);
  const revokeThrough = async (api: ReturnType<typeof makeApi>) => {
    const response = await api.send(`${base}/keys/${key.id}/revoke`, { method: 'POST', body: '', headers });
    return { status: response.status, text: await response.text() };
  };
  return { organization, key, revokeThrough };
}

const once = { 'Idempotency-Key': 'once' };

describe.each(Object.entries(NO_WRITES))('a database that is %s', (_, message) => {
  const bindings = { DB: withoutWrites(env.DB, message) };
  const settings = { signIn: signIn.config };

  test('pings, replays and refusals work', async () => {
    const { organization, key } = await makeRevocable();
    const made = await (await makeApi().postNote(key.value, NOTE, once)).json<object>();
    const api = makeApi({ bindings });
    expect((await api.send('/api/v1/ping', { key: key.value })).status).toBe(200);
    const replay = await api.postNote(key.value, NOTE, once);
    expect([replay.status, await replay.json()]).toEqual([200, { ...made, idempotentReplay: true }]);
    expect((await api.postNote(key.value, NOTE, {}, '9999')).status).toBe(404);
    expect((await api.postTime(key.value, { ...TIME, userEmail: 'ivan@northwind.example' })).status).toBe(422);
    // Cached in this isolate since its ping.
    await revoke(organization, key.id);
    expect((await api.postNote(key.value, NOTE, once)).status).toBe(401);
  });

  test('a revocation fails, with a page about BLOCKED_KEYS, and that variable works', async () => {
    const { key, revokeThrough } = await makeRevocable();
    expect(await revokeThrough(makeApi({ bindings, config: settings }))).toMatchObject({
      status: 503,
      text: expect.stringContaining('BLOCKED_KEYS'),
    });
    expect((await makeApi({ bindings }).send('/api/v1/ping', { key: key.value })).status).toBe(200);
    for (const blocked of [key.id, key.hint]) {
      const api = makeApi({ bindings, config: { blockedKeys: new Set([blocked]) } });
      expect((await api.send('/api/v1/ping', { key: key.value })).status).toBe(401);
      expect((await api.postNote(key.value, NOTE, once)).status).toBe(401);
    }
  });
});

test('a write whose first acknowledgement was lost, and whose retry finds a full database, is read back', async () => {
  const { organization, key } = await makeRevocable();
  let batches = 0;
  const DB = aroundD1(env.DB, async (run, statements) => {
    if (statements === 1) return run();
    batches += 1;
    if (batches > 1) throw new Error(NO_WRITES.full);
    await run();
    throw new Error('D1_ERROR: Network connection lost.');
  });
  expect((await makeApi({ bindings: { DB } }).postNote(key.value, NOTE, once)).status).toBe(201);
  expect(await rowsOf('notes', organization)).toHaveLength(1);
});
