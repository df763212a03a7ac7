import { env } from 'cloudflare:workers';
import { describe, expect, test, vi } from 'vitest';
import { generateKey, hashKey, keyHint } from '../../../src/domain/api-key.ts';
import { bearerValue } from '../../../src/http/middleware/authenticate.ts';
import { aroundD1 } from '../../support/d1.ts';
import { loggedLines } from '../../support/searched-logs.ts';
import { makeApi, makeKey, makeOrganization, revoke, rowsOf } from '../../support/world.ts';

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

// Directly: neither a `Headers` object nor this version of workerd keeps the white space.
describe('the value of Authorization', () => {
  test.each(['Bearer abc', ' Bearer abc', 'Bearer abc \t', '\tbearer  abc '])('the key is read from %j', (header) => {
    expect(bearerValue(header)).toBe('abc');
  });

  test.each([
    '',
    'Bearer',
    'Bearer ',
    'abc',
    'Basic abc',
    'Bearer\tabc',
    'Bearer abc x',
    'Bearer abc\u00a0',
    'Bearer abc\v',
  ])('no key is read from %j', (header) => {
    expect(bearerValue(header)).toBeUndefined();
  });
});

describe('a blocked key', () => {
  async function world() {
    const organization = await makeOrganization();
    return { organization, key: await makeKey(organization) };
  }
  const blockedBy = { id: ({ id }: { id: string }) => id, hint: ({ hint }: { hint: string }) => hint };

  // test/support/refusals.ts compares its response and its cost with those of other keys.
  test.each(Object.entries(blockedBy))(
    'a revoked key blocked by its %s is logged, and stores nothing',
    async (_, by) => {
      const { organization, key } = await world();
      await revoke(organization, key.id);
      const before = await rowsOf('audit_log', organization);
      const api = makeApi({ config: { blockedKeys: new Set([by(key)]) } });
      loggedLines('request');
      expect((await api.postNote(key.value)).status).toBe(401);
      expect(loggedLines('request')).toMatchObject([{ reason: 'blocked', key: key.id, organization }]);
      await api.settled();
      expect(await rowsOf('audit_log', organization)).toEqual(before);
      expect(await rowsOf('refused_uses', organization)).toEqual([]);
      expect(await rowsOf('notes', organization)).toEqual([]);
    },
  );

  test('a key blocked by its hint gets 401 even while D1 is down, and the failure is logged', async () => {
    const { key } = await world();
    const DB = aroundD1(env.DB, () => Promise.reject(new Error('D1_ERROR: no such table: SQLITE_ERROR')));
    const api = makeApi({ config: { blockedKeys: new Set([key.hint]) }, bindings: { DB } });
    expect((await api.send('/api/v1/ping', { key: key.value })).status).toBe(401);
    expect(loggedLines('blocked_key_not_read')).toHaveLength(1);
  });

  test('a hint blocks every key with that hint, and no other', async () => {
    const { organization, key } = await world();
    const twin = withHintOf(key.value);
    await env.DB.prepare('update api_keys set hash = ? where organization_id = ? and id = ?')
      .bind(await hashKey(twin), organization, (await makeKey(organization)).id)
      .run();
    const other = await makeKey(organization);
    const ping = async (blocked: string[], value: string) =>
      (await makeApi({ config: { blockedKeys: new Set(blocked) } }).send('/api/v1/ping', { key: value })).status;
    expect([keyHint(twin), twin === key.value]).toEqual([key.hint, false]);
    expect([await ping([], twin), await ping([key.id], twin), await ping([key.id], key.value)]).toEqual([
      200, 200, 401,
    ]);
    for (const value of [key.value, twin]) expect(await ping([key.hint], value)).toBe(401);
    expect(await ping([key.hint, key.id], other.value)).toBe(200);
  });
});

/** Another valid key value with the same hint: the same random bytes at both ends. */
function withHintOf(value: string): string {
  const [first = [], last = []] = [value.slice(4, 8), value.slice(40, 44)].map((end) =>
    Array.from(end, (one) => BASE62.indexOf(one)),
  );
  const random = vi.spyOn(crypto, 'getRandomValues').mockImplementation((array) => {
    if (array instanceof Uint8Array) array.set([...first, ...Array(32).fill(0), ...last]);
    return array;
  });
  const twin = generateKey('twb');
  random.mockRestore();
  return twin;
}
