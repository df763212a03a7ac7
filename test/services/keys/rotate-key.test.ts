import { env } from 'cloudflare:workers';
import { describe, expect, test } from 'vitest';
import { getOwnKey } from '../../../src/services/keys/read-keys.ts';
import { asAdmin, makeApi, makeKey, makeOrganization, revoke, rotate, rowsOf } from '../../support/world.ts';

describe('a rotation chain', () => {
  test("the chain keeps its first key's id", async () => {
    const organization = await makeOrganization();
    const first = await makeKey(organization);
    const second = await rotate(organization, first.id, { grace: '1h' });
    const third = await rotate(organization, second.id, { grace: 'now' });
    const chains = (await rowsOf('api_keys', organization)).map(({ id, chain_id }) => [id, chain_id]);
    expect(chains).toEqual([first, second, third].map(({ id }) => [id, first.id]));
  });

  test('the chain shares one limit, so that rotating a key does not multiply it', async () => {
    const organization = await makeOrganization();
    const api = makeApi({ config: { keyLimit: { quota: 2, windowMs: 10_000 } } });
    const first = await makeKey(organization);
    const second = await rotate(organization, first.id, { grace: '1h' });
    const ping = async (key: string) => (await api.send('/api/v1/ping', { key })).status;
    expect([await ping(first.value), await ping(second.value), await ping(first.value)]).toEqual([200, 200, 429]);
  });
});

describe('keys in their grace period', () => {
  /** An organization with a key, and with 50 replaced keys that still work, which is the maximum. */
  async function makeFullOrganization() {
    const organization = await makeOrganization();
    const { id } = await makeKey(organization);
    await env.DB.prepare(
      `insert into api_keys (organization_id, id, chain_id, name, hash, hint, scopes, created_at, created_by, expires_at, successor_id)
       select organization_id, 'old-' || value, chain_id, name, lower(hex(randomblob(32))), hint, scopes, created_at, created_by, ?3, 'new-' || value
       from api_keys, json_each(?1) where organization_id = ?2`,
    )
      .bind(JSON.stringify(Array.from({ length: 50 }, (_, i) => i)), organization, Date.now() + 3_600_000)
      .run();
    return { organization, id };
  }

  test('at most 50 keys can be in their grace period: one more such rotation is refused, and nothing is written', async () => {
    const { organization, id } = await makeFullOrganization();
    const before = await rowsOf('audit_log', organization);
    await expect(rotate(organization, id, { grace: '1h' })).rejects.toMatchObject({
      errors: [{ pointer: '/grace', code: 'too_many' }],
    });
    expect(await rowsOf('audit_log', organization)).toEqual(before);
    expect(await getOwnKey(asAdmin(organization), id)).toMatchObject({ state: 'active', successor: null });
  });

  test('full grace periods never prevent a rotation that ends the old key immediately', async () => {
    const { organization, id } = await makeFullOrganization();
    const successor = await rotate(organization, id, { grace: 'now' });
    expect(await getOwnKey(asAdmin(organization), id)).toMatchObject({
      state: 'revoked',
      successor: { id: successor.id },
    });
  });

  test('revoking one key makes room for another rotation', async () => {
    const { organization, id } = await makeFullOrganization();
    await revoke(organization, 'old-7');
    await rotate(organization, id, { grace: '1h' });
  });
});
