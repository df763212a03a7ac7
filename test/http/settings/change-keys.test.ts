import { expect, test } from 'vitest';
import { changeApiKey } from '../../../src/services/keys/change-key.ts';
import { changeKeyRules } from '../../../src/services/keys/change-key-rules.ts';
import { getOwnKey } from '../../../src/services/keys/read-keys.ts';
import { countElements, elementsOf } from '../../support/page.ts';
import { makeSettings } from '../../support/settings.ts';
import { asAdmin, makeKey, toInput } from '../../support/world.ts';

/** The cells of each row of the page's table, and the value of each hidden field named `key`. */
async function tableOf(text: string) {
  const rows = Number(await countElements(text, 'tbody tr'));
  const cells = await elementsOf(text, 'tbody th, tbody td');
  const width = cells.length / rows;
  const key = (await elementsOf(text, 'input[type=hidden][name=key]')).map(
    ({ attributes }) => attributes['value'] ?? '',
  );
  const words = cells.map((cell) => cell.text.replaceAll(/\s+|twb_\S+/g, ' ').trim());
  return { key, rows: Array.from({ length: rows }, (_, row) => words.slice(row * width, (row + 1) * width)) };
}

/** The status of the list of keys that is shown again, and why: in a banner with the focus, which leads to the list. */
async function refusalIn({ status, text }: { status: number; text: string }) {
  expect(await countElements(text, '[autofocus]#errors a[href="#list"]')).toBe(1);
  expect(await countElements(text, '#list')).toBe(1);
  const words = (await elementsOf(text, '#errors'))[0]?.text.replaceAll(/\s+/g, ' ').trim();
  return [status, words?.replace(' Select keys in the list, then choose again below it.', '')];
}

test.each([
  ['owner', 'NOC', 'Its owner is now NOC; it was Tess.'],
  ['expires', '2027-06-30', 'It now expires on 30 Jun 2027; before, on 30 Apr 2027.'],
])('the result of a new value for %s names the old and the new one', async (change, to, words) => {
  const now = () => Date.parse('2027-03-22T12:00:00Z');
  const { organization, get, post } = await makeSettings({ now, timeZone: 'UTC' });
  const { id } = await makeKey(organization, { owner: 'Tess', expires: '2027-05-01T00:00:00Z' }, now);
  const { key } = await tableOf((await get(`/change-keys?do=${change}&key=${id}`)).text);
  const { rows } = await tableOf((await post('/change-keys', { do: change, key, to })).text);
  expect(rows.map(([, result]) => result)).toEqual([`Done. ${words}`]);
});

test('one form names the effect on each selected key, and its result says what happened to each', async () => {
  const { organization, api, get, post } = await makeSettings();
  const make = (name: string, allowedNetworks: string) =>
    makeKey(organization, { name, owner: 'Tess', allowedNetworks });
  const [one, two, open] = [
    await make('One', '192.0.2.0/24'),
    await make('Two', '192.0.2.0/24'),
    await make('Open', ''),
  ];
  await api.postNote(one.value, undefined, { 'CF-Connecting-IP': '192.0.2.9' });
  const everywhere = 'allowed from everywhere, so there is no list to add an address to';
  const query = `do=allowedNetworks&q=tess&${[one, two, open].map(({ id }) => `key=${id}`).join('&')}`;
  const asked = await get(`/change-keys?${query}`);
  const { key, rows } = await tableOf(asked.text);
  expect(rows.map(([name, effect, , last]) => [name, effect, last])).toEqual([
    ['One', 'In addition to 1 network', expect.stringContaining('192.0.2.9')],
    ['Open', `Left alone: it is ${everywhere}.`, 'Never'],
    ['Two', 'In addition to 1 network', 'Never'],
  ]);
  expect((await elementsOf(asked.text, 'h1'))[0]?.text).toContain('2 keys');
  const none = await get(`/change-keys?do=allowedNetworks&q=tess&key=${open.id}`);
  expect(await refusalIn(none)).toEqual([400, `This key is ${everywhere}.`]);
  expect(await countElements(none.text, `[name=key][value="${open.id}"][checked]`)).toBe(1);
  const form = { do: 'allowedNetworks', q: 'tess', key };
  const wrong = await post('/change-keys', { ...form, to: '203.0.113.300' });
  expect([wrong.status, await countElements(wrong.text, '[autofocus]#errors a[href="#to"]')]).toEqual([400, 1]);
  expect((await tableOf(wrong.text)).key).toEqual(key);
  expect((await elementsOf(wrong.text, '#to-error'))[0]?.text).toContain('You entered ');

  const admin = asAdmin(organization);
  await changeApiKey(admin, await getOwnKey(admin, two.id), toInput({ name: 'Two', owner: 'Tess' }));
  const done = await post('/change-keys', { ...form, to: '203.0.113.9' });
  expect([done.status, (await elementsOf(done.text, 'h1'))[0]?.text]).toEqual([409, '1 of 3 keys changed']);
  expect((await tableOf(done.text)).rows).toEqual([
    ['One', 'Done. Now also allowed: 203.0.113.9/32.'],
    ['Open', `Left alone. It is ${everywhere}.`],
    ['Two', 'Not changed. The key or the key rules were changed meanwhile.'],
  ]);
  expect((await getOwnKey(admin, one.id)).allowedNetworks).toBe('192.0.2.0/24 203.0.113.9/32');
});

test('before the expiry of keys is extended, the page says when each expires and how long the key rules allow it', async () => {
  const clock = { now: Date.parse('2027-03-01T12:00:00Z') };
  const now = () => clock.now;
  const { organization, get } = await makeSettings({ now, timeZone: 'UTC' });
  const old = await makeKey(organization, { name: 'Old', expires: '2027-04-20' }, now);
  clock.now += 14 * 86_400_000;
  const young = await makeKey(organization, { name: 'Young', expires: '2027-03-20' }, now);
  const path = `/change-keys?do=expires&key=${old.id}`;
  const effects = async () =>
    (await tableOf((await get(`${path}&key=${young.id}`)).text)).rows.map(([, effect]) => effect);
  expect(await effects()).toEqual(['Expires 20 Apr 2027 now', 'Expires 20 Mar 2027 now']);

  await changeKeyRules(asAdmin(organization, now), 0, { maxLifetimeDays: 30, expiryRequired: true });
  const limited = 'limited by the key rules to 30 days from creation; rotate instead';
  expect(await effects()).toEqual([
    `Left alone: it is ${limited}.`,
    'Expires 20 Mar 2027 now, at the latest 14 Apr 2027',
  ]);
  const asked = (await get(`${path}&key=${young.id}`)).text;
  expect((await elementsOf(asked, 'h1'))[0]?.text).toBe('Extend the expiry of 1 key');
  expect(await countElements(asked, '#to[type=date][max="2027-04-14"]')).toBe(1);
  expect((await elementsOf(asked, '#to-help'))[0]?.text).toContain('At the latest 14 Apr 2027');
  expect(await refusalIn(await get(path))).toEqual([400, `This key is ${limited}.`]);
});

test('a search without a selection is about all keys that it found; the plain list needs a selection', async () => {
  const { organization, get } = await makeSettings();
  for (const name of ['One', 'Two']) await makeKey(organization, { name, owner: 'Tess' });
  await makeKey(organization, { name: 'Other' });
  const asked = await get('/change-keys?do=owner&q=tess');
  expect((await elementsOf(asked.text, 'h1'))[0]?.text).toBe('Change the owner of 2 keys');
  expect(await countElements((await get('/change-keys?do=revoke&q=tess')).text, 'tbody tr')).toBe(2);
  for (const path of ['?do=x&q=tess', '?q=tess']) expect((await get(`/change-keys${path}`)).status).toBe(400);
  for (const path of ['?do=owner', '?do=revoke&sort=last']) {
    const none = await get(`/change-keys${path}`);
    expect(await refusalIn(none)).toEqual([400, 'No key was selected.']);
    expect(await countElements(none.text, '[type=checkbox][name=key]')).toBe(3);
  }
  const none = await get('/change-keys?do=revoke&q=nobody');
  expect(await refusalIn(none)).toEqual([400, 'These keys are already revoked.']);
});
