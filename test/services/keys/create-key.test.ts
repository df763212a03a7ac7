import { env } from 'cloudflare:workers';
import { describe, expect, test } from 'vitest';
import { changeKeyRules } from '../../../src/services/keys/change-key-rules.ts';
import { createApiKey } from '../../../src/services/keys/create-key.ts';
import { getOwnKey } from '../../../src/services/keys/read-keys.ts';
import { revokeAllKeys } from '../../../src/services/keys/revoke-key.ts';
import { aroundD1, committingTwice, countD1 } from '../../support/d1.ts';
import { auditedActions, copyKey } from '../../support/settings.ts';
import { asAdmin, makeKey, makeOrganization, NO_KEY_RULES, revoke, rotate, rowsOf } from '../../support/world.ts';

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

describe('the replacement of an expired key', () => {
  /** An organization with an expired key. `replace` replaces it. */
  async function makeExpired() {
    const organization = await makeOrganization();
    const { id, value } = await makeKey(organization, { expires: '2026-01-02' }, () => Date.parse('2026-01-01'));
    const expired = await getOwnKey(asAdmin(organization), id);
    const replace = (name = expired.name, formToken = crypto.randomUUID(), db = env.DB) =>
      createApiKey({ ...asAdmin(organization), db }, 'twb', { ...input, name }, formToken, expired);
    const read = async () =>
      (await rowsOf('api_keys', organization)).map(({ name, revoked_at }) => [name, !!revoked_at]);
    return { organization, id, value, replace, read };
  }
  const UNTOUCHED = [['n8n: triage', false]];

  test.each(['n8n: triage', 'Another name'])(
    'the key is created and the expired one is revoked in one transaction, each with its audit row: %s',
    async (name) => {
      const { organization, replace, read } = await makeExpired();
      const { hint } = await replace(name);
      expect(await read()).toEqual([
        ['n8n: triage', true],
        [name, false],
      ]);
      const rows = (await rowsOf('audit_log', organization)).slice(1);
      expect(rows.map(({ action, detail }) => [action, detail])).toEqual([
        ['api_key.revoked', `replaced by ${hint}`],
        ['api_key.created', expect.stringMatching(`^${name}, replaces twb_`)],
      ]);
    },
  );

  test('nothing is revoked if the key cannot be created', async () => {
    const { organization, id, replace, read } = await makeExpired();
    const down = aroundD1(env.DB, (run, statements) =>
      statements > 1 ? Promise.reject(new Error('D1 DB is overloaded. Too many requests queued.')) : run(),
    );
    await expect(replace(undefined, undefined, down)).rejects.toMatchObject({ code: 'unavailable' });
    const { id: other } = await makeKey(organization, { name: 'Other' });
    await expect(replace('Other')).rejects.toMatchObject({ errors: [{ code: 'taken' }] });
    // Another administrator tightens the key rules while the form is sent.
    const tightened = aroundD1(env.DB, async (run, statements) => {
      const rules = { ...NO_KEY_RULES, maxLifetimeDays: 30, expiryRequired: true };
      if (statements > 1) await changeKeyRules(asAdmin(organization), 0, rules).catch(() => undefined);
      return run();
    });
    const refused = { errors: [{ code: 'key_rules_expiry_required' }] };
    await expect(replace(undefined, undefined, tightened)).rejects.toMatchObject(refused);
    await changeKeyRules(asAdmin(organization), 1, NO_KEY_RULES);
    await copyKey(organization, other, { prefix: 'many-', count: 99 });
    await expect(replace()).rejects.toMatchObject({ errors: [{ code: 'too_many' }] });
    expect((await read()).slice(0, 1)).toEqual(UNTOUCHED);
    expect(await auditedActions(organization)).not.toContain('api_key.revoked');
    expect((await getOwnKey(asAdmin(organization), id)).state).toBe('expired');
  });

  test('a form that is sent twice, or whose acknowledgement is lost, creates one key', async () => {
    const { organization, replace } = await makeExpired();
    const token = crypto.randomUUID();
    const sent = await Promise.allSettled([1, 2, 3].map(() => replace(undefined, token, committingTwice(env.DB))));
    expect(sent.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    const twice = replace(undefined, token);
    await expect(twice).rejects.toMatchObject({ code: 'form_already_used' });
    expect(await auditedActions(organization)).toEqual(['api_key.created', 'api_key.revoked', 'api_key.created']);
  });

  test('a key that another administrator revoked meanwhile is not revoked again, and the form says so', async () => {
    const { organization, id, replace, read } = await makeExpired();
    await revoke(organization, id);
    await expect(replace()).rejects.toMatchObject({ errors: [{ pointer: '', code: 'replaced_meanwhile' }] });
    expect(await read()).toEqual([['n8n: triage', true]]);
  });

  test('a live key and a key of another organization are not revoked', async () => {
    const { organization, value } = await makeExpired();
    const live = await makeKey(organization, { name: 'Live' });
    const { id: elsewhere } = await makeExpired();
    for (const other of [live.id, elsewhere]) {
      const replaced = { id: other, hint: value.slice(0, 8) };
      const created = createApiKey(
        asAdmin(organization),
        'twb',
        { ...input, name: 'New' },
        crypto.randomUUID(),
        replaced,
      );
      await expect(created).rejects.toThrow();
    }
    expect(await auditedActions(organization)).not.toContain('api_key.revoked');
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
