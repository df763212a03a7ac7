import { env } from 'cloudflare:workers';
import { describe, expect, test } from 'vitest';
import { DAY_MS } from '../../../src/domain/calendar.ts';
import { changeKeyRules } from '../../../src/services/keys/change-key-rules.ts';
import { createApiKey, replaceApiKey } from '../../../src/services/keys/create-key.ts';
import { getOwnKey } from '../../../src/services/keys/read-keys.ts';
import { recordRefusal } from '../../../src/services/keys/record-refusal.ts';
import { readUsesOfKey } from '../../../src/services/keys/refused-uses.ts';
import { revokeAllKeys } from '../../../src/services/keys/revoke-key.ts';
import { aroundD1, committingTwice, countD1 } from '../../support/d1.ts';
import { auditedActions, copyKey } from '../../support/settings.ts';
import {
  asAdmin,
  BOTH_SCOPES,
  makeKey,
  makeOrganization,
  NO_KEY_RULES,
  revoke,
  rotate,
  rowsOf,
} from '../../support/world.ts';

const input = { name: 'n8n: triage', scopes: ['tickets:note:write' as const] };

describe('a new key', () => {
  test('a key is created, and all keys are revoked, without reading ended keys', async () => {
    const organization = await makeOrganization();
    const { id } = await makeKey(organization);
    await copyKey(organization, id, { prefix: '0-', count: 500, revoked: true });
    await copyKey(organization, id, { prefix: '1-', count: 500 });
    await env.DB.prepare("update api_keys set expires_at = 1 where organization_id = ? and id like '1-%'")
      .bind(organization)
      .run();
    const { db, calls } = countD1(env.DB);
    const rowsRead = () => calls.splice(0).reduce((sum, call) => sum + call.rowsRead, 0);
    await createApiKey({ ...asAdmin(organization), db }, 'twb', { ...input, name: 'Another' });
    expect(rowsRead()).toBeLessThan(20);
    expect(await revokeAllKeys({ ...asAdmin(organization), db })).toBe(2);
    expect(rowsRead()).toBeLessThan(50);
  });
});

describe('the replacement of a key', () => {
  const REFUSED = { expired: 'expired', revoked: 'revoked', live: 'scope_missing' } as const;
  const STATES = ['expired', 'revoked', 'live'] as const;

  /** An organization with a key in a state. `replace` replaces it, and `read` returns the names and states of all keys. */
  async function makeReplaceable(state: (typeof STATES)[number]) {
    const organization = await makeOrganization();
    const then = () => Date.now() - 3 * DAY_MS;
    const expires = state === 'expired' ? new Date(Date.now() - DAY_MS).toISOString() : undefined;
    const { id } = await makeKey(organization, { ...input, ...(expires && { expires }) }, then);
    if (state === 'revoked') await revoke(organization, id);
    const old = await getOwnKey(asAdmin(organization), id);
    const grace = state === 'live' ? { grace: '1h' } : {};
    const replace = (changes = {}, formToken = crypto.randomUUID(), db = env.DB) =>
      replaceApiKey({ ...asAdmin(organization), db }, 'twb', old, { ...input, ...grace, ...changes }, formToken);
    const read = () => getOwnKey(asAdmin(organization), id);
    const actions = async () => (await auditedActions(organization)).slice(state === 'revoked' ? 2 : 1);
    return { organization, id, old, replace, read, actions };
  }

  test.each(STATES)('the new key becomes the successor of one that is %s, and ends its refused uses', async (state) => {
    const { organization, id, replace, read, actions } = await makeReplaceable(state);
    const of = { organizationId: organization, keyId: id };
    const ctx = asAdmin(organization, () => Date.now() - 60_000);
    await recordRefusal(ctx, of, { uses: { reason: REFUSED[state], count: 2, sourceAddress: null } });
    const open = async () => (await readUsesOfKey(asAdmin(organization), id)).filter((use) => use.needsAttention);
    expect(await open()).toHaveLength(1);
    const created = await replace({ scopes: BOTH_SCOPES, description: 'changed' });
    expect(await read()).toMatchObject({
      state: { ...STATE_AFTER, live: 'expiring' }[state],
      successor: { id: created.id },
    });
    expect(created.replaced.state).toBe((await read()).state);
    expect(await getOwnKey(asAdmin(organization), created.id)).toMatchObject({
      name: input.name,
      scopes: BOTH_SCOPES,
      description: 'changed',
      predecessor: { id },
    });
    const chains = (await rowsOf('api_keys', organization)).map((row) => row['chain_id']);
    expect(chains).toEqual([id, id]);
    expect(await actions()).toEqual(['api_key.rotated', 'api_key.created']);
    expect(await open()).toEqual([]);
    // The automation still sends the old key.
    await recordRefusal(asAdmin(organization), of, { uses: { reason: REFUSED[state], count: 1, sourceAddress: null } });
    expect(await open()).toMatchObject([{ count: 1, key: { successorId: created.id } }]);
  });
  const STATE_AFTER = { expired: 'expired', revoked: 'revoked' } as const;

  test('a missing scope stays missing if the new key does not have it either', async () => {
    const { organization, id, replace } = await makeReplaceable('live');
    const uses = { reason: 'scope_missing' as const, count: 1, sourceAddress: null };
    await recordRefusal(asAdmin(organization), { organizationId: organization, keyId: id }, { uses });
    await replace();
    expect(await readUsesOfKey(asAdmin(organization), id)).toMatchObject([{ needsAttention: true }]);
  });

  test.each([
    ['1h', 'expiring', ['api_key.rotated', 'api_key.created']],
    ['now', 'revoked', ['api_key.rotated', 'api_key.created', 'api_key.revoked']],
  ])('a key that works ends after its grace period: %s', async (grace, state, expected) => {
    const { organization, id, replace, read, actions } = await makeReplaceable('live');
    const uses = { reason: 'scope_missing' as const, count: 1, sourceAddress: null };
    await recordRefusal(asAdmin(organization), { organizationId: organization, keyId: id }, { uses });
    const { replaced } = await replace({ grace, scopes: BOTH_SCOPES });
    expect(await readUsesOfKey(asAdmin(organization), id)).toMatchObject([{ endsAt: expect.any(Number) }]);
    expect([replaced.state, (await read()).state]).toEqual([state, state]);
    expect(replaced.expiresAt).toBe((await read()).expiresAt);
    expect(await actions()).toEqual(expected);
  });

  test.each(STATES)('nothing changes if the key cannot be created: %s', async (state) => {
    const { organization, old, replace, read, actions } = await makeReplaceable(state);
    const down = aroundD1(env.DB, (run, statements) =>
      statements > 1 ? Promise.reject(new Error('D1 DB is overloaded. Too many requests queued.')) : run(),
    );
    await expect(replace({}, undefined, down)).rejects.toMatchObject({ code: 'unavailable' });
    const { id: other } = await makeKey(organization, { name: 'Other' });
    await expect(replace({ name: 'Other' })).rejects.toMatchObject({ errors: [{ code: 'taken' }] });
    await expect(replace({ grace: 'later' })).rejects.toMatchObject({ errors: [{ pointer: '/grace' }] });
    // Another administrator tightens the key rules while the form is sent.
    const tightened = aroundD1(env.DB, async (run, statements) => {
      const rules = { ...NO_KEY_RULES, maxLifetimeDays: 30, expiryRequired: true };
      if (statements > 1) await changeKeyRules(asAdmin(organization), 0, rules).catch(() => undefined);
      return run();
    });
    const refused = { errors: [{ code: 'key_rules_expiry_required' }] };
    await expect(replace({}, undefined, tightened)).rejects.toMatchObject(refused);
    await changeKeyRules(asAdmin(organization), 1, NO_KEY_RULES);
    await copyKey(organization, other, { prefix: 'many-', count: state === 'live' ? 98 : 99 });
    expect(await read()).toEqual(old);
    expect(await actions()).not.toContain('api_key.rotated');
    // A key that works makes room for its successor.
    if (state === 'live') await replace();
    else await expect(replace()).rejects.toMatchObject({ errors: [{ code: 'too_many' }] });
  });

  test.each(STATES)(
    'a form that is sent twice, or whose acknowledgement is lost, creates one key: %s',
    async (state) => {
      const { replace, actions } = await makeReplaceable(state);
      const token = crypto.randomUUID();
      const sent = await Promise.allSettled([1, 2, 3].map(() => replace({}, token, committingTwice(env.DB))));
      expect(sent.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      await expect(replace({}, token)).rejects.toMatchObject({ code: 'form_already_used' });
      await expect(replace()).rejects.toMatchObject({ code: 'key_already_rotated' });
      expect(await actions()).toEqual(['api_key.rotated', 'api_key.created']);
    },
  );

  test.each(['24h', 'now'])('a key that another administrator revokes meanwhile is not replaced: %s', async (grace) => {
    const { organization, id, replace, read, actions } = await makeReplaceable('live');
    await revoke(organization, id);
    await expect(replace({ grace })).rejects.toMatchObject({ code: 'key_changed_meanwhile' });
    expect(await read()).toMatchObject({ successor: null });
    expect(await actions()).toEqual(['api_key.revoked']);
  });

  test('full grace periods only prevent a replacement with a grace period', async () => {
    const { organization, id, replace, read } = await makeReplaceable('live');
    await copyKey(organization, id, { prefix: 'grace-', count: 50 });
    await env.DB.prepare(
      "update api_keys set successor_id = 's-' || id, expires_at = ? where organization_id = ? and id like 'grace-%'",
    )
      .bind(Date.now() + DAY_MS, organization)
      .run();
    await expect(replace()).rejects.toMatchObject({ errors: [{ pointer: '/grace', code: 'too_many' }] });
    await replace({ grace: 'now' });
    expect((await read()).state).toBe('revoked');
  });

  test('a key of another organization is not replaced', async () => {
    const [mine, theirs] = [await makeReplaceable('expired'), await makeReplaceable('expired')];
    const created = replaceApiKey(asAdmin(mine.organization), 'twb', theirs.old, input, crypto.randomUUID());
    await expect(created).rejects.toThrow();
    expect([await mine.read(), await theirs.read()]).toEqual([mine.old, theirs.old]);
  });
});

describe('the expiry of a new key', () => {
  const now = () => Date.parse('2026-11-21T12:00:00Z');
  const refused = (code: string) => ({ errors: [{ pointer: '/expires', code }] });

  test.each(['2026-11-20', '2026-11-21T12:00:00Z', '0001-01-01'])(
    'the expiry cannot be in the past: %s',
    async (expires) => {
      const organization = await makeOrganization();
      await expect(makeKey(organization, { expires }, now)).rejects.toMatchObject(refused('out_of_range'));
    },
  );

  test.each(['2036-11-22', '2036-11-22T05:00:00.001Z', '9999-12-31', '9999-12-31T23:59:59-14:00'])(
    'the expiry cannot be more than ten years from now, even for a successor: %s',
    async (expires) => {
      const organization = await makeOrganization({ timeZone: 'America/New_York' });
      await expect(makeKey(organization, { expires }, now)).rejects.toMatchObject(refused('too_late'));
      const { id } = await makeKey(organization, {}, now);
      const rotated = rotate(organization, id, { expires, grace: '1h' }, now);
      await expect(rotated).rejects.toMatchObject(refused('too_late'));
    },
  );

  test.each(['2036-11-21', '2036-11-22T05:00:00Z'])(
    "the expiry can be the end of the same day in ten years, in the organization's time zone: %s",
    async (expires) => {
      const organization = await makeOrganization({ timeZone: 'America/New_York' });
      const { expiresAt } = await makeKey(organization, { expires }, now);
      expect(expiresAt).toBe(Date.parse('2036-11-22T05:00:00Z'));
    },
  );
});
