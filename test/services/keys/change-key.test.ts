import { env } from 'cloudflare:workers';
import { expect, test } from 'vitest';
import type { RateLimitPolicy } from '../../../src/domain/rate-limit.ts';
import { changeApiKey } from '../../../src/services/keys/change-key.ts';
import { getOwnKey } from '../../../src/services/keys/read-keys.ts';
import { committingTwice } from '../../support/d1.ts';
import { asAdmin, makeKey, makeOrganization, rowsOf } from '../../support/world.ts';

interface Change {
  name: string;
  limit: RateLimitPolicy;
}

/**
 * A key of a new organization. `change` changes it, as an administrator who has read it as `old`.
 */
async function makeChangeableKey() {
  const organization = await makeOrganization();
  const { id } = await makeKey(organization);
  const admin = asAdmin(organization);
  const read = () => getOwnKey(admin, id);
  const old = await read();
  const change = (to: Change, db = env.DB) => changeApiKey({ ...admin, db }, old, to);
  return { organization, read, change };
}

const LIMIT = { quota: 7, windowMs: 10_000 };

test.each<[string, Change]>([
  ['limit', { name: 'n8n: triage', limit: { quota: 5, windowMs: 10_000 } }],
  ['window', { name: 'n8n: triage', limit: { quota: 7, windowMs: 5_000 } }],
  ['name', { name: 'Other', limit: LIMIT }],
])('a change is refused after another administrator changed the %s', async (_, theirs) => {
  const { read, change } = await makeChangeableKey();
  expect(await change(theirs)).toBe('changed');
  await expect(change({ name: 'n8n: triage', limit: LIMIT })).rejects.toMatchObject({ code: 'key_changed_meanwhile' });
  expect(await read()).toMatchObject(theirs);
});

test('a change to the name of another current key is refused', async () => {
  const { organization, read, change } = await makeChangeableKey();
  await makeKey(organization, { name: 'Other' });
  await expect(change({ name: 'Other', limit: LIMIT })).rejects.toMatchObject({
    errors: [{ pointer: '/name', code: 'taken' }],
  });
  expect(await read()).toMatchObject({ name: 'n8n: triage', limit: null });
});

test('a change whose acknowledgement was lost succeeds, and is audited once', async () => {
  const { organization, read, change } = await makeChangeableKey();
  const renamed = { name: 'Renamed', limit: LIMIT };
  expect(await change(renamed, committingTwice(env.DB))).toBe('changed');
  expect(await read()).toMatchObject(renamed);
  expect((await rowsOf('audit_log', organization)).map(({ action }) => action)).toEqual([
    'api_key.created',
    'api_key.changed',
  ]);
});
