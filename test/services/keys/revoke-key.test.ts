import { env } from 'cloudflare:workers';
import { describe, expect, test } from 'vitest';
import { getKeyAnywhere, getOwnKey } from '../../../src/services/keys/read-keys.ts';
import { revokeAllKeys, revokeAsAdministrator, revokeAsOperator } from '../../../src/services/keys/revoke-key.ts';
import { aroundD1, committingTwice } from '../../support/d1.ts';
import { asAdmin, asOperator, makeKey, makeOrganization, makeWorld, rowsOf } from '../../support/world.ts';

const actionsOf = async (organization: string) => (await rowsOf('audit_log', organization)).map(({ action }) => action);

describe('the revocation of all keys', () => {
  test('the revocation succeeds if another request has revoked the same keys', async () => {
    const organization = await makeOrganization();
    await makeKey(organization);
    await makeKey(organization);
    expect(await revokeAllKeys({ ...asAdmin(organization), db: committingTwice(env.DB) })).toBe(0);
    const [, , ...revocations] = await actionsOf(organization);
    expect(revocations).toEqual(['api_key.revoked', 'api_key.revoked']);
  });
});

describe('a revocation', () => {
  test('a lost acknowledgement is not reported as a failed write', async () => {
    const organization = await makeOrganization();
    const { id } = await makeKey(organization);
    const db = aroundD1(env.DB, async (run) => {
      await run();
      throw new Error('D1_ERROR: no response');
    });
    // Here only the detail tells the two apart.
    await expect(revokeAsAdministrator({ ...asAdmin(organization), db }, id)).rejects.toMatchObject({
      code: 'unavailable',
      detail: expect.not.stringContaining('Nothing was written'),
    });
    expect(await getOwnKey(asAdmin(organization), id)).toMatchObject({ state: 'revoked' });
  });

  test('a revocation whose audit row fails does not happen', async () => {
    const { organization, keyId } = await makeWorld();
    const trigger = `create trigger no_audit before insert on audit_log when new.organization_id = '${organization}'`;
    await env.DB.prepare(`${trigger} begin select raise(abort, 'no'); end`).run();
    const revocation = revokeAsOperator(asOperator(), { organization, key: keyId, by: 'Ada' });
    await expect(revocation).rejects.toThrow();
    await env.DB.prepare('drop trigger no_audit').run();
    expect(await getKeyAnywhere(asOperator(), { organization, key: keyId })).toMatchObject({ state: 'active' });
  });

  test('a revocation that is committed twice is audited once', async () => {
    const { organization, keyId } = await makeWorld();
    const request = { organization, key: keyId, by: 'Ada' };
    const db = committingTwice(env.DB);
    expect(await revokeAsOperator(asOperator(db), request)).toMatchObject({ status: 'already_revoked' });
    expect(await actionsOf(organization)).toEqual(['api_key.created', 'api_key.revoked']);
  });
});

describe('a revocation by an operator', () => {
  test('the audit log and the settings show the requester', async () => {
    const { organization, keyId } = await makeWorld();
    const by = 'Ada, phone call';
    const { revokedAt } = await revokeAsOperator(asOperator(), { organization, key: keyId, by });
    expect((await rowsOf('audit_log', organization)).at(-1)).toMatchObject({
      action: 'api_key.revoked',
      target_id: keyId,
      actor_type: 'system',
      actor_id: 'operator',
      actor_name: by,
      at: revokedAt,
    });
    expect(await getOwnKey(asAdmin(organization), keyId)).toMatchObject({
      state: 'revoked',
      revokedBy: `operator (${by})`,
    });
  });

  test('happens once, and reports the time', async () => {
    const { organization, keyId } = await makeWorld();
    const request = { organization, key: keyId, by: 'Ada' };
    const { revokedAt } = await revokeAsOperator(asOperator(), request);
    expect(await revokeAsOperator(asOperator(), request)).toEqual({ status: 'already_revoked', revokedAt });
    expect(await rowsOf('audit_log', organization)).toHaveLength(2);
  });
});
