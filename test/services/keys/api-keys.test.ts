import { env } from 'cloudflare:workers';
import { describe, expect, test } from 'vitest';
import { changeApiKey } from '../../../src/services/keys/change-key.ts';
import { getOwnKey } from '../../../src/services/keys/read-keys.ts';
import { revokeAllKeys, revokeAsAdministrator } from '../../../src/services/keys/revoke-key.ts';
import { rotateApiKey } from '../../../src/services/keys/rotate-key.ts';
import { aroundD1 } from '../../support/d1.ts';
import { asAdmin, makeKey, makeOrganization, rowsOf } from '../../support/world.ts';

/** A key as its administrator reads it before changing it. */
async function read(organization: string, id: string) {
  return await getOwnKey(asAdmin(organization), id);
}

/**
 * The database, in which every transaction is committed twice: what a double click or a lost
 * acknowledgement comes to.
 */
const twice = () =>
  aroundD1(env.DB, async (run, statements) => {
    if (statements > 1) await run();
    return run();
  });

describe('revoking all keys', () => {
  test('is no lack of rights when another request has revoked the same ones', async () => {
    const organization = await makeOrganization();
    await makeKey(organization);
    await makeKey(organization);
    expect(await revokeAllKeys({ ...asAdmin(organization), db: twice() })).toBe(0);
    const revocations = (await rowsOf('audit_log', organization)).filter(({ action }) => action === 'api_key.revoked');
    expect(revocations).toHaveLength(2);
  });

  test('is refused to whoever is no administrator', async () => {
    const organization = await makeOrganization();
    await makeKey(organization);
    const asTechnician = { ...asAdmin(organization), actor: { organizationId: organization, userId: 'tess' } };
    await expect(revokeAllKeys(asTechnician)).rejects.toMatchObject({ code: 'not_administrator' });
    expect((await rowsOf('api_keys', organization)).map((row) => row['revoked_at'])).toEqual([null]);
  });
});

describe('the expiry of a new key', () => {
  const now = () => Date.parse('2026-11-21T12:00:00Z');
  const refused = (expires: string, code: string, why: string) => ({
    errors: [{ pointer: '/expires', code, detail: `expires was ${expires}, which ${why}` }],
  });

  test.each(['2026-11-20', '2026-11-21T12:00:00Z', '0001-01-01'])('of %s has passed', async (expires) => {
    const organization = await makeOrganization();
    const why = 'has passed; choose a later date';
    await expect(makeKey(organization, { expires }, now)).rejects.toMatchObject(refused(expires, 'out_of_range', why));
  });

  test.each(['2036-11-22', '2036-11-22T05:00:00.001Z', '9999-12-31', '9999-12-31T23:59:59-14:00'])(
    'of %s is too late',
    async (expires) => {
      const organization = await makeOrganization({ timeZone: 'America/New_York' });
      const why =
        'is more than 10 years from now; choose an earlier date, or leave it out for a key that never expires';
      await expect(makeKey(organization, { expires }, now)).rejects.toMatchObject(refused(expires, 'too_late', why));
      const old = await read(organization, (await makeKey(organization, {}, now)).id);
      const rotated = rotateApiKey(
        asAdmin(organization, now),
        'twb',
        old,
        { expires, grace: '1h' },
        crypto.randomUUID(),
      );
      await expect(rotated).rejects.toMatchObject(refused(expires, 'too_late', why));
    },
  );

  test('may be the end of this day in ten years where the organization is', async () => {
    const organization = await makeOrganization({ timeZone: 'America/New_York' });
    for (const expires of ['2036-11-21', '2036-11-22T05:00:00Z']) {
      expect(await makeKey(organization, { expires }, now)).toMatchObject({
        expiresAt: Date.parse('2036-11-22T05:00:00Z'),
      });
    }
  });
});

describe('changing a key', () => {
  test.each([
    ['limit', { name: 'n8n: triage', limit: { quota: 5, windowMs: 10_000 } }],
    ['window', { name: 'n8n: triage', limit: { quota: 7, windowMs: 5_000 } }],
    ['name', { name: 'Other', limit: { quota: 7, windowMs: 10_000 } }],
  ])('is overtaken by somebody else’s change of the %s, which stays', async (_, theirs) => {
    const organization = await makeOrganization();
    const { id } = await makeKey(organization);
    const old = await read(organization, id);
    expect(await changeApiKey(asAdmin(organization), old, theirs)).toBe('changed');
    const mine = { name: old.name, limit: { quota: 7, windowMs: 10_000 } };
    await expect(changeApiKey(asAdmin(organization), old, mine)).rejects.toMatchObject({
      code: 'key_changed_meanwhile',
    });
    expect(await read(organization, id)).toMatchObject(theirs);
  });

  test('whose acknowledgement was lost is a change', async () => {
    const organization = await makeOrganization();
    const { id } = await makeKey(organization);
    const old = await read(organization, id);
    const change = { name: 'Renamed', limit: { quota: 7, windowMs: 10_000 } };
    expect(await changeApiKey({ ...asAdmin(organization), db: twice() }, old, change)).toBe('changed');
    expect(await read(organization, id)).toMatchObject(change);
  });
});

test('a revocation without an answer does not claim that nothing was written', async () => {
  const organization = await makeOrganization();
  const { id } = await makeKey(organization);
  const db = aroundD1(env.DB, async (run) => {
    await run();
    throw new Error('D1_ERROR: no answer');
  });
  const revocation = revokeAsAdministrator({ ...asAdmin(organization), db }, id);
  await expect(revocation).rejects.toMatchObject({
    code: 'unavailable',
    detail: expect.not.stringContaining('Nothing was written'),
  });
  expect((await read(organization, id)).state).toBe('revoked');
});
