import { describe, expect, test } from 'vitest';
import { countElements, elementsOf } from '../../support/page.ts';
import { auditedActions, makeSettings } from '../../support/settings.ts';
import { makeKey, revoke, rowsOf } from '../../support/world.ts';

type Settings = Awaited<ReturnType<typeof makeSettings>>;

/** The hidden fields of the form as it is now: the values that it shows. */
async function openForm({ get }: Settings, id: string): Promise<Record<string, string>> {
  const hidden = await elementsOf((await get(`/keys/${id}/change`)).text, 'input[type=hidden]');
  return Object.fromEntries(
    hidden.map(({ attributes: { name = '', value = '' } }) => [name, value.replaceAll('&amp;', '&')]),
  );
}

/** Opens the form, types these values and sends it. */
const change = async (settings: Settings, id: string, typed: Record<string, string>) =>
  settings.post(`/keys/${id}/change`, { ...(await openForm(settings, id)), ...typed });

describe('changing a key', () => {
  test('the form renames the key from the next request on', async () => {
    const settings = await makeSettings();
    const { organization, base, api } = settings;
    const key = await makeKey(organization);
    const answer = await change(settings, key.id, { name: 'Zapier' });
    expect([answer.status, answer.location]).toEqual([303, `${base}/keys/${key.id}`]);
    const ping = await api.send('/api/v1/ping', { key: key.value });
    expect(await ping.json()).toMatchObject({ keyName: 'Zapier' });
  });

  test('the change is audited with the old and the new values, and not at all if nothing changes', async () => {
    const settings = await makeSettings();
    const { organization } = settings;
    const { id } = await makeKey(organization);
    await change(settings, id, { name: 'Zapier', dayLimitRecords: '15' });
    const entry = (await rowsOf('audit_log', organization)).at(-1);
    expect(entry).toMatchObject({ action: 'api_key.changed', target_id: id });
    for (const part of ['"n8n: triage"', '"Zapier"', 'none to 15']) expect(entry?.['detail']).toContain(part);
    expect((await change(settings, id, { name: 'Zapier', dayLimitRecords: '15' })).notice).toBe('No changes to save.');
    expect(await auditedActions(organization)).toEqual(['api_key.created', 'api_key.changed']);
  });

  test('the form changes the daily limits, and keeps fields that were not edited', async () => {
    const settings = await makeSettings();
    const { organization, get } = settings;
    const { id } = await makeKey(organization, { dayLimit: { records: 50 } });
    const shown = async () =>
      (await elementsOf((await get(`/keys/${id}/change`)).text, '#dayLimitRecords, #dayLimitMinutes')).map(
        ({ attributes }) => attributes['value'],
      );
    expect(await shown()).toEqual(['50', undefined]);
    const limits = { name: 'n8n: triage', dayLimitRecords: '40', dayLimitMinutes: '480' };
    expect((await change(settings, id, limits)).notice).toContain('Saved');
    expect(await shown()).toEqual(['40', '480']);
    expect((await change(settings, id, limits)).notice).toContain('No changes to save.');
    expect((await change(settings, id, { name: 'n8n: triage' })).notice).toContain('Saved');
    expect(await rowsOf('api_keys', organization)).toMatchObject([
      { day_limit_records: null, day_limit_minutes: null },
    ]);
  });

  test('the form reports a taken name together with the other errors', async () => {
    const settings = await makeSettings();
    const { organization } = settings;
    const [key] = [await makeKey(organization), await makeKey(organization, { name: 'Other' })];
    const { status, text } = await change(settings, key.id, { name: 'Other', dayLimitMinutes: '0' });
    const links = (await elementsOf(text, '#errors a')).map(({ attributes }) => attributes['href']);
    expect([status, links]).toEqual([400, ['#name', '#dayLimitMinutes']]);
    expect(await countElements(text, '#name-error a[href*="/keys?q=Other&"]')).toBe(1);
  });

  test('the form is refused after another administrator changed the key, and that change stays', async () => {
    const settings = await makeSettings();
    const { organization, base, post } = settings;
    const { id } = await makeKey(organization);
    const [first, second] = [await openForm(settings, id), await openForm(settings, id)];
    expect((await post(`/keys/${id}/change`, { ...first, name: 'n8n: triage', dayLimitRecords: '13' })).status).toBe(
      303,
    );
    const { status, text } = await post(`/keys/${id}/change`, { ...second, name: 'Renamed', dayLimitRecords: '' });
    expect([status, await elementsOf(text, 'title')]).toMatchObject([409, [{ text: /^Not saved: Change / }]]);
    expect(await countElements(text, '[role=alert][autofocus]')).toBe(1);
    expect(await rowsOf('api_keys', organization)).toMatchObject([{ name: 'n8n: triage', day_limit_records: 13 }]);
    // The form again with what was typed, and a link to who changed what.
    expect(await elementsOf(text, '#name')).toMatchObject([{ attributes: { value: 'Renamed' } }]);
    expect(await countElements(text, `[role=alert] a[href="${base}/audit?key=${id}"]`)).toBe(1);
    // Sent again, it replaces what the administrator has now seen.
    const [revision] = await elementsOf(text, '[name=revision]');
    const again = { name: 'Renamed', dayLimitRecords: '', revision: revision?.attributes['value'] ?? '' };
    expect((await post(`/keys/${id}/change`, again)).location).toBe(`${base}/keys/${id}`);
    expect(await rowsOf('api_keys', organization)).toMatchObject([{ name: 'Renamed', day_limit_records: null }]);
  });

  test('after a conflict, the form shows the changes of the other administrator in fields that its sender left alone', async () => {
    const settings = await makeSettings();
    const { organization, post } = settings;
    const { id } = await makeKey(organization, { networks: '192.0.2.0/24 203.0.113.0/24' });
    const form = { ...(await openForm(settings, id)), name: 'n8n: triage', owner: '', description: '' };
    const networks = { allowedNetworks: '192.0.2.0/24\r\n203.0.113.0/24' };
    await post(`/keys/${id}/change`, { ...form, owner: 'Mo', description: 'Theirs', allowedNetworks: '192.0.2.0/24' });
    const { status, text } = await post(`/keys/${id}/change`, { ...form, ...networks, description: 'Mine' });
    const shown = await elementsOf(text, '#owner, #description, #allowedNetworks, [name=shown]');
    const values = shown.map(({ attributes: { name, value }, text }) => [name, value ?? text]);
    expect([status, Object.fromEntries(values)]).toMatchObject([
      409,
      { owner: 'Mo', description: 'Mine', allowedNetworks: '192.0.2.0/24' },
    ]);
    expect(Object.fromEntries(values).shown).toContain('description=Theirs');
  });

  test('the change happens once when its form is sent twice', async () => {
    const settings = await makeSettings();
    const { organization, post } = settings;
    const { id } = await makeKey(organization);
    const form = { ...(await openForm(settings, id)), name: 'n8n: triage', dayLimitRecords: '13' };
    for (let time = 1; time <= 2; time++) {
      expect((await post(`/keys/${id}/change`, form)).notice).toContain('Saved');
    }
    expect(await auditedActions(organization)).toEqual(['api_key.created', 'api_key.changed']);
  });

  test.each([{}, { revision: '' }, { revision: '-1' }, { revision: '1.5' }, { revision: '9999999999999999' }])(
    'a form without the revision that it showed is refused: %j',
    async (form) => {
      const { organization, post } = await makeSettings();
      const { id } = await makeKey(organization);
      const { status, text } = await post(`/keys/${id}/change`, { name: 'Renamed', ...form });
      // A page of its own, not the form with a marked field.
      expect([status, await countElements(text, 'form')]).toEqual([400, 0]);
      expect(await auditedActions(organization)).toEqual(['api_key.created']);
    },
  );

  test('the revision stays in the form after an error, so that a change in between is not overwritten', async () => {
    const settings = await makeSettings();
    const { organization, post } = settings;
    const { id } = await makeKey(organization);
    const form = await openForm(settings, id);
    await change(settings, id, { name: 'Theirs' });
    const wrong = await post(`/keys/${id}/change`, { ...form, name: '' });
    expect(wrong.status).toBe(400);
    const [revision] = await elementsOf(wrong.text, '[name=revision]');
    const corrected = { name: 'Mine', revision: revision?.attributes['value'] ?? '' };
    expect((await post(`/keys/${id}/change`, corrected)).status).toBe(409);
    expect(await rowsOf('api_keys', organization)).toMatchObject([{ name: 'Theirs' }]);
  });

  test('an expired or revoked key cannot be changed or rotated', async () => {
    const { organization, post, get } = await makeSettings();
    const revoked = await makeKey(organization);
    await revoke(organization, revoked.id);
    const expired = await makeKey(organization, { expires: '2026-01-01' }, () => Date.parse('2025-12-01'));
    const form = { name: 'New', token: crypto.randomUUID(), expires: 'none', grace: '1h' };
    for (const { id } of [revoked, expired])
      for (const page of ['change', 'rotate']) {
        expect((await get(`/keys/${id}/${page}`)).status).toBe(409);
        expect((await post(`/keys/${id}/${page}`, form)).status).toBe(409);
      }
    expect(await rowsOf('api_keys', organization)).toMatchObject([{ revision: 0 }, { revision: 1 }]);
  });
});
