import { expect, test } from 'vitest';
import { changeApiKey } from '../../../src/services/keys/change-key.ts';
import { changeKeyRules } from '../../../src/services/keys/change-key-rules.ts';
import { createApiKey } from '../../../src/services/keys/create-key.ts';
import { getOwnKey } from '../../../src/services/keys/read-keys.ts';
import { revokeAllKeys, revokeAsAdministrator } from '../../../src/services/keys/revoke-key.ts';
import type { AdminContext } from '../../../src/services/service-context.ts';
import { asAdmin, BOTH_SCOPES, makeWorld, NO_KEY_RULES, rowsOf } from '../../support/world.ts';

const CHANGES: [string, (ctx: AdminContext, keyId: string) => Promise<unknown>][] = [
  ['creates no key', (ctx) => createApiKey(ctx, 'twb', { name: 'n8n', scopes: BOTH_SCOPES })],
  ['changes no key', async (ctx, id) => changeApiKey(ctx, await getOwnKey(ctx, id), { name: 'n8n' })],
  ['revokes no key', (ctx, id) => revokeAsAdministrator(ctx, id)],
  ['does not revoke all keys', (ctx) => revokeAllKeys(ctx)],
  ['changes no key rules', (ctx) => changeKeyRules(ctx, 0, { ...NO_KEY_RULES, maxLifetimeDays: 10 })],
];

test.each(CHANGES)('a user who is not an administrator %s', async (_, change) => {
  const { organization, keyId } = await makeWorld();
  const tables = () =>
    Promise.all((['api_keys', 'key_rules', 'audit_log'] as const).map((table) => rowsOf(table, organization)));
  const before = await tables();
  const asTechnician = { ...asAdmin(organization), actor: { organizationId: organization, userId: 'tess' } };
  await expect(change(asTechnician, keyId)).rejects.toMatchObject({ code: 'not_administrator' });
  expect(await tables()).toEqual(before);
});
