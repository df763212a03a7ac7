import { env } from 'cloudflare:workers';
import { describe, expect, test } from 'vitest';
import { changeApiKey } from '../../../src/services/keys/change-key.ts';
import { changeKeyRules } from '../../../src/services/keys/change-key-rules.ts';
import { changeSelectedKeys, type SharedChange } from '../../../src/services/keys/change-keys.ts';
import { getOwnKey } from '../../../src/services/keys/read-keys.ts';
import { aroundD1, committingTwice, countD1 } from '../../support/d1.ts';
import { copyKey } from '../../support/settings.ts';
import {
  asAdmin,
  type KeyOptions,
  makeApi,
  makeKey,
  makeOrganization,
  revoke,
  rotate,
  rowsOf,
  toInput,
} from '../../support/world.ts';

const START = Date.parse('2027-03-01T12:00:00Z');

/** An organization at a time that a test moves. `change` changes keys as an administrator who has seen them as they are. */
async function makeWorld() {
  const clock = { now: START };
  const now = () => clock.now;
  const organization = await makeOrganization();
  const admin = asAdmin(organization, now);
  const make = (name: string, changes: KeyOptions = {}) => makeKey(organization, { name, ...changes }, now);
  const seen = async (ids: readonly string[]) =>
    new Map(await Promise.all(ids.map(async (id) => [id, (await getOwnKey(admin, id)).revision] as const)));
  const change = async (ids: readonly string[], what: SharedChange, value: string, db = env.DB) => {
    const { outcomes } = await changeSelectedKeys({ ...admin, db }, await seen(ids), what, value);
    return outcomes.map(({ key, result, why = '' }) => [key.name, result, why]);
  };
  const details = async () =>
    (await rowsOf('audit_log', organization))
      .filter(({ action }) => action === 'api_key.changed')
      .map((row) => row['detail']);
  return { clock, now, organization, admin, make, seen, change, details };
}

const CONFLICT = 'The key or the key rules were changed meanwhile.';

describe('a change of several keys', () => {
  test('every key gets the owner, with an audit row each, and the outcome names every other key', async () => {
    const { organization, admin, make, seen, change, details } = await makeWorld();
    const [one, two, ended] = [await make('One', { owner: 'Tess' }), await make('Two'), await make('Ended')];
    const [foreign, other] = [await makeWorld(), await make('Other')];
    const theirs = await foreign.make('Theirs');
    await revoke(organization, ended.id);
    const shown = new Map([...(await seen([one.id, two.id, ended.id])), [theirs.id, 0], ['x', Number.NaN]]);
    await changeApiKey(admin, await getOwnKey(admin, two.id), toInput({ name: 'Two', description: 'New' }));
    const { outcomes } = await changeSelectedKeys(admin, shown, 'owner', '  Mo ');
    expect(outcomes.map(({ key, result, why }) => [key.name, result, why])).toEqual([
      ['Ended', 'left_alone', 'It is no longer in use.'],
      ['One', 'changed', 'Its owner is now Mo; it was Tess.'],
      ['Two', 'conflict', CONFLICT],
    ]);
    expect(await change([one.id], 'owner', 'Mo')).toEqual([['One', 'left_alone', 'It already has this value.']]);
    expect((await details()).slice(1)).toEqual(['owner "Tess" to "Mo"']);
    const owners = (await rowsOf('api_keys', organization)).map(({ name, owner }) => [name, owner]);
    expect(owners).toEqual(
      expect.arrayContaining([
        ['One', 'Mo'],
        ['Two', ''],
        [other.name, ''],
      ]),
    );
    expect((await rowsOf('api_keys', foreign.organization)).map(({ owner }) => owner)).toEqual(['']);
  });

  test('a change that another administrator makes in between is kept', async () => {
    const { admin, make, change } = await makeWorld();
    const [one, two] = [await make('One'), await make('Two')];
    let isFirst = true;
    const db = aroundD1(env.DB, async (run, statements) => {
      if (statements > 1 && isFirst) {
        isFirst = false;
        await changeApiKey(admin, await getOwnKey(admin, one.id), toInput({ name: 'One', owner: 'Ada' }));
      }
      return run();
    });
    expect(await change([one.id, two.id], 'owner', 'Mo', db)).toEqual([
      ['One', 'conflict', CONFLICT],
      ['Two', 'changed', 'Its owner is now Mo.'],
    ]);
    expect((await getOwnKey(admin, one.id)).owner).toBe('Ada');
  });

  test('a lost acknowledgement is no conflict, and changes nothing twice', async () => {
    const { make, change, details } = await makeWorld();
    const { id } = await make('One', { allowedNetworks: '192.0.2.1' });
    expect(await change([id], 'allowedNetworks', '192.0.2.2', committingTwice(env.DB))).toEqual([
      ['One', 'changed', 'Now also allowed: 192.0.2.2/32.'],
    ]);
    expect(await details()).toHaveLength(1);
  });

  test('140 keys are changed in two transactions, and the outcome names the keys of one that failed', async () => {
    const { organization, make, change } = await makeWorld();
    const { id } = await make('One');
    await copyKey(organization, id, { prefix: 'copy-', count: 139 });
    const ids = (await rowsOf('api_keys', organization)).map((row) => String(row['id']));
    const { db, calls } = countD1(env.DB);
    expect((await change(ids, 'owner', 'Mo', db)).filter(([, result]) => result === 'changed')).toHaveLength(140);
    // D1 allows 1,000 queries in an invocation.
    expect(calls.reduce((sum, { statements }) => sum + statements, 0)).toBeLessThan(500);
    let batches = 0;
    const failing = aroundD1(env.DB, (run, statements) => {
      if (statements > 1) batches += 1;
      return batches > 1 ? Promise.reject(new Error('D1 DB is overloaded. Too many requests queued.')) : run();
    });
    const results = (await change(ids, 'owner', 'Bo', failing)).map(([, result]) => result);
    expect([results.length, results.filter((result) => result === 'failed').length]).toEqual([140, 40]);
    expect((await rowsOf('api_keys', organization)).filter(({ owner }) => owner === 'Bo')).toHaveLength(100);
  });

  test.each<[SharedChange, string, string]>([
    ['owner', 'x'.repeat(101), '/owner'],
    ['allowedNetworks', '', '/allowedNetworks'],
    ['allowedNetworks', '0.0.0.0/0', '/allowedNetworks'],
    ['expires', '', '/expires'],
    ['expires', '2027-02-28', '/expires'],
    ['expires', '2037-03-02', '/expires'],
  ])('an invalid value is refused for all keys: %s %s', async (what, value, pointer) => {
    const { make, change, details } = await makeWorld();
    const { id } = await make('One', { expires: '2027-03-02', allowedNetworks: '192.0.2.1' });
    await expect(change([id], what, value)).rejects.toMatchObject({ code: 'invalid', errors: [{ pointer }] });
    expect(await details()).toEqual([]);
  });
});

test('an address is added to the networks of each key, and a key that is allowed from everywhere stays so', async () => {
  const { organization, make, change, now } = await makeWorld();
  const limited = await make('Limited', { allowedNetworks: '198.51.100.0/24' });
  const open = await make('Open');
  const full = await make('Full', { allowedNetworks: Array.from({ length: 20 }, (_, i) => `192.0.2.${i}`).join(' ') });
  const api = makeApi({ now });
  const write = () => api.postNote(limited.value, undefined, { 'CF-Connecting-IP': '203.0.113.9' });
  expect((await write()).status).toBe(401);
  await api.settled();
  expect(await change([limited.id, open.id, full.id], 'allowedNetworks', '203.0.113.9')).toEqual([
    ['Full', 'left_alone', 'It has 20 allowed networks, which is the limit.'],
    ['Limited', 'changed', 'Now also allowed: 203.0.113.9/32.'],
    ['Open', 'left_alone', 'It is allowed from everywhere, so there is no list to add an address to.'],
  ]);
  expect((await write()).status).toBe(201);
  // The refusal no longer needs attention.
  expect(await rowsOf('refused_uses', organization)).toMatchObject([{ ends_at: now() }]);
});

describe('a later expiry', () => {
  test('the keys work longer, each with an audit row, even in an isolate that has cached the key', async () => {
    const { clock, now, make, change, details } = await makeWorld();
    const key = await make('Soon', { expires: '2027-03-01' });
    const api = makeApi({ now });
    clock.now = (key.expiresAt ?? 0) - 30_000;
    expect((await api.postNote(key.value)).status).toBe(201);
    expect(await change([key.id], 'expires', '2027-03-31')).toEqual([
      ['Soon', 'changed', 'It now expires on 31 Mar 2027; before, on 1 Mar 2027.'],
    ]);
    const later = 'It already expires later, on 31 Mar 2027.';
    expect(await change([key.id], 'expires', '2027-03-20')).toEqual([['Soon', 'left_alone', later]]);
    clock.now += 45_000;
    expect((await api.postNote(key.value)).status).toBe(201);
    expect(await details()).toEqual(['expires 2027-03-01 to 2027-03-31']);
  });

  test('keys that never expire, expire later, were replaced or would break the key rules are left alone', async () => {
    const { clock, organization, admin, now, make, change } = await makeWorld();
    const never = await make('Never');
    const later = await make('Later', { expires: '2027-04-30' });
    const replaced = await make('Replaced', { expires: '2027-03-20' });
    clock.now += 1;
    const successor = await rotate(organization, replaced.id, { grace: '7d', expires: '2027-03-20' }, now);
    const old = await make('Old', { expires: '2027-03-20' });
    clock.now += 10 * 86_400_000;
    const young = await make('Young', { expires: '2027-03-20' });
    await changeKeyRules(admin, 0, { maxLifetimeDays: 30, expiryRequired: true });
    clock.now -= 5 * 86_400_000;
    const ids = [never, later, replaced, successor, old, young].map(({ id }) => id);
    const rule = 'The key rules allow it until 31 Mar 2027, 30 days from its creation.';
    expect(await change(ids, 'expires', '2027-04-01')).toEqual([
      ['Later', 'left_alone', 'It is limited by the key rules to 30 days from creation; rotate instead.'],
      ['Never', 'left_alone', 'It is set to never expire.'],
      ['Old', 'left_alone', rule],
      ['Replaced', 'left_alone', rule],
      ['Replaced', 'left_alone', 'It is replaced by a newer key.'],
      ['Young', 'changed', 'It now expires on 1 Apr 2027; before, on 20 Mar 2027.'],
    ]);
  });

  test('key rules that another administrator tightens at that moment apply', async () => {
    const { admin, make, change, details } = await makeWorld();
    const { id } = await make('Soon', { expires: '2027-03-10' });
    const db = aroundD1(env.DB, async (run, statements) => {
      if (statements > 1)
        await changeKeyRules(admin, 0, { maxLifetimeDays: 10, expiryRequired: true }).catch(() => undefined);
      return run();
    });
    expect(await change([id], 'expires', '2027-03-31', db)).toEqual([['Soon', 'conflict', CONFLICT]]);
    expect(await details()).toEqual([]);
  });
});
