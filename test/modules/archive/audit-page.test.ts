import { env } from 'cloudflare:workers';
import { describe, expect, test, vi } from 'vitest';
import { generateKey } from '../../../src/domain/api-key.ts';
import { countElements, elementsOf } from '../../support/page.ts';
import { makeSettings } from '../../support/settings.ts';
import { makeKey, TIME } from '../../support/world.ts';
import { archive, objectsIn, releaseAll } from './support.ts';

describe('the archived part of the audit log', () => {
  /** Settings with a note that is archived, and one that is not. */
  async function archived(message: string, keyName = 'n8n') {
    const settings = await makeSettings();
    const { organization, api } = settings;
    const { value: key } = await makeKey(organization, { name: keyName });
    const note = await api.postNote(key, { message }, { 'Idempotency-Key': 'first' });
    await api.postTime(key, TIME, { 'Idempotency-Key': 'open' });
    await api.postNote(key, undefined, { 'Idempotency-Key': 'second' });
    await releaseAll(organization);
    expect((await archive(organization)).status).toBe('archived');
    const { id }: { id: string } = (await note.json<{ note: { id: string } }>()).note;
    return { ...settings, id, requestId: note.headers.get('X-Request-Id') ?? '' };
  }
  const textOf = (page: string) => page.replaceAll(/<[^>]+>/g, ' ').replaceAll(/\s+/g, ' ');
  const filesOn = async (page: string) =>
    (await elementsOf(page, 'a[href*="/audit/archive/"]')).map(({ attributes }) => attributes['href'] ?? '');

  test('the page shows the archived part, with a download for each file', async () => {
    const { organization, base, get } = await archived('Restarted');
    const { text } = await get('/audit');
    expect(textOf(text)).toMatch(
      /Your PSA has confirmed that it stored the entries up to number 4 \(.*Entries up to number 3 \(.* are archived/,
    );
    expect(await countElements(text, '.log li')).toBe(1);
    expect(await filesOn(text)).toEqual([`${base}/audit/archive/3`]);
    expect(await elementsOf(text, 'a[href*="before="]')).toEqual([]);
    const file = await get('/audit/archive/3');
    expect(file.headers.get('Content-Disposition')).toBe(`attachment; filename="${organization}-audit-1-3.ndjson"`);
    const lines = file.text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines.map(({ seq }) => seq)).toEqual([1, 2, 3]);
    expect((await get('/audit.csv')).text.trimEnd().split('\n')).toHaveLength(2);
  });

  test('archived entries are found by day, record, request and Idempotency-Key', async () => {
    const { base, get, id, requestId } = await archived('Restarted');
    const file = [`${base}/audit/archive/3`];
    for (const q of [id, id.toUpperCase(), requestId, 'first', 'open'])
      expect([q, await filesOn((await get(`/audit?q=${q}`)).text)]).toEqual([q, file]);
    for (const q of ['second', 'third', crypto.randomUUID()])
      expect([q, await filesOn((await get(`/audit?q=${q}`)).text)]).toEqual([q, []]);
    const today = new Date().toISOString().slice(0, 10);
    expect(await filesOn((await get(`/audit?from=${today}&to=${today}`)).text)).toEqual(file);
    expect(await filesOn((await get('/audit?to=2020-01-01')).text)).toEqual([]);
    expect((await get('/audit?from=2020-01-01&to=2020-01-02')).status).toBe(200);
    expect((await get(`/audit.csv?from=${today}`)).status).toBe(200);
  });

  test('the archived part contains no pasted key, and is not given to another organization', async () => {
    const pasted = generateKey('twb');
    const { get } = await archived(`my key is ${pasted}`);
    const file = await get('/audit/archive/3');
    expect(file.text).toContain('my key is ');
    expect(file.text).not.toContain(pasted);
    for (const path of ['2', 'x', '0', '%0A3', '0x3', '3e0', '3.0', '9'.repeat(400)].map(
      (toSeq) => `/audit/archive/${toSeq}`,
    ))
      expect((await get(path)).status).toBe(404);
    const other = await makeSettings();
    expect((await other.get('/audit/archive/3')).status).toBe(404);
  });

  test('only the text with a pasted key changes: percent signs in other texts stay unchanged', async () => {
    const pasted = generateKey('twb');
    const untouched = `discount 10%30 at a%2Fb%41 ${encodeURIComponent('é')}`;
    const { get } = await archived(`${untouched} "quoted"`);
    const keyName = 'discount 10%30';
    const organization = await archived(encodeURIComponent(pasted).replace('_', '%5F'), keyName);
    expect((await get('/audit/archive/3')).text).toContain(`${untouched} \\"quoted\\"`);
    const [first, ...rest] = (await organization.get('/audit/archive/3')).text.trimEnd().split('\n');
    expect([first, ...rest].map((line) => JSON.parse(line ?? '').seq)).toEqual([1, 2, 3]);
    expect(rest.join('')).not.toContain(pasted.slice(4));
    for (const line of rest) expect(line).toContain(`"${keyName}"`);
  });

  test('the page returns 503 if the archive does not respond, and omits the archive where it is not used', async () => {
    const { get } = await archived('Restarted');
    const away = vi.spyOn(env.ARCHIVE, 'get').mockRejectedValue(new Error('R2 is away'));
    const { status, text } = await get('/audit/archive/3');
    away.mockRestore();
    expect([status, textOf(text).includes('The archive does not respond')]).toEqual([503, true]);
    const { get: other } = await makeSettings();
    expect((await other('/audit')).text).not.toContain('Archive');
  });
});

test('a damaged file of the archive leads to a page that refers to the operator, and so does the list', async () => {
  const { organization, get, api } = await makeSettings();
  const { value: key } = await makeKey(organization);
  await api.postNote(key);
  await releaseAll(organization);
  await archive(organization);
  const [object = ''] = await objectsIn(organization);
  await env.ARCHIVE.put(object, 'something else');
  const file = await get('/audit/archive/1');
  expect([file.status, file.text.replaceAll(/<[^>]+>/g, ' ')]).toEqual([
    500,
    expect.stringContaining('Tell the operator'),
  ]);
  expect(await countElements((await get('/audit')).text, 'a[href$="/audit/archive/1"]')).toBe(1);
  await env.DB.prepare('update archives set damaged_at = 1 where organization_id = ?').bind(organization).run();
  const { text } = await get('/audit');
  expect([await countElements(text, 'a[href$="/audit/archive/1"]'), text]).toEqual([
    0,
    expect.stringContaining('Damaged: ask the operator'),
  ]);
});
