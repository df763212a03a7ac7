import { expect, test } from 'vitest';
import { recordRefusedUses } from '../../../src/services/keys/refused-uses.ts';
import { elementsOf } from '../../support/page.ts';
import { makeSettings } from '../../support/settings.ts';
import { asOperator, makeKey } from '../../support/world.ts';

test('the page of a key shows its dry runs, which are no refused uses anywhere', async () => {
  const { organization, get } = await makeSettings();
  const { id } = await makeKey(organization);
  const facts = async () => (await elementsOf((await get(`/keys/${id}`)).text, 'dl')).map(({ text }) => text).join(' ');
  expect(await facts()).not.toContain('Dry runs');
  const use = { organizationId: organization, keyId: id, reason: 'dry_run', sourceAddress: '203.0.113.9' } as const;
  await recordRefusedUses(asOperator(), { ...use, count: 1_250 });
  expect((await facts()).replaceAll(/\s+/g, ' ')).toMatch(/Dry runs\s?at least 1,250, last .* from 203\.0\.113\.9/);
  expect((await get(`/keys/${id}`)).text).toContain('No refused uses.');
  expect((await get('/refused')).text).toContain('No refused uses.');
  expect((await get('/refused.csv')).text).not.toContain('203.0.113.9');
  expect((await get('/keys')).text).not.toContain('Needs attention');
});
