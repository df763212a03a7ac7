import { describe, expect, test } from 'vitest';
import { countElements, elementsOf } from '../../support/page.ts';
import { makeSettings } from '../../support/settings.ts';
import { importRecords, makeKey, rowsOf } from '../../support/world.ts';

/** The fields of a valid form, of an organization without key rules. */
const KEY_RULES = { revision: '0', maxLifetimeDays: '90', expiryRequired: 'on' };

const now = () => Date.parse('2026-11-21T12:00:00Z');

/** The settings area of an organization with these key rules. */
async function makeWithKeyRules(rules: Record<string, string> = {}) {
  const settings = await makeSettings({ now });
  expect((await settings.post('/key-rules', { ...KEY_RULES, ...rules })).status).toBe(303);
  return settings;
}

const optionsOf = async (page: string) =>
  (await elementsOf(page, '[name=expires]:not([disabled])')).map(({ attributes }) => attributes['value']);
const selectedIn = async (page: string) =>
  (await elementsOf(page, '[name=expires][checked]')).map(({ attributes }) => attributes['value']);

describe('the page of the key rules', () => {
  test('shows the active administrators, when each last changed something here, and how to add one', async () => {
    const { organization, get, createKey } = await makeSettings();
    const user = { type: 'user', organization, admin: true };
    const email = (id: string) => `${id}@${organization}.example`;
    await importRecords(
      { ...user, id: 'zoe', name: 'Zoe', email: email('zoe') },
      { ...user, id: 'ida', name: 'Ida', email: email('ida'), active: false },
    );
    await createKey();
    const rows = (await elementsOf((await get('/key-rules')).text, 'tbody tr')).map(({ text }) => text.trim());
    expect(rows).toEqual([expect.stringMatching(/^Ada.*\d{4}, \d\d:\d\d$/), `Zoe${email('zoe')}None`]);
    expect((await get('/key-rules')).text).toContain('To add one, give the person the administrator role there');
  });

  test('saves the key rules and shows them again with the change', async () => {
    const { organization, base, get, post } = await makeSettings();
    const { status, location, notice } = await post('/key-rules', KEY_RULES);
    expect([status, location]).toEqual([303, `${base}/key-rules`]);
    expect(notice).toMatch(/Lifetime and expiration apply to keys that are created or rotated from now on\.$/);
    expect(await rowsOf('key_rules', organization)).toMatchObject([
      { max_lifetime_days: 90, expiry_required: 1, revision: 1 },
    ]);
    const { text } = await get('/key-rules');
    expect(await elementsOf(text, '#maxLifetimeDays')).toMatchObject([{ attributes: { value: '90' } }]);
    expect(await countElements(text, '[name=expiryRequired][checked]')).toBe(1);
    const history = (await get('/audit?action=key_rules.changed')).text;
    expect(await elementsOf(history, '.log .line')).toMatchObject([
      { text: expect.stringContaining('longest lifetime none to 90 days') },
    ]);
    for (const link of ['/audit?action=key_rules.changed', '/keys?expires=never'])
      expect(await countElements(text, `main a[href$="${link}"]`)).toBe(1);
    expect(await countElements(text, 'nav[aria-label=Settings] a[aria-current=page][href$="/key-rules"]')).toBe(1);
  });

  test('the minutes from which time is marked are 240 unless they are set', async () => {
    const { organization, get, post } = await makeSettings({ now });
    expect(await elementsOf((await get('/key-rules')).text, '#longMinutes')).toMatchObject([
      { attributes: { value: '240' } },
    ]);
    expect((await post('/key-rules', { ...KEY_RULES, longMinutes: '60' })).status).toBe(303);
    expect(await rowsOf('key_rules', organization)).toMatchObject([{ long_minutes: 60 }]);
    expect(await elementsOf((await get('/audit?action=key_rules.changed')).text, '.log .line')).toMatchObject([
      { text: expect.stringContaining('marked from 240 minutes to 60 minutes') },
    ]);
    for (const longMinutes of ['0', '1441', 'x']) {
      const { status, text } = await post('/key-rules', { ...KEY_RULES, revision: '1', longMinutes });
      expect([status, (await elementsOf(text, '#longMinutes-error'))[0]?.text]).toEqual([
        400,
        expect.stringContaining('Enter a whole number from 1 to 1,440'),
      ]);
    }
    await post('/key-rules', { ...KEY_RULES, revision: '1', longMinutes: '' });
    expect(await rowsOf('key_rules', organization)).toMatchObject([{ long_minutes: 240 }]);
  });

  test('does not overwrite a change that the form did not show', async () => {
    const { organization, post } = await makeWithKeyRules();
    const refused = await post('/key-rules', { ...KEY_RULES, maxLifetimeDays: '7' });
    expect(refused.status).toBe(409);
    // The form again with what was typed, a link to who changed what, and the revision that is now seen.
    expect(await elementsOf(refused.text, '#maxLifetimeDays, [name=revision]')).toMatchObject([
      { attributes: { value: '1' } },
      { attributes: { value: '7' } },
    ]);
    expect(await countElements(refused.text, '[role=alert] a[href$="/audit?action=key_rules.changed"]')).toBe(1);
    expect(await rowsOf('key_rules', organization)).toMatchObject([{ max_lifetime_days: 90, revision: 1 }]);
    const shown = new URLSearchParams({ maxLifetimeDays: '' });
    const merged = await post('/key-rules', { ...KEY_RULES, maxLifetimeDays: '', shown: shown.toString() });
    expect(await elementsOf(merged.text, '#maxLifetimeDays')).toMatchObject([{ attributes: { value: '90' } }]);
    const wrong = await post('/key-rules', { ...KEY_RULES, maxLifetimeDays: '9999' });
    expect([wrong.status, await countElements(wrong.text, '#maxLifetimeDays-error')]).toEqual([400, 1]);
    expect(await elementsOf(wrong.text, '#maxLifetimeDays, [name=revision]')).toMatchObject([
      { attributes: { value: '0' } },
      { attributes: { value: '9999' } },
    ]);
  });
});

describe('a form for a new key, under key rules', () => {
  test('the form offers only expirations that the key rules allow, and explains why', async () => {
    const { base, get } = await makeWithKeyRules();
    const { text } = await get('/new-key');
    expect(await optionsOf(text)).toEqual(['30', '90', 'date']);
    expect(await selectedIn(text)).toEqual(['90']);
    expect(await elementsOf(text, '[name=date]')).toMatchObject([{ attributes: { max: '2027-02-19' } }]);
    expect(await elementsOf(text, '#expires-help')).toMatchObject([
      { text: expect.stringContaining('allow at most 90 days.') },
    ]);
    expect(await countElements(text, `#expires-help a[href="${base}/key-rules"]`)).toBe(1);
  });

  test('the form preselects the last day if no lifetime in the list is short enough', async () => {
    const { get, createKey } = await makeWithKeyRules({ maxLifetimeDays: '7' });
    const { text } = await get('/new-key');
    expect([await optionsOf(text), await selectedIn(text)]).toEqual([['date'], ['date']]);
    expect(await elementsOf(text, '[name=date]')).toMatchObject([{ attributes: { value: '2026-11-28' } }]);
    expect((await createKey({ expires: 'date', date: '2026-11-28' })).status).toBe(200);
  });

  test('the form offers any date if only an expiration is required', async () => {
    const { get } = await makeWithKeyRules({ maxLifetimeDays: '' });
    const { text } = await get('/new-key');
    expect([await optionsOf(text), await selectedIn(text)]).toEqual([['30', '90', '365', 'date'], ['90']]);
    expect(text).toContain('require an expiration.');
  });

  test.each([
    ['no expiration', { expires: 'none' }, 'require an expiration of at most 90 days (until 2027-02-19)'],
    ['a longer lifetime', { expires: '365' }, 'expires was 2027-11-21'],
    ['a later date', { expires: 'date', date: '2027-02-20' }, 'expires was 2027-02-20'],
  ])('a form with %s is refused, and the error references field and rule', async (_, fields, rule) => {
    const { organization, createKey } = await makeWithKeyRules();
    const { status, text } = await createKey(fields);
    expect(status).toBe(400);
    const [error, ...others] = await elementsOf(text, '.error');
    expect([error?.attributes['id'], others]).toEqual(['expires-error', []]);
    expect(error?.text.toLowerCase()).toContain(rule);
    expect(await selectedIn(text)).toEqual(fields.expires === 'date' ? ['date'] : []);
    expect(await rowsOf('api_keys', organization)).toEqual([]);
  });
});

describe('a rotation under key rules', () => {
  test('the form proposes the old lifetime, but not a longer one than the key rules allow', async () => {
    const settings = await makeSettings({ now });
    const key = await makeKey(settings.organization, { expires: '2027-11-21' }, now);
    await settings.post('/key-rules', KEY_RULES);
    const { text } = await settings.get(`/keys/${key.id}/rotate`);
    expect(await optionsOf(text)).toEqual(['30', '90', 'date']);
    expect(await elementsOf(text, '[name=expires][checked]')).toMatchObject([{ attributes: { value: '90' } }]);
    const rotate = (fields: Record<string, string>) =>
      settings.post(`/keys/${key.id}/rotate`, { token: crypto.randomUUID(), grace: '1h', ...fields });
    const refused = await rotate({ expires: 'none' });
    expect([refused.status, await countElements(refused.text, '#expires-error')]).toEqual([400, 1]);
    expect((await rotate({ expires: '90' })).status).toBe(200);
  });
});

test('the key rules of one organization are neither shown to another nor changed by it', async () => {
  const [one, other] = [await makeWithKeyRules({ maxLifetimeDays: '77' }), await makeSettings({ now })];
  expect((await other.get('/key-rules')).text).not.toContain('value="77"');
  expect((await one.api.send(`${one.base}/key-rules`, { headers: other.headers })).status).toBe(404);
  const email = `ada@${one.organization}.example`;
  await importRecords({ type: 'user', organization: one.organization, id: 'ada', email, name: 'Ada', admin: false });
  expect((await one.post('/key-rules', { ...KEY_RULES, revision: '1' })).status).toBe(403);
});
