import { describe, expect, test } from 'vitest';
import { elementsOf } from '../../support/page.ts';
import { keyIn, makeSettings } from '../../support/settings.ts';
import { importRecords, makeKey, makeOrganization, rowsOf } from '../../support/world.ts';

// The organization has the companies acme, globex and initech.

const textOf = async (page: string, selector: string) => (await elementsOf(page, selector)).map(({ text }) => text);

/** The choice of companies in a form: what is checked, and what is offered. */
async function choiceIn(text: string) {
  const inputs = await elementsOf(text, 'input[name=companies]');
  const values = (of: typeof inputs) => of.map(({ attributes }) => attributes['value'] ?? '');
  return {
    checked: values(inputs.filter(({ attributes }) => 'checked' in attributes)),
    offered: values(inputs.filter(({ attributes }) => attributes['type'] === 'checkbox')),
  };
}

const companiesOf = async (organization: string) =>
  (await rowsOf('api_keys', organization)).map(({ companies }) => companies);

describe('the form of a new key', () => {
  test('begins with all companies, and a search offers those with the text in their name, or with the id', async () => {
    const { organization, get, createKey } = await makeSettings();
    await importRecords(
      { type: 'company', organization, id: 'c-7', name: 'Große Straße AG' },
      { type: 'company', organization, id: 'c-8', name: 'Straßenbau', active: false },
    );
    const few = ['acme', 'globex', 'c-7', 'initech'];
    const opened = (await get('/new-key')).text;
    expect(await choiceIn(opened)).toEqual({ checked: ['*'], offered: few });
    // All are listed, so there is nothing to search for.
    expect(await elementsOf(opened, '[name=find]')).toEqual([]);
    for (const [find, offered] of [
      ['STRASSE', []],
      [' straße ', ['c-7']],
      ['c-7', ['c-7']],
      ['l', ['globex']],
      ['nobody', []],
    ] as const) {
      const { status, text } = await createKey({ find, name: 'Kept' });
      expect([find, status, await choiceIn(text)]).toEqual([find, 200, { checked: [''], offered }]);
      expect(await elementsOf(text, '#name')).toMatchObject([{ attributes: { value: 'Kept' } }]);
      const [search] = await elementsOf(text, '[name=find]');
      expect(search?.attributes['name']).toBe('find');
      expect(search?.attributes['value']).toBeUndefined();
      // The page opens where the answer is.
      expect('autofocus' in (search?.attributes ?? {})).toBe(offered.length === 0);
      if (offered.length === 0) expect(text).toContain(`No other active company has “${find}” in its name.`);
    }
    expect(await companiesOf(organization)).toEqual([]);
  });

  test('lists no company before a search if there are more than twenty', async () => {
    const { organization, get } = await makeSettings();
    const company = { type: 'company', organization };
    await importRecords(
      ...Array.from({ length: 18 }, (_, at) => ({ ...company, id: `c${at}`, name: `Company ${at}` })),
    );
    const { text } = await get('/new-key');
    expect((await choiceIn(text)).offered).toEqual([]);
    expect(await elementsOf(text, '[name=find]')).toHaveLength(1);
  });

  test('says when a search finds more than twenty companies', async () => {
    const { organization, createKey } = await makeSettings();
    const company = { type: 'company', organization };
    await importRecords(
      ...Array.from({ length: 21 }, (_, at) => ({ ...company, id: `c${at}`, name: `Company ${at}` })),
    );
    const searched = async (find: string) => {
      const { text } = await createKey({ find });
      return [(await choiceIn(text)).offered.length, text.includes('There are more: enter more of the name.')];
    };
    expect([await searched('company'), await searched('company 1')]).toEqual([
      [20, true],
      [11, false],
    ]);
  });

  test('lists the first companies without a text', async () => {
    const { organization, createKey } = await makeSettings();
    const { status, text } = await createKey({ search: 'yes', find: '' });
    expect([status, await choiceIn(text)]).toEqual([200, { checked: [''], offered: ['acme', 'globex', 'initech'] }]);
    expect(await companiesOf(organization)).toEqual([]);
  });

  test('creates nothing while there is a text to search for, and keeps the companies that are selected', async () => {
    const { organization, createKey } = await makeSettings();
    const { text } = await createKey({ find: 'globex', companies: ['*', 'acme'] });
    expect(await choiceIn(text)).toEqual({ checked: ['', 'acme'], offered: ['acme', 'globex'] });
    expect(await companiesOf(organization)).toEqual([]);
    const created = await createKey({ companies: ['', 'globex', 'acme'] });
    expect(keyIn(created.text)).toMatch(/^twb_/);
    expect(await companiesOf(organization)).toEqual(['acme globex']);
  });

  test.each<[string, string[], string]>([
    ['no company', [''], 'The list has no company; choose at least one, or all companies.'],
    ['no choice', [], 'The list has no company; choose at least one, or all companies.'],
    ['an unknown company', ['', 'acme', 'hooli'], 'The list has "hooli", which is not a company of your organization.'],
    ['a company of another organization', ['', 'theirs'], 'The list has "theirs", which is not a company of your'],
    ['no id', ['', 'a/b'], 'The list has "a/b", which is not the id of a company.'],
    [
      'more than fifty companies',
      ['', ...Array.from({ length: 51 }, (_, number) => `c${number}`)],
      'The list has 51 companies; write at most 50.',
    ],
    ['a list that is too long', ['', 'c'.repeat(7_001)], 'characters; write at most 7000.'],
  ])('is refused with %s, and names it', async (_, companies, message) => {
    const other = await makeOrganization();
    await importRecords({ type: 'company', organization: other, id: 'theirs', name: 'Theirs' });
    const { organization, createKey } = await makeSettings();
    const { status, text } = await createKey({ companies });
    expect(status).toBe(400);
    expect((await textOf(text, '#companies-error')).join('').replaceAll('&quot;', '"')).toContain(message);
    expect(await companiesOf(organization)).toEqual([]);
  });

  test('examines the names of 5,000 companies, and finds the others by their id', async () => {
    const { organization, createKey } = await makeSettings();
    const records = Array.from({ length: 5_000 }, (_, number) => ({
      ...{ type: 'company', organization, id: `a-${number}`, name: `Branch ${number}` },
    }));
    await importRecords(...records, { type: 'company', organization, id: 'z-1', name: 'The last one' });
    const offered = async (find: string) => (await choiceIn((await createKey({ find })).text)).offered;
    expect(await offered('last one')).toEqual([]);
    expect(await offered('z-1')).toEqual(['z-1']);
    const branches = await offered('branch');
    expect([branches.length, branches.slice(0, 3)]).toEqual([20, ['a-0', 'a-1', 'a-2']]);
  });
});

describe('a key that is limited to companies', () => {
  async function limited() {
    const settings = await makeSettings();
    const key = await makeKey(settings.organization, { name: 'Bound', companies: 'globex acme' });
    const change = (companies: string | string[], more = {}) =>
      settings.post(`/keys/${key.id}/change`, { name: 'Bound', revision: '0', companies, ...more });
    return { ...settings, key, change };
  }

  test('is for all companies only after that choice', async () => {
    const { organization, get, key, change } = await limited();
    const form = (await get(`/keys/${key.id}/change`)).text;
    expect(await choiceIn(form)).toEqual({ checked: ['', 'acme', 'globex'], offered: ['acme', 'globex', 'initech'] });
    for (const companies of [[''], []]) expect((await change(companies)).status).toBe(400);
    expect(await companiesOf(organization)).toEqual(['acme globex']);
    expect((await change(['', 'globex', 'acme'])).notice).toContain('No changes to save.');
    expect((await change(['*', 'globex', 'acme'])).notice).toContain('Saved');
    expect(await companiesOf(organization)).toEqual(['']);
    const [{ detail } = {}] = (await rowsOf('audit_log', organization)).slice(-1);
    expect(detail).toBe('companies acme globex to any');
  });

  test('keeps a company that is no longer active, and every page marks it', async () => {
    const { organization, get, key, change } = await limited();
    await importRecords({ type: 'company', organization, id: 'acme', name: 'Acme', active: false });
    for (const path of [`/keys/${key.id}`, `/keys/${key.id}/change`])
      expect((await get(path)).text.replaceAll(/<[^>]*>/g, '')).toContain('Acme (acme, not active)');
    expect((await change(['', 'globex', 'acme'], { name: 'Renamed' })).notice).toContain('Saved');
    expect(await companiesOf(organization)).toEqual(['acme globex']);
  });

  test('is searched in its form without a change, even if the search looks like one', async () => {
    const { organization, change } = await limited();
    const { status, text } = await change(['*'], { find: 'in', confirmed: 'yes' });
    expect([status, await choiceIn(text)]).toEqual([200, { checked: [''], offered: ['initech'] }]);
    expect(await companiesOf(organization)).toEqual(['acme globex']);
  });

  test('shows them in the list, its file and its page', async () => {
    const { get, key } = await limited();
    expect((await textOf((await get('/keys')).text, 'td')).join(' ')).toContain('2 companies');
    expect((await get('/keys.csv')).text).toContain('"acme globex"');
    expect((await textOf((await get(`/keys/${key.id}`)).text, 'dd')).join(' ')).toContain(
      'Acme (acme), Globex (globex)',
    );
  });
});
