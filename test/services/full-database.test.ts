import { env } from 'cloudflare:workers';
import { describe, expect, test } from 'vitest';
import { aroundD1, withoutWrites } from '../support/d1.ts';
import { loggedLines } from '../support/searched-logs.ts';
import { makeSignIn } from '../support/sign-in.ts';
import { importRecords, makeApi, makeKey, makeOrganization, NOTE, revoke, rowsOf, TIME } from '../support/world.ts';

// The night on which D1 takes no writes, and the one on which it is gone.

const signIn = await makeSignIn();

/** In D1's own words: its list of errors, and SQLite's result code. */
const NO_WRITES = {
  full: 'D1_ERROR: Exceeded maximum DB size',
  'of a full account': 'D1_ERROR: Exceeded maximum account storage limit.',
  'full, as SQLite says it': 'D1_ERROR: database or disk is full: SQLITE_FULL',
  'read-only': 'D1_ERROR: attempt to write a readonly database: SQLITE_READONLY',
};
async function world() {
  const organization = await makeOrganization();
  const email = `ada@${organization}.example`;
  await importRecords({ type: 'user', organization, id: 'ada', email, name: 'Ada', admin: true });
  const key = await makeKey(organization);
  /** Revokes a key as the administrator's browser does. */
  const revokeThrough = async (api: ReturnType<typeof makeApi>) => {
    const response = await api.send(`/settings/${organization}/keys/${key.id}/revoke`, {
      method: 'POST',
      body: '',
      headers: {
        'Cf-Access-Jwt-Assertion': await signIn.token(email),
        Origin: 'https://api.example',
        'Content-Type': 'application/x-www-form-urlencoded',
      },
    });
    return { status: response.status, text: await response.text() };
  };
  return { organization, key, revokeThrough };
}

const once = { 'Idempotency-Key': 'once' };

describe.each(Object.entries(NO_WRITES))('a database that is %s', (_, message) => {
  const bindings = { DB: withoutWrites(env.DB, message) };
  const settings = { signIn: signIn.config };

  test('writes nothing and says so: 503 with Retry-After, the key remembered or not, with an Idempotency-Key or without', async () => {
    const { organization, key } = await world();
    const api = makeApi({ bindings });
    loggedLines('unavailable');
    for (const answer of [
      await api.postNote(key.value),
      await api.postTime(key.value, TIME, once),
      await api.postTime(key.value),
    ]) {
      expect(answer.status).toBe(503);
      expect(answer.headers.get('Retry-After')).toBe('5');
      expect(await answer.json()).toMatchObject({
        code: 'unavailable',
        detail: expect.stringContaining('Nothing was written'),
      });
    }
    expect(loggedLines('unavailable')).toMatchObject(
      Array(3).fill({ cause: [expect.stringMatching(/^D1Failure: D1 read_only: /)] }),
    );
    expect([...(await rowsOf('notes', organization)), ...(await rowsOf('time_entries', organization))]).toEqual([]);
    expect((await makeApi().postTime(key.value, TIME, once)).status).toBe(201);
  });

  test('still answers what needs no write: ping, replays, and refusals of a bad ticket, a bad technician and a dead key', async () => {
    const { organization, key } = await world();
    const made = await (await makeApi().postNote(key.value, NOTE, once)).json<object>();
    const api = makeApi({ bindings });
    expect((await api.send('/api/v1/ping', { key: key.value })).status).toBe(200);
    const replay = await api.postNote(key.value, NOTE, once);
    expect([replay.status, await replay.json()]).toEqual([200, { ...made, idempotentReplay: true }]);
    expect((await api.postNote(key.value, NOTE, {}, '9999')).status).toBe(404);
    expect((await api.postTime(key.value, { ...TIME, userEmail: 'ivan@northwind.example' })).status).toBe(422);
    // Remembered by this isolate since its ping.
    await revoke(organization, key.id);
    expect((await api.postNote(key.value, NOTE, once)).status).toBe(401);
  });

  test('cannot revoke: the page says that the key still works and what to do, and blocking it works', async () => {
    const { key, revokeThrough } = await world();
    const answer = await revokeThrough(makeApi({ bindings, config: settings }));
    expect(answer.status).toBe(503);
    expect(answer.text).toContain(
      'The database is full or read-only, so the change was not saved. If you tried to revoke a key, the key still works.',
    );
    expect(answer.text).toContain('BLOCKED_KEYS');
    expect((await makeApi({ bindings }).send('/api/v1/ping', { key: key.value })).status).toBe(200);
    for (const blocked of [key.id, key.hint]) {
      const api = makeApi({ bindings, config: { blockedKeys: new Set([blocked]) } });
      expect((await api.send('/api/v1/ping', { key: key.value })).status).toBe(401);
      expect((await api.postNote(key.value, NOTE, once)).status).toBe(401);
    }
  });
});

test('a write whose first sending was lost, and whose second met a full database, is of unknown outcome until it is read back', async () => {
  const { organization, key } = await world();
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

describe('a database that is down', () => {
  const bindings = { DB: aroundD1(env.DB, () => Promise.reject(new Error('D1_ERROR: Network connection lost.'))) };

  test('leaves 503 for everybody but a key that is blocked by its hint', async () => {
    const { key, revokeThrough } = await world();
    const api = makeApi({ bindings, config: { signIn: signIn.config } });
    for (const answer of [await api.send('/api/v1/ping', { key: key.value }), await api.postNote(key.value)]) {
      expect(await answer.json()).toMatchObject({
        status: 503,
        code: 'unavailable',
        detail: expect.stringContaining('Nothing was written'),
      });
    }
    expect(await revokeThrough(api)).toMatchObject({ status: 503, text: expect.stringContaining('BLOCKED_KEYS') });
    const blockedBy = (blocked: string) => makeApi({ bindings, config: { blockedKeys: new Set([blocked]) } });
    expect((await blockedBy(key.hint).postNote(key.value)).status).toBe(401);
    expect((await blockedBy(key.id).postNote(key.value)).status).toBe(503);
  });
});
