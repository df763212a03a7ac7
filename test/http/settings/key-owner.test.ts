import { expect, test } from 'vitest';
import { elementsOf } from '../../support/page.ts';
import { makeSettings } from '../../support/settings.ts';
import { rotate, rowsOf } from '../../support/world.ts';

test('a key stores a description and an owner, as one line each, and its successor keeps them', async () => {
  const { organization, createKey, get } = await makeSettings();
  await createKey({ description: '  Closes <b>alerts</b>\n of the night ', owner: 'NOC team' });
  const [key] = await rowsOf('api_keys', organization);
  const id = String(key?.['id']);
  expect(key).toMatchObject({ description: 'Closes <b>alerts</b> of the night', owner: 'NOC team' });
  const facts = (await elementsOf((await get(`/keys/${id}`)).text, 'dl.facts dd')).map(({ text }) => text.trim());
  expect(facts).toEqual(expect.arrayContaining(['Closes &lt;b&gt;alerts&lt;/b&gt; of the night', 'NOC team']));
  expect((await get('/keys.csv')).text).toContain('NOC team');
  await rotate(organization, id, { grace: '1h' });
  const owners = (await rowsOf('api_keys', organization)).map(({ owner, description }) => [owner, description]);
  expect(owners).toEqual([owners[0], owners[0]]);
});

test('a change of both is audited, and a form that showed other values is refused', async () => {
  const { organization, createKey, post } = await makeSettings();
  await createKey({ owner: 'NOC team' });
  const id = String((await rowsOf('api_keys', organization))[0]?.['id']);
  const change = (fields: Record<string, string>) =>
    post(`/keys/${id}/change`, { name: 'n8n prod', revision: '0', ...fields });
  expect((await change({ owner: 'Ada', description: 'x' })).notice).toContain('Saved');
  expect((await rowsOf('audit_log', organization)).at(-1)).toMatchObject({
    detail: 'owner "NOC team" to "Ada", description added: "x"',
  });
  expect((await change({ owner: 'Bob' })).status).toBe(409);
});

test.each([
  ['owner', 'x'.repeat(101), 'has 101 characters; send at most 100'],
  ['description', 'x'.repeat(201), 'has 201 characters; send at most 200'],
  ['description', 'a\0b', 'has a NUL character at position 2'],
])('%s is refused with its reason, and nothing is saved', async (field, value, reason) => {
  const { organization, createKey } = await makeSettings();
  const { status, text } = await createKey({ [field]: value });
  expect(status).toBe(400);
  expect(text).toContain(reason);
  expect(await rowsOf('api_keys', organization)).toEqual([]);
});
