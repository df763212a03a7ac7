import { env } from 'cloudflare:workers';
import { describe, expect, test } from 'vitest';
import type { KeyRules } from '../../../src/domain/key-rules.ts';
import { changeKeyRules, getKeyRules } from '../../../src/services/keys/change-key-rules.ts';
import { createApiKey } from '../../../src/services/keys/create-key.ts';
import { getOwnKey } from '../../../src/services/keys/read-keys.ts';
import { aroundD1, committingTwice } from '../../support/d1.ts';
import { asAdmin, makeKey, makeOrganization, NO_KEY_RULES, rotate, rowsOf } from '../../support/world.ts';

/** 21 November 2026, 23:30 in New York: already the 22nd in UTC. */
const now = () => Date.parse('2026-11-22T04:30:00Z');
const timeZone = 'America/New_York';

/** Sets the key rules of an organization to these rules and the default for the others. */
async function setKeyRules(organization: string, rules: Partial<KeyRules>): Promise<void> {
  const { revision } = await getKeyRules(asAdmin(organization));
  await changeKeyRules(asAdmin(organization, now), revision, { ...NO_KEY_RULES, ...rules });
}

async function organizationWith(rules: Partial<KeyRules>): Promise<string> {
  const organization = await makeOrganization({ timeZone });
  await setKeyRules(organization, rules);
  return organization;
}

const refuses = (change: Promise<unknown>, code: string) =>
  expect(change).rejects.toMatchObject({ code: 'invalid', errors: [{ pointer: '/expires', code }] });

describe('key rules with a longest lifetime of 30 days', () => {
  test.each(['2026-12-21', '2026-12-22T05:00:00Z', '2026-11-21'])(
    "a key is allowed until the end of the 30th day in the organization's time zone: %s",
    async (expires) => {
      const organization = await organizationWith({ maxLifetimeDays: 30 });
      const { id } = await makeKey(organization, { expires }, now);
      await rotate(organization, id, { expires, grace: '1h' }, now);
      expect(await rowsOf('api_keys', organization)).toHaveLength(2);
    },
  );

  test.each(['2026-12-22', '2026-12-22T05:00:00.001Z'])(
    'a later expiry is refused, even for a successor: %s',
    async (expires) => {
      const organization = await makeOrganization({ timeZone });
      const { id } = await makeKey(organization, {}, now);
      await setKeyRules(organization, { maxLifetimeDays: 30 });
      await refuses(makeKey(organization, { expires }, now), 'key_rules_lifetime');
      await refuses(rotate(organization, id, { expires, grace: 'now' }, now), 'key_rules_lifetime');
      expect(await rowsOf('api_keys', organization)).toHaveLength(1);
    },
  );

  test('the rules count calendar days over a change of the clock', async () => {
    const beforeSummer = () => Date.parse('2027-03-13T17:00:00Z');
    const organization = await organizationWith({ maxLifetimeDays: 1 });
    const { expiresAt } = await makeKey(organization, { expires: '2027-03-14' }, beforeSummer);
    expect(expiresAt).toBe(Date.parse('2027-03-15T04:00:00Z'));
  });
});

describe('key rules that require an expiration', () => {
  test('a key and a successor that never expire are refused, and any date is allowed', async () => {
    const organization = await makeOrganization();
    const { id } = await makeKey(organization);
    await setKeyRules(organization, { expiryRequired: true });
    await refuses(makeKey(organization), 'key_rules_expiry_required');
    await refuses(rotate(organization, id, { grace: '1h' }), 'key_rules_expiry_required');
    await makeKey(organization, { expires: '2036-11-20' }, now);
  });

  test('existing keys stay as they are', async () => {
    const organization = await makeOrganization();
    const { id } = await makeKey(organization);
    const before = await rowsOf('api_keys', organization);
    await setKeyRules(organization, { maxLifetimeDays: 1 });
    expect(await rowsOf('api_keys', organization)).toEqual(before);
    expect(await getOwnKey(asAdmin(organization), id)).toMatchObject({ state: 'active', expiresAt: null });
  });
});

describe('key rules that another administrator tightens during the creation of a key', () => {
  /** The database, in which the key rules change just before the first transaction with these words. */
  function tightenedBefore(words: string, organization: string) {
    let isDone = false;
    return aroundD1(env.DB, async (run, _, sql) => {
      if (!isDone && sql.some((text) => text.includes(words))) {
        isDone = true;
        await setKeyRules(organization, { maxLifetimeDays: 30 });
      }
      return run();
    });
  }

  test('the rules apply to the key', async () => {
    const organization = await makeOrganization();
    const ctx = { ...asAdmin(organization), db: tightenedBefore('insert into api_keys', organization) };
    const created = createApiKey(ctx, 'twb', { name: 'n8n', scopes: ['tickets:note:write'] });
    await refuses(created, 'key_rules_expiry_required');
    expect(await rowsOf('api_keys', organization)).toEqual([]);
    expect((await rowsOf('audit_log', organization)).map(({ action }) => action)).toEqual(['key_rules.changed']);
  });

  test('the rules apply to the successor, and the old key stays as it is', async () => {
    const organization = await makeOrganization();
    const { id } = await makeKey(organization);
    const before = await rowsOf('api_keys', organization);
    const { rotateApiKey } = await import('../../../src/services/keys/rotate-key.ts');
    const ctx = { ...asAdmin(organization), db: tightenedBefore('update api_keys', organization) };
    const old = await getOwnKey(ctx, id);
    const rotated = rotateApiKey(ctx, 'twb', old, { expires: '2036-01-01', grace: '1h' }, crypto.randomUUID());
    await refuses(rotated, 'key_rules_lifetime');
    expect(await rowsOf('api_keys', organization)).toEqual(before);
  });
});

describe('a change of the key rules', () => {
  test('a change is audited with the old and new rules', async () => {
    const organization = await organizationWith({ maxLifetimeDays: 90 });
    await setKeyRules(organization, { expiryRequired: true });
    const detail = 'longest lifetime none to 90 days, expiration required no to yes';
    expect(await rowsOf('audit_log', organization)).toMatchObject([
      { action: 'key_rules.changed', actor_id: 'ada', target_id: organization, detail },
      { detail: 'longest lifetime 90 days to none' },
    ]);
  });

  test('a change without a difference is not audited', async () => {
    const organization = await makeOrganization();
    expect(await changeKeyRules(asAdmin(organization), 0, NO_KEY_RULES)).toBe('unchanged');
    expect(await rowsOf('audit_log', organization)).toEqual([]);
    expect(await rowsOf('key_rules', organization)).toEqual([]);
  });

  test('a change is refused after another one, even at the same moment', async () => {
    const organization = await makeOrganization();
    const change = (maxLifetimeDays: number) =>
      changeKeyRules(asAdmin(organization), 0, { ...NO_KEY_RULES, maxLifetimeDays });
    const results = await Promise.allSettled([change(10), change(20)]);
    expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    await expect(change(30)).rejects.toMatchObject({ code: 'key_rules_changed_meanwhile' });
    expect(await rowsOf('audit_log', organization)).toHaveLength(1);
    expect(await getKeyRules(asAdmin(organization))).toMatchObject({ revision: 1 });
  });

  test('a change that is committed twice is saved and audited once', async () => {
    const organization = await makeOrganization();
    const ctx = { ...asAdmin(organization), db: committingTwice(env.DB) };
    expect(await changeKeyRules(ctx, 0, { ...NO_KEY_RULES, maxLifetimeDays: 10 })).toBe('changed');
    expect(await rowsOf('audit_log', organization)).toHaveLength(1);
  });
});
