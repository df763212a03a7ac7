import { env } from 'cloudflare:workers';
import { describe, expect, test } from 'vitest';
import { getOwnKey, listKeys } from '../../../src/services/keys/read-keys.ts';
import { revokeAsAdministrator } from '../../../src/services/keys/revoke-key.ts';
import { rotateApiKey } from '../../../src/services/keys/rotate-key.ts';
import { asAdmin, config, makeApi, makeKey, makeOrganization, rowsOf } from '../../support/world.ts';

/** Rotates a key and returns its successor. */
async function rotate(organization: string, keyId: string, grace: string) {
  const old = await getOwnKey(asAdmin(organization), keyId);
  return rotateApiKey(asAdmin(organization), config().keyPrefix, old, { grace }, crypto.randomUUID());
}

describe('a rotation chain', () => {
  test('keeps the id of its first key', async () => {
    const organization = await makeOrganization();
    const first = await makeKey(organization);
    const second = await rotate(organization, first.id, '1h');
    const third = await rotate(organization, second.id, 'now');
    const chains = (await rowsOf('api_keys', organization)).map(({ id, chain_id }) => [id, chain_id]);
    expect(chains).toEqual([first, second, third].map(({ id }) => [id, first.id]));
  });

  test('shares one limit, so that rotating a key does not multiply it', async () => {
    const organization = await makeOrganization();
    const api = makeApi({ config: { keyLimit: { quota: 2, windowMs: 10_000 } } });
    const first = await makeKey(organization);
    const second = await rotate(organization, first.id, '1h');
    const ping = async (key: string) => (await api.send('/api/v1/ping', { key })).status;
    expect([await ping(first.value), await ping(second.value), await ping(first.value)]).toEqual([200, 200, 429]);
  });
});

describe('keys in their grace period', () => {
  /** An organization with as many replaced keys that still work as it may have. */
  async function full() {
    const organization = await makeOrganization();
    const { id } = await makeKey(organization);
    await env.DB.prepare(
      `insert into api_keys select organization_id, 'old-' || value, chain_id, name, lower(hex(randomblob(32))), hint, scopes, null, null,
       created_at, created_by, ?3, null, null, 'new-' || value, null
       from api_keys, json_each(?1) where organization_id = ?2`,
    )
      .bind(JSON.stringify(Array.from({ length: 50 }, (_, i) => i)), organization, Date.now() + 3_600_000)
      .run();
    return { organization, id };
  }

  test('are at most 50: one more rotation with a grace period is refused, and nothing is written', async () => {
    const { organization, id } = await full();
    const before = await rowsOf('audit_log', organization);
    await expect(rotate(organization, id, '1h')).rejects.toMatchObject({
      errors: [{ pointer: '/grace', code: 'too_many' }],
    });
    expect(await rowsOf('audit_log', organization)).toEqual(before);
    expect(await getOwnKey(asAdmin(organization), id)).toMatchObject({ state: 'active', successor: null });
  });

  test('never prevent a rotation that ends the old key at once', async () => {
    const { organization, id } = await full();
    const successor = await rotate(organization, id, 'now');
    expect(await getOwnKey(asAdmin(organization), id)).toMatchObject({
      state: 'revoked',
      successor: { id: successor.id },
    });
  });

  test('make room when one of them is revoked', async () => {
    const { organization, id } = await full();
    await revokeAsAdministrator(asAdmin(organization), 'old-7');
    await rotate(organization, id, '1h');
  });

  test('are all listed', async () => {
    const { organization } = await full();
    expect((await listKeys(asAdmin(organization))).live).toHaveLength(51);
  });
});
