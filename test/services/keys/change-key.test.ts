import { env } from 'cloudflare:workers';
import { expect, test } from 'vitest';
import { keyChanges } from '../../../src/domain/key-input.ts';
import { changeApiKey } from '../../../src/services/keys/change-key.ts';
import { getOwnKey } from '../../../src/services/keys/read-keys.ts';
import { committingTwice } from '../../support/d1.ts';
import { asAdmin, makeKey, makeOrganization, revoke, rotate, rowsOf, toInput } from '../../support/world.ts';

interface Change {
  name: string;
  dayLimit?: { records?: number; minutes?: number };
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
  const change = (to: Change, db = env.DB) => changeApiKey({ ...admin, db }, old, toInput(to));
  return { organization, read, change };
}

/** The settings of a key that was changed so. */
const stored = (change: Change) => keyChanges.parse(toInput(change));

const MINE = { name: 'n8n: triage', dayLimit: { records: 20, minutes: 60 } };

test('a change to the name of another current key is refused', async () => {
  const { organization, read, change } = await makeChangeableKey();
  await makeKey(organization, { name: 'Other' });
  await expect(change({ ...MINE, name: 'Other' })).rejects.toMatchObject({
    errors: [{ pointer: '/name', code: 'taken' }],
  });
  expect(await read()).toMatchObject(stored({ name: 'n8n: triage' }));
});

test('a change whose acknowledgement was lost succeeds, and is audited once', async () => {
  const { organization, read, change } = await makeChangeableKey();
  const renamed = { ...MINE, name: 'Renamed' };
  expect(await change(renamed, committingTwice(env.DB))).toBe('changed');
  expect(await read()).toMatchObject(stored(renamed));
  expect((await rowsOf('audit_log', organization)).map(({ action }) => action)).toEqual([
    'api_key.created',
    'api_key.changed',
  ]);
});

test('the revision counts changes, the rotation and the revocation, each with its audit row', async () => {
  const organization = await makeOrganization();
  const { id } = await makeKey(organization);
  const admin = asAdmin(organization);
  const read = () => getOwnKey(admin, id);
  expect((await read()).revision).toBe(0);
  await changeApiKey(admin, await read(), { name: 'Zapier', owner: 'NOC' });
  expect((await read()).revision).toBe(1);
  const successor = await rotate(organization, id, { grace: '7d' });
  await revoke(organization, id);
  expect((await read()).revision).toBe(3);
  expect((await getOwnKey(admin, successor.id)).revision).toBe(0);
  const rotatedNow = await rotate(organization, successor.id, { grace: 'now' });
  expect((await getOwnKey(admin, successor.id)).revision).toBe(2);
  expect((await getOwnKey(admin, rotatedNow.id)).revision).toBe(0);
  const changed = (await rowsOf('audit_log', organization)).filter(({ action }) => action === 'api_key.changed');
  expect(changed).toMatchObject([{ detail: 'name "n8n: triage" to "Zapier", owner added: "NOC"' }]);
});

test('a change is refused after a rotation, even if no setting differs from the form', async () => {
  const { organization, read, change } = await makeChangeableKey();
  await rotate(organization, (await read()).id, { grace: '7d' });
  await expect(change({ name: 'Other' })).rejects.toMatchObject({ code: 'key_changed_meanwhile' });
});
