import { describe, expect, test } from 'vitest';
import { countElements } from '../../support/page.ts';
import { auditedActions, makeSettings } from '../../support/settings.ts';
import { makeKey, rowsOf } from '../../support/world.ts';

describe('revoking a key', () => {
  test("the page asks first, with the key's name and last write", async () => {
    const { organization, api, get } = await makeSettings();
    const key = await makeKey(organization);
    await api.postNote(key.value, undefined, { 'CF-Connecting-IP': '192.0.2.77' });
    const { text } = await get(`/keys/${key.id}/revoke`);
    for (const part of ['n8n: triage', key.hint, '192.0.2.77']) expect(text).toContain(part);
    expect((await api.send('/api/v1/ping', { key: key.value })).status).toBe(200);
  });

  test('the revocation takes effect on the next request, and a second one does nothing', async () => {
    const { organization, base, api, get, post } = await makeSettings();
    const key = await makeKey(organization);
    expect((await api.postNote(key.value)).status).toBe(201);
    expect((await post(`/keys/${key.id}/revoke`, {})).location).toBe(`${base}/keys/${key.id}?done=revoked`);
    expect((await api.postNote(key.value)).status).toBe(401);
    const already = `${base}/keys/${key.id}?done=already_revoked`;
    expect((await post(`/keys/${key.id}/revoke`, {})).location).toBe(already);
    const asked = await get(`/keys/${key.id}/revoke`);
    expect([asked.status, asked.headers.get('Location')]).toEqual([303, already]);
    expect(await auditedActions(organization)).toEqual(['api_key.created', 'note.created', 'api_key.revoked']);
  });
});

describe('revoking all keys', () => {
  test('the form ends every key of the organization and no other, each with an audit row', async () => {
    const [mine, theirs] = [await makeSettings(), await makeSettings()];
    const keys = await Promise.all([1, 2, 3].map(() => makeKey(mine.organization)));
    const other = await makeKey(theirs.organization);
    expect((await mine.get('/revoke-all')).text).toMatch(/\b3\b/);
    expect((await mine.post('/revoke-all', { organization: ' northwind ' })).status).toBe(303);
    for (const { value } of keys) expect((await mine.api.send('/api/v1/ping', { key: value })).status).toBe(401);
    expect((await mine.api.send('/api/v1/ping', { key: other.value })).status).toBe(200);
    const revoked = (await rowsOf('audit_log', mine.organization)).filter(({ action }) => action === 'api_key.revoked');
    expect(revoked.map(({ target_id }) => target_id).sort()).toEqual(keys.map(({ id }) => id).sort());
  });

  test('the form requires the name of the organization, and refuses another one', async () => {
    const { organization, api, post } = await makeSettings();
    const key = await makeKey(organization);
    for (const typed of ['', 'North', organization]) {
      const { status, text } = await post('/revoke-all', { organization: typed });
      expect([status, await countElements(text, '[aria-invalid=true]')]).toEqual([400, 1]);
    }
    expect((await api.send('/api/v1/ping', { key: key.value })).status).toBe(200);
  });
});

test('an organization without a key in use has nothing to revoke', async () => {
  const { get } = await makeSettings();
  const { status, text } = await get('/revoke-all');
  expect([status, await countElements(text, 'main form')]).toEqual([200, 0]);
});

test('the page shows the banner of its address only while that is true', async () => {
  const { organization, get, post } = await makeSettings();
  const { id } = await makeKey(organization);
  const banners = async (address: string) => countElements((await get(address)).text, '[role=status]');
  for (const address of [
    `/keys/${id}?done=revoked`,
    `/keys/${id}?done=already_revoked`,
    '/keys?done=all_revoked',
    `/keys/${id}?done=constructor`,
  ]) {
    expect([address, await banners(address)]).toEqual([address, 0]);
  }
  expect((await post('/revoke-all', { organization: 'Northwind' })).location).toContain('done=all_revoked');
  for (const address of [`/keys/${id}?done=revoked`, '/keys?done=all_revoked']) {
    expect([address, await banners(address)]).toEqual([address, 1]);
  }
});
