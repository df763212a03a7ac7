import { describe, expect, test } from 'vitest';
import { countElements, elementsOf } from '../../support/page.ts';
import { auditedActions, makeSettings } from '../../support/settings.ts';
import { importRecords, makeKey, rowsOf } from '../../support/world.ts';

/** The fields of a valid form, of an organization without a policy. */
const POLICY = { shown_revision: '0', max_lifetime: '90', expiry_required: 'on', unused: '30', review: '3' };

const now = () => Date.parse('2026-11-21T12:00:00Z');

/** The settings area of an organization with this policy. */
async function makeWithPolicy(policy: Record<string, string> = {}) {
  const settings = await makeSettings({ now });
  expect((await settings.post('/policy', { ...POLICY, ...policy })).status).toBe(303);
  return settings;
}

const optionsOf = async (page: string) =>
  (await elementsOf(page, '#expiration option')).map(({ attributes }) => attributes['value']);
const selectedIn = async (page: string) =>
  (await elementsOf(page, '#expiration option[selected]')).map(({ attributes }) => attributes['value']);

describe('the page of the policy', () => {
  test('saves the policy and shows it again with the change', async () => {
    const { organization, base, get, post } = await makeSettings();
    const { status, location } = await post('/policy', POLICY);
    expect([status, location]).toEqual([303, `${base}/policy?done=changed`]);
    expect(await rowsOf('key_policies', organization)).toMatchObject([
      { max_lifetime_days: 90, expiry_required: 1, unused_days: 30, review_months: 3, revision: 1 },
    ]);
    const { text } = await get('/policy?done=changed');
    expect(await elementsOf(text, '#max_lifetime, #unused')).toMatchObject([
      { attributes: { value: '90' } },
      { attributes: { value: '30' } },
    ]);
    expect(await countElements(text, '[name=expiry_required][checked]')).toBe(1);
    expect(await elementsOf(text, '#review option[selected]')).toMatchObject([{ attributes: { value: '3' } }]);
    expect(await elementsOf(text, '.changes dd')).toMatchObject([
      { text: expect.stringContaining('longest lifetime none to 90 days') },
    ]);
    expect(await countElements(text, 'nav[aria-label=Settings] a[aria-current=page][href$="/policy"]')).toBe(1);
  });

  test('marks every wrong field and keeps what was typed', async () => {
    const { organization, post } = await makeSettings();
    const { status, text } = await post('/policy', { ...POLICY, max_lifetime: '9999', unused: '', review: '5' });
    expect(status).toBe(400);
    expect((await elementsOf(text, '.error')).map(({ attributes }) => attributes['id'])).toEqual([
      'max_lifetime-error',
      'unused-error',
      'review-error',
    ]);
    expect(await elementsOf(text, '#max_lifetime')).toMatchObject([{ attributes: { value: '9999' } }]);
    expect(await rowsOf('key_policies', organization)).toEqual([]);
  });

  test('does not overwrite a change that the form did not show', async () => {
    const { organization, base, post } = await makeWithPolicy();
    const refused = await post('/policy', { ...POLICY, unused: '7' });
    expect([refused.status, await countElements(refused.text, `main a[href="${base}/policy"]`)]).toEqual([409, 1]);
    expect(await rowsOf('key_policies', organization)).toMatchObject([{ unused_days: 30, revision: 1 }]);
    const wrong = await post('/policy', { ...POLICY, unused: '0' });
    expect(await elementsOf(wrong.text, '[name=shown_revision]')).toMatchObject([{ attributes: { value: '0' } }]);
  });

  test.each(['', '-1', 'x', '1e3'])('refuses a form with the revision “%s”', async (revision) => {
    const { post } = await makeSettings();
    expect((await post('/policy', { ...POLICY, shown_revision: revision })).status).toBe(400);
  });

  test('refuses a form of another origin or media type', async () => {
    const { organization, post } = await makeSettings();
    expect((await post('/policy', POLICY, { Origin: 'https://evil.example' })).status).toBe(403);
    expect((await post('/policy', POLICY, { 'Content-Type': 'application/json' })).status).toBe(415);
    expect(await auditedActions(organization)).toEqual([]);
  });

  test('counts the keys that never expire, with a link to them', async () => {
    const { organization, base, get } = await makeSettings();
    const link = `a[href="${base}/keys?expires=never"]`;
    expect(await countElements((await get('/policy')).text, link)).toBe(0);
    await makeKey(organization);
    const { text } = await get('/policy');
    expect(text).toContain('1 existing key never expires');
    expect(await countElements(text, link)).toBe(1);
  });
});

describe('a form for a new key, under a policy', () => {
  test('offers only what the policy admits, and says why', async () => {
    const { base, get } = await makeWithPolicy();
    const { text } = await get('/new-key');
    expect(await optionsOf(text)).toEqual(['30', '60', '90', 'date']);
    expect(await selectedIn(text)).toEqual(['90']);
    expect(await elementsOf(text, '[name=date]')).toMatchObject([{ attributes: { max: '2027-02-19' } }]);
    expect(await elementsOf(text, '#expiration-help')).toMatchObject([
      { text: expect.stringContaining('allows at most 90 days.') },
    ]);
    expect(await countElements(text, `#expiration-help a[href="${base}/policy"]`)).toBe(1);
  });

  test('preselects the last day if no lifetime in the list is short enough', async () => {
    const { get, createKey } = await makeWithPolicy({ max_lifetime: '7' });
    const { text } = await get('/new-key');
    expect([await optionsOf(text), await selectedIn(text)]).toEqual([['date'], ['date']]);
    expect(await elementsOf(text, '[name=date]')).toMatchObject([{ attributes: { value: '2026-11-28' } }]);
    expect((await createKey({ expiration: 'date', date: '2026-11-28' })).status).toBe(200);
  });

  test('offers any date if only an expiration is required', async () => {
    const { get } = await makeWithPolicy({ max_lifetime: '' });
    const { text } = await get('/new-key');
    expect([await optionsOf(text), await selectedIn(text)]).toEqual([['30', '60', '90', '365', 'date'], ['365']]);
    expect(text).toContain('requires an expiration.');
  });

  test.each([
    ['no expiration', { expiration: 'none' }, 'requires an expiration of at most 90 days (until 2027-02-19)'],
    ['a longer lifetime', { expiration: '365' }, 'expires was 2027-11-21'],
    ['a later date', { expiration: 'date', date: '2027-02-20' }, 'expires was 2027-02-20'],
  ])('is refused with %s, and the error names field and rule', async (_, fields, rule) => {
    const { organization, createKey } = await makeWithPolicy();
    const { status, text } = await createKey(fields);
    expect(status).toBe(400);
    const [error, ...others] = await elementsOf(text, '.error');
    expect([error?.attributes['id'], others]).toEqual(['expiration-error', []]);
    expect(error?.text.toLowerCase()).toContain(rule);
    expect(await selectedIn(text)).toEqual(fields.expiration === 'date' ? ['date'] : []);
    expect(await rowsOf('api_keys', organization)).toEqual([]);
  });
});

describe('a rotation under a policy', () => {
  test('proposes the old lifetime, but not a longer one than the policy allows', async () => {
    const settings = await makeSettings({ now });
    const key = await makeKey(settings.organization, { expires: '2027-11-21' }, now);
    await settings.post('/policy', POLICY);
    const { text } = await settings.get(`/keys/${key.id}/rotate`);
    expect(await optionsOf(text)).toEqual(['30', '60', '90', 'date']);
    expect(await elementsOf(text, '[name=date]')).toMatchObject([{ attributes: { value: '2027-02-19' } }]);
    const rotate = (fields: Record<string, string>) =>
      settings.post(`/keys/${key.id}/rotate`, { token: crypto.randomUUID(), grace: '1h', ...fields });
    const refused = await rotate({ expiration: 'none' });
    expect([refused.status, await countElements(refused.text, '#expiration-error')]).toEqual([400, 1]);
    expect((await rotate({ expiration: '90' })).status).toBe(200);
  });
});

test('“unused” in the list of keys is what the policy says', async () => {
  const { organization, get } = await makeWithPolicy({ unused: '7' });
  await makeKey(organization, { expires: '2026-12-31' }, () => now() - 8 * 24 * 3_600_000);
  const links = (await elementsOf((await get('/keys')).text, '.attention a')).map(
    ({ attributes }) => attributes['href'],
  );
  expect(links).toContainEqual(expect.stringContaining('unused=7'));
});

test('the policy of one organization is not shown to another, and not changed by it', async () => {
  const [one, other] = [await makeWithPolicy({ unused: '77' }), await makeSettings({ now })];
  expect((await other.get('/policy')).text).not.toContain('77');
  expect((await one.api.send(`${one.base}/policy`, { headers: other.headers })).status).toBe(404);
  const email = `ada@${one.organization}.example`;
  await importRecords({ type: 'user', organization: one.organization, id: 'ada', email, name: 'Ada', admin: false });
  expect((await one.post('/policy', { ...POLICY, shown_revision: '1' })).status).toBe(403);
});
