import { env } from 'cloudflare:workers';
import { beforeAll, describe, expect, test } from 'vitest';
import { changeApiKey } from '../../src/services/keys/change-key.ts';
import { getOwnKey } from '../../src/services/keys/read-keys.ts';
import { countLimiters } from '../support/limiter.ts';
import { asAdmin, makeApi, makeKey, makeOrganization, rowsOf, seenByProber, UNLIMITED } from '../support/world.ts';

const INSIDE = '203.0.113.7';
const OUTSIDE = '198.51.100.7';
const NETWORK = '203.0.113.0/24';
const from = (address: string, headers: Record<string, string> = {}) => ({ 'CF-Connecting-IP': address, ...headers });

/** A key for one network, in a new organization. */
async function makeLimitedKey(networks = NETWORK) {
  const organization = await makeOrganization();
  const key = await makeKey(organization, { networks });
  const change = async (next: string) => {
    const admin = asAdmin(organization);
    const shown = await getOwnKey(admin, key.id);
    return changeApiKey(admin, shown, { name: shown.name, allowedNetworks: next });
  };
  return { organization, key, change };
}

/** An isolate, in which limits are not reached. */
const makeIsolate = () => makeApi({ config: UNLIMITED });

/** The 401 of an unknown key. */
let refusal: Awaited<ReturnType<typeof seenByProber>>;
beforeAll(async () => {
  refusal = await seenByProber(await makeIsolate().send('/api/v1/ping'));
});

describe('a key with allowed networks', () => {
  test('writes and pings from inside them, and gets the constant 401 from elsewhere', async () => {
    const { organization, key } = await makeLimitedKey();
    const api = makeIsolate();
    for (let round = 0; round < 2; round++) {
      expect((await api.postNote(key.value, undefined, from(INSIDE))).status).toBe(201);
      expect((await api.send('/api/v1/ping', { key: key.value, headers: from(INSIDE) })).status).toBe(200);
      for (const answer of [
        api.postNote(key.value, undefined, from(OUTSIDE)),
        api.postTime(key.value, {}, from(OUTSIDE)),
        api.postNote(key.value, undefined, from(OUTSIDE), 'unheard-of'),
        api.send('/api/v1/ping', { key: key.value, headers: from(OUTSIDE) }),
        api.send('/api/v1/nothing', { key: key.value, headers: from(OUTSIDE) }),
        api.postNote(key.value, undefined, from('not an address')),
      ])
        expect(await seenByProber(await answer)).toEqual(refusal);
    }
    expect(await rowsOf('notes', organization)).toHaveLength(2);
  });

  test("a request from elsewhere is refused before the key's limit is touched", async () => {
    const { key } = await makeLimitedKey();
    const limiters = countLimiters(env.RATE_LIMITER);
    const api = makeApi({ bindings: { RATE_LIMITER: limiters.namespace } });
    expect((await api.postNote(key.value, undefined, from(OUTSIDE))).status).toBe(401);
    expect(limiters.names).toEqual([expect.stringMatching(/^ip:/)]);
  });
});

describe('a change of the networks acts immediately in every isolate that has cached the key:', () => {
  /** Isolates that have cached the key. */
  async function makeWarm(networks?: string) {
    const world = await makeLimitedKey(networks);
    const isolates = [makeIsolate(), makeIsolate()];
    for (const api of isolates) expect((await api.postNote(world.key.value, undefined, from(INSIDE))).status).toBe(201);
    return { ...world, isolates };
  }

  test('an address that is still allowed writes once, with the new list', async () => {
    const { organization, key, change, isolates } = await makeWarm();
    await change(`${NETWORK} 2001:db8::/48`);
    for (const api of isolates) expect((await api.postTime(key.value, undefined, from(INSIDE))).status).toBe(201);
    expect(await rowsOf('time_entries', organization)).toHaveLength(2);
  });

  test('an address that was added writes', async () => {
    const { key, change, isolates } = await makeWarm();
    for (const api of isolates) expect((await api.postNote(key.value, undefined, from(OUTSIDE))).status).toBe(401);
    await change('');
    for (const api of isolates) expect((await api.postNote(key.value, undefined, from(OUTSIDE))).status).toBe(201);
  });
});

test('a change is audited in words', async () => {
  const { organization, change } = await makeLimitedKey();
  await change(`${NETWORK},192.0.2.9`);
  const rows = await rowsOf('audit_log', organization);
  expect(rows.at(-1)).toMatchObject({ detail: 'allowed networks added: 192.0.2.9/32' });
});
