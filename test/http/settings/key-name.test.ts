import { expect, test } from 'vitest';
import { countElements } from '../../support/page.ts';
import { makeSettings } from '../../support/settings.ts';
import { rowsOf } from '../../support/world.ts';

const GOOD = { scopes: 'tickets:note:write', expires: 'none' };

test('names that differ only in their Unicode form are one name', async () => {
  const { organization, post } = await makeSettings();
  const create = (name: string) => post('/keys', { ...GOOD, name, token: crypto.randomUUID() });
  expect((await create('cafe\u0301')).status).toBe(200);
  const again = await create('caf\u00e9');
  expect([again.status, await countElements(again.text, '#name-error')]).toEqual([400, 1]);
  expect((await rowsOf('api_keys', organization)).map(({ name }) => name)).toEqual(['caf\u00e9']);
});

test('a name with an invisible character is refused in the form, and the error shows the character', async () => {
  const { organization, post } = await makeSettings();
  for (const [name, which] of [
    ['a\u200db', 'U+200D'],
    ['\u3164', 'U+3164'],
  ] as const) {
    const { status, text } = await post('/keys', { ...GOOD, name, token: crypto.randomUUID() });
    expect(status).toBe(400);
    expect(text).toContain(`invisible character ${which}`);
  }
  expect(await rowsOf('api_keys', organization)).toEqual([]);
  const { status } = await post('/keys', { ...GOOD, name: 'می\u200cشود 👩\u200d💻', token: crypto.randomUUID() });
  expect(status).toBe(200);
});
