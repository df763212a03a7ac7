import { describe, expect, test } from 'vitest';
import { DAY_MS } from '../../../src/domain/calendar.ts';
import { elementsOf } from '../../support/page.ts';
import { keyIn, makeSettings } from '../../support/settings.ts';
import { makeKey, rowsOf } from '../../support/world.ts';

const textOf = async (page: string, selector: string) => (await elementsOf(page, selector)).map(({ text }) => text);

describe('allowed networks', () => {
  test('allowed networks are entered with a new key, one on each line, and shown on its page', async () => {
    const { organization, createKey, get, api } = await makeSettings();
    const { text, status } = await createKey({ allowedNetworks: '203.0.113.0/24\r\n192.0.2.9\r\n' });
    expect(status).toBe(200);
    const [key] = await rowsOf('api_keys', organization);
    expect(key).toMatchObject({ allowed_networks: '203.0.113.0/24 192.0.2.9/32' });
    expect((await get(`/keys/${key?.['id']}`)).text).toContain('203.0.113.0/24');
    const from = (address: string) => ({ 'CF-Connecting-IP': address });
    expect((await api.postNote(keyIn(text), undefined, from('192.0.2.9'))).status).toBe(201);
    expect((await api.postNote(keyIn(text), undefined, from('192.0.2.8'))).status).toBe(401);
  });

  test('invalid networks are refused with the reason, and shown again in the open fold', async () => {
    const { organization, createKey } = await makeSettings();
    const { text, status } = await createKey({ allowedNetworks: '203.0.113.7/24' });
    expect(status).toBe(400);
    expect(text).toContain('write 203.0.113.0/24');
    expect(await textOf(text, 'textarea#allowedNetworks')).toEqual(['203.0.113.7/24']);
    expect(await elementsOf(text, 'details.advanced[open]')).toHaveLength(1);
    expect(await rowsOf('api_keys', organization)).toEqual([]);
  });

  test('the page shows the recent source addresses of the key beside the field', async () => {
    const { organization, api, get } = await makeSettings();
    const key = await makeKey(organization, { networks: '203.0.113.0/24' });
    for (const address of ['203.0.113.7', '198.51.100.9'])
      await api.postNote(key.value, undefined, { 'CF-Connecting-IP': address });
    await api.settled();
    const help = (await textOf((await get(`/keys/${key.id}/change`)).text, '#allowedNetworks-help')).join('');
    expect(help).toMatch(/Wrote in the last 30 days from.*203\.0\.113\.7.*Refused from.*198\.51\.100\.9/);
  });

  test('a change that shuts out recent use asks once more, and one click allows that use too', async () => {
    const { organization, api, post } = await makeSettings();
    const key = await makeKey(organization);
    await api.postNote(key.value, undefined, { 'CF-Connecting-IP': '52.20.13.44' });
    await api.postTime(key.value, undefined, { 'CF-Connecting-IP': '52.20.13.44' });
    const path = `/keys/${key.id}/change`;
    const form = {
      name: 'n8n: triage',
      allowedNetworks: '203.0.113.0/24',
      dayLimitRecords: '1',
      dayLimitMinutes: '',
      revision: '0',
    };
    const asked = await post(path, form);
    expect(asked.status).toBe(409);
    const question = (await textOf(asked.text, '.banner.warning')).join('').replaceAll(/\s+/g, ' ');
    expect(question).toMatch(
      /Not saved yet.*52\.20\.13\.44 wrote just now: about 2 writes\. *It wrote up to 2 new records a day\. *Allow 52\.20\.13\.44\/32 and 2 new records a day too/,
    );
    expect(await elementsOf(asked.text, '#form input[name=confirmed]')).toHaveLength(1);
    expect(await textOf(asked.text, '#form > .actions button')).toEqual(['Save anyway']);
    expect(await rowsOf('api_keys', organization)).toMatchObject([{ allowed_networks: '', revision: 0 }]);
    // A full list has no room for the address.
    const allowedNetworks = Array.from({ length: 20 }, (_, index) => `203.0.${index}.0/24`).join('\n');
    const full = await post(path, { ...form, allowedNetworks });
    expect([full.status, await textOf(full.text, '.banner button')]).toEqual([409, []]);

    const widened = await post(path, { ...form, widened: '52.20.13.44' });
    expect(widened.notice).toContain('Saved');
    const [saved] = await rowsOf('api_keys', organization);
    expect(saved).toMatchObject({ allowed_networks: '203.0.113.0/24 52.20.13.44/32', day_limit_records: 2 });

    const confirmed = await post(path, { ...form, confirmed: 'yes', revision: '1' });
    expect(confirmed.notice).toContain('Saved');
    expect(await rowsOf('api_keys', organization)).toMatchObject([
      { allowed_networks: '203.0.113.0/24', day_limit_records: 1 },
    ]);
    // What is already shut out is not asked about again.
    const other = await post(path, { ...form, allowedNetworks: '203.0.113.0/25', dayLimitRecords: '', revision: '2' });
    expect(other.notice).toContain('Saved');
  });

  test('the question shows every address that its button allows, and the button allows no other', async () => {
    let now = Date.now() - 8 * DAY_MS;
    const { organization, api, post } = await makeSettings({ now: () => now });
    const key = await makeKey(organization, {}, () => now);
    const write = (address: string) => api.postNote(key.value, undefined, { 'CF-Connecting-IP': address });
    const addresses = Array.from({ length: 7 }, (_, day) => `198.51.100.${day}`);
    for (const address of addresses) {
      await write(address);
      now += DAY_MS;
    }
    const path = `/keys/${key.id}/change`;
    const form = { name: 'n8n: triage', allowedNetworks: '192.0.2.0/24', revision: '0' };
    const asked = (await post(path, form)).text;
    const listed = (await textOf(asked, '.banner.warning li')).join('');
    for (const address of addresses) expect(listed).toContain(address);
    // The first button is the one that Enter presses.
    const buttons = await elementsOf(asked, 'button[type=submit][form=form], #form button[type=submit]');
    expect(buttons.map(({ attributes }) => [attributes['name'], 'disabled' in attributes])).toEqual([
      [undefined, true],
      ['widened', false],
      [undefined, false],
    ]);
    expect(await elementsOf(asked, '[autofocus]')).toEqual([]);

    await write('203.0.113.66');
    const widened = buttons[1]?.attributes['value'] ?? '';
    const again = await post(path, { ...form, widened });
    expect([again.status, (await textOf(again.text, '.banner.warning li')).join('')]).toEqual([
      409,
      expect.stringContaining('203.0.113.66'),
    ]);
    expect((await post(path, { ...form, widened: `${widened} 203.0.113.66` })).status).toBe(303);
  });

  test('no link enters an address in the form of a key', async () => {
    const { organization, get } = await makeSettings();
    const { id } = await makeKey(organization, { networks: '203.0.113.0/24' });
    const { text } = await get(`/keys/${id}/change?allow=198.51.100.9&allowedNetworks=198.51.100.9`);
    expect(await textOf(text, '#allowedNetworks')).toEqual(['203.0.113.0/24']);
  });

  test.each([
    ['198.51.100.9', '203.0.113.0/24\n198.51.100.9'],
    ['0.0.0.0/1', '203.0.113.0/24'],
    ['198.51.100.9 0.0.0.0/1', '203.0.113.0/24'],
    ['x', '203.0.113.0/24'],
    ['', '203.0.113.0/24'],
  ])('a button that allows %j opens the form with the networks %j, and saves nothing', async (allow, networks) => {
    const { organization, post } = await makeSettings();
    const { id } = await makeKey(organization, { networks: '203.0.113.0/24' });
    const { status, text } = await post(`/keys/${id}/change`, { allow });
    expect([status, await textOf(text, '#allowedNetworks'), await textOf(text, '#errors')]).toEqual([
      200,
      [networks],
      [],
    ]);
    expect(await rowsOf('api_keys', organization)).toMatchObject([{ allowed_networks: '203.0.113.0/24', revision: 0 }]);
  });

  test('the form that allows one more address says so, and neither restores a draft nor becomes one', async () => {
    const { organization, post, get } = await makeSettings();
    const { id } = await makeKey(organization, { networks: '203.0.113.0/24' });
    const open = async (form: Record<string, string>) => {
      const { text } = await post(`/keys/${id}/change`, form);
      return [await textOf(text, '#added'), (await elementsOf(text, '#form[data-draft]')).length];
    };
    expect(await open({ allow: '198.51.100.9' })).toEqual([['Not saved yet. Save also allows: 198.51.100.9Save'], 0]);
    expect(await open({ allow: '203.0.113.7' })).toEqual([[], 1]);
    expect(await elementsOf((await get(`/keys/${id}/change`)).text, '#form[data-draft]')).toHaveLength(1);
    // A key with as many networks as it can have is shown with all of them.
    const networks = Array.from({ length: 20 }, (_, at) => `203.0.113.${at}`).join('\n');
    const full = await makeKey(organization, { networks });
    const refused = (await post(`/keys/${full.id}/change`, { allow: '198.51.100.9' })).text;
    expect(await textOf(refused, '#added')).toEqual([
      'Not saved yet. The key has 20 networks, and cannot have more. To allow 198.51.100.9, remove another one before you save.',
    ]);
    expect((await elementsOf(refused, '#allowedNetworks'))[0]?.attributes['rows']).toBe('21');
    // A key without networks works from everywhere: one address would limit it.
    const free = await makeKey(organization);
    const { text } = await post(`/keys/${free.id}/change`, { allow: '198.51.100.9' });
    expect([await textOf(text, '#added'), await textOf(text, '#allowedNetworks')]).toEqual([[], ['']]);
  });

  test('the page of a key allows each address that was refused, not only the last one', async () => {
    const { organization, api, get } = await makeSettings();
    const key = await makeKey(organization, { networks: '203.0.113.0/24' });
    for (const address of ['198.51.100.9', '192.0.2.66'])
      await api.postNote(key.value, undefined, { 'CF-Connecting-IP': address });
    await api.settled();
    const { text } = await get(`/keys/${key.id}`);
    const allowed = async (selector: string) =>
      (await elementsOf(text, `${selector} button[name=allow]`)).map(({ attributes }) => attributes['value']);
    expect(await allowed('.banner.danger')).toHaveLength(1);
    // The banner has the last one.
    expect(await allowed('.refused-requests')).toEqual(['198.51.100.9']);
    expect((await textOf(text, '.banner.danger')).join('').replaceAll(/\s+/g, ' ')).toMatch(/last just now from /);
  });

  test('a use of the key from elsewhere needs attention, and its button allows the address', async () => {
    const { organization, api, base, get } = await makeSettings();
    const key = await makeKey(organization, { networks: '203.0.113.0/24' });
    await api.postNote(key.value, undefined, { 'CF-Connecting-IP': '198.51.100.9' });
    await api.settled();
    const { text } = await get('/keys');
    expect(text).toContain('1 key was used from elsewhere');
    expect((await get('/keys?fact=refused_address_not_allowed&state=all')).text).toContain('n8n: triage');
    // The page of the key says so first, with what to do.
    const page = (await get(`/keys/${key.id}`)).text;
    const action = `${base}/keys/${key.id}/change`;
    expect(
      await elementsOf(page, `.banner.danger form[method=post][action="${action}"] button[name=allow]`),
    ).toMatchObject([{ text: 'Allow this address', attributes: { value: '198.51.100.9' } }]);
  });
});
