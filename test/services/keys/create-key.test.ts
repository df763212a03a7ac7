import { env } from 'cloudflare:workers';
import { describe, expect, test } from 'vitest';
import { createApiKey } from '../../../src/services/keys/create-key.ts';
import { revokeAllKeys } from '../../../src/services/keys/revoke-key.ts';
import { countD1 } from '../../support/d1.ts';
import { copyKey } from '../../support/settings.ts';
import { asAdmin, makeKey, makeOrganization, revoke, rotate, rowsOf } from '../../support/world.ts';

const input = { name: 'n8n: triage', scopes: ['tickets:note:write' as const] };

describe('a new key', () => {
  test('a new key needs a name that no other current key uses', async () => {
    const organization = await makeOrganization();
    const { id } = await makeKey(organization);
    const create = () => createApiKey(asAdmin(organization), 'twb', input);
    await expect(create()).rejects.toMatchObject({ errors: [{ pointer: '/name', code: 'taken' }] });
    await revoke(organization, id);
    expect(await create()).toMatchObject({ name: input.name });
  });

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
    expect(rowsRead()).toBeLessThan(30);
  });

  test('a user who is not an administrator cannot create a key', async () => {
    const organization = await makeOrganization();
    const asTechnician = { ...asAdmin(organization), actor: { organizationId: organization, userId: 'tess' } };
    await expect(createApiKey(asTechnician, 'twb', input)).rejects.toMatchObject({ code: 'not_administrator' });
    expect(await rowsOf('api_keys', organization)).toEqual([]);
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
