import { env } from 'cloudflare:workers';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { timeOrderedId } from '../../../src/domain/record-id.ts';
import { type NewRefusedRequest, recordRefusal } from '../../../src/services/keys/record-refusal.ts';
import { countD1 } from '../../support/d1.ts';
import { countElements, csvRows, elementsOf } from '../../support/page.ts';
import { refusedRequest } from '../../support/refused-requests.ts';
import { copyKey, makeSettings } from '../../support/settings.ts';
import { asOperator, importRecords, makeKey, NOTE, revoke, rotate, TIME } from '../../support/world.ts';

type Settings = Awaited<ReturnType<typeof makeSettings>>;

/** The rows of the log on a page, as text. */
async function logOn({ get }: Pick<Settings, 'get'>, path: string): Promise<string[]> {
  const rows = await elementsOf((await get(path)).text, '.refused-requests tbody tr');
  return rows.map(({ text }) => text.replaceAll(/\s+/g, ' ').trim());
}

afterEach(() => {
  vi.useRealTimers();
});

/** A settings area with a request that was refused, and its id. */
async function makeRefused() {
  const settings = await makeSettings();
  const key = await makeKey(settings.organization);
  const refused = await settings.api.postTime(key.value, { ...TIME, minutes: 0 }, { 'User-Agent': 'n8n/1.2' });
  await settings.api.settled();
  return { ...settings, key, requestId: refused.headers.get('X-Request-Id') ?? '' };
}

describe('a refused request', () => {
  test('is on the page of its key, on the page of refused requests, and found by its id in the audit log', async () => {
    const settings = await makeRefused();
    const { key, requestId } = settings;
    for (const path of [
      `/keys/${key.id}`,
      '/refused',
      `/audit?q=${requestId}`,
      `/audit?q=${requestId.toUpperCase()}`,
    ]) {
      const rows = await logOn(settings, path);
      expect([path, rows.length]).toEqual([path, 1]);
      for (const part of [
        '422 Validation failed',
        'Fields: minutes (a whole number from 1 to 1440)',
        '1001',
        'n8n/1.2',
        requestId,
      ])
        expect(rows[0]).toContain(part);
    }
  });

  test('is not shown to another organization', async () => {
    const { key, requestId } = await makeRefused();
    const other = await makeSettings();
    expect(await logOn(other, '/refused')).toEqual([]);
    expect(await logOn(other, `/audit?q=${requestId}`)).toEqual([]);
    expect((await other.get(`/audit?q=${requestId}`)).text).toContain('No entries match');
    expect((await other.get(`/keys/${key.id}`)).status).toBe(404);
  });

  test('has the name of a technician who is not active, or says that no user has the address', async () => {
    const settings = await makeSettings();
    const { organization, api } = settings;
    const key = await makeKey(organization);
    await importRecords({
      type: 'user',
      organization,
      id: 'lea',
      email: 'lea@x.example',
      name: 'Lea Left',
      technician: false,
    });
    for (const userEmail of ['lea@x.example', 'nobody@x.example'])
      await api.postTime(key.value, { ...TIME, userEmail });
    await api.settled();
    const rows = await logOn(settings, '/refused');
    expect(rows[0]).toContain('nobody@x.example: no user has this address');
    expect(rows[1]).toContain('lea@x.example: Lea Left was not an active technician');
  });
});

describe('a search of the audit log', () => {
  test('for a ticket lists the refused requests for it, whether or not it exists or has entries', async () => {
    const settings = await makeSettings();
    const { organization, api, get } = settings;
    const [key, other] = [await makeKey(organization), await makeKey(organization)];
    for (const { value } of [key, other]) await api.postNote(value, undefined, {}, '99998');
    await api.postTime(key.value, { ...TIME, minutes: 0 });
    await api.postNote(other.value);
    await api.settled();
    const headings = async (path: string) =>
      (await elementsOf((await get(path)).text, '#refused h2')).map(({ text }) => text);
    for (const [query, heading] of [
      ['q=99998', '2 refused requests for ticket 99998'],
      ['q=%2399998', '2 refused requests for ticket 99998'],
      [`ticket=99998&key=${key.id}`, '1 refused request for ticket 99998'],
      ['q=1001', '1 refused request for ticket 1001'],
    ])
      expect([query, await headings(`/audit?${query}`)]).toEqual([query, [heading]]);
    expect(await logOn(settings, '/audit?q=99998')).toHaveLength(2);
    expect((await get('/audit?q=99998')).text).not.toContain('No entries match');
    // Below entries and their number, with a link above them.
    const { text } = await get('/audit?q=1001');
    expect(text.indexOf('1–1 of 1')).toBeGreaterThan(0);
    expect(text.indexOf('id="refused"')).toBeGreaterThan(text.indexOf('1–1 of 1'));
    expect((await elementsOf(text, 'main a[href="#refused"]')).map((link) => link.text)).toEqual([
      '1 refused request for ticket 1001',
    ]);
    // In one minute, there may have been more.
    for (const requestId of ['a', 'b', 'c', 'd', 'e']) {
      const request = refusedRequest(requestId, { at: 1_800_000_000_000, ticketId: '1003' });
      await recordRefusal(asOperator(), { organizationId: organization, keyId: key.id }, { request });
    }
    expect(await headings('/audit?q=1003')).toEqual(['At least 5 refused requests for ticket 1003']);
    for (const query of ['', 'q=1002', 'q=1001&action=Decisions', 'q=1001&by=ada', 'ticket=1001&before=1'])
      expect([query, await headings(`/audit?${query}`)]).toEqual([query, []]);
  });

  test('for the id of a request that is not recorded says which are not, as the page of refused requests does', async () => {
    const { organization, api, base, get } = await makeSettings();
    const { value } = await makeKey(organization);
    const unknown = await api.postNote(`${value.slice(0, -1)}!`);
    const { text } = await get(`/audit?q=${unknown.headers.get('X-Request-Id')}`);
    expect((await elementsOf(text, '[role=status]'))[0]?.text).toContain(
      'No entries match these filters. Requests without a key of yours, to some wrong paths, or above an address’s limit are not recorded. Of many in one minute, only some are.',
    );
    for (const page of [text, (await get('/refused')).text])
      expect(await elementsOf(page, `main a[href="${base}/which-key"]`)).toHaveLength(1);
    expect(await elementsOf((await get('/audit?q=77')).text, 'main a[href$="/which-key"]')).toEqual([]);
  });
});

test('the file of the latest refused requests has each of them, newest first', async () => {
  const settings = await makeRefused();
  const { organization, key, get, requestId } = settings;
  const other = await makeKey(organization);
  for (let index = 0; index < 60; index++) {
    const request = refusedRequest(`0-${String(index).padStart(2, '0')}`, { at: 1, ticketId: '?', pointers: ['/?'] });
    const keyId = index % 2 === 0 ? key.id : other.id;
    await recordRefusal(asOperator(), { organizationId: organization, keyId }, { request });
  }
  const rows = csvRows((await get('/refused-requests.csv')).text);
  expect(rows).toHaveLength(61);
  expect(rows[0]).toMatch(
    new RegExp(
      `"n8n: triage","${key.hint}",422,"Validation failed",,"minutes \\(a whole number from 1 to 1440\\)","1001","Acme",,.*,"n8n/1.2","${requestId}"$`,
    ),
  );
  expect(rows[60]).toContain('"0-00"');
  expect(rows[1]).toContain(',"a field that is not accepted there","not an id",,,"192.0.2.1","n8n","0-59"');
});

test('the log is shown newest first, 50 requests on a page', async () => {
  const settings = await makeSettings();
  const { organization } = settings;
  const keys = [await makeKey(organization), await makeKey(organization)];
  for (let index = 0; index < 60; index++) {
    // Each is refused for something else, so that none shares a row.
    const request = refusedRequest(`request-${String(index).padStart(2, '0')}`, {
      reason: 'technician_not_eligible',
      userEmail: `${index}@x.example`,
    });
    await recordRefusal(asOperator(), { organizationId: organization, keyId: keys[index % 2]?.id ?? '' }, { request });
  }
  const first = await logOn(settings, '/refused');
  expect([first.length, first[0], first[49]]).toEqual([
    50,
    expect.stringContaining('request-59'),
    expect.stringContaining('request-10'),
  ]);
  expect(await logOn(settings, '/refused?before=')).toEqual(await logOn(settings, '/refused'));
  const rest = await logOn(settings, '/refused?before=request-10');
  expect([rest.length, rest[0], rest[9]]).toEqual([
    10,
    expect.stringContaining('request-09'),
    expect.stringContaining('request-00'),
  ]);
});

describe('the repair of a refused request', () => {
  test('a company is added with a form that shows it before anything is saved', async () => {
    const settings = await makeSettings();
    const { organization, api, get, post } = settings;
    await importRecords(
      { type: 'company', organization, id: 'globex', name: 'Globex' },
      { type: 'ticket', organization, id: '2001', company: 'globex' },
    );
    const key = await makeKey(organization, { companies: 'acme' });
    expect((await api.postNote(key.value, undefined, {}, '2001')).status).toBe(404);
    await api.settled();
    const [button] = await elementsOf((await get('/refused')).text, '.refused form[method=post] button');
    expect(button).toMatchObject({ text: 'Add Globex', attributes: { name: 'addCompany', value: 'globex' } });
    const shown = await post(`/keys/${key.id}/change`, { addCompany: 'globex' });
    expect(shown.status).toBe(200);
    expect(await checkedCompanies(shown.text)).toEqual(['acme', 'globex']);
    const noticeOf = async (page: string) =>
      (await elementsOf(page, '#added')).map(({ text }) => text.replaceAll(/\s+/g, ' '));
    expect(await noticeOf(shown.text)).toEqual(['Not saved yet. Save also allows: Globex (globex)Save']);
    for (const company of ['acme', 'unknown'])
      expect(await noticeOf((await post(`/keys/${key.id}/change`, { addCompany: company })).text)).toEqual([]);
    expect((await api.postNote(key.value, undefined, {}, '2001')).status).toBe(404);
    // No link adds a company.
    const linked = await get(`/keys/${key.id}/change?addCompany=globex`);
    expect(await checkedCompanies(linked.text)).toEqual(['acme']);
    // Saved, it ends the refused uses, and nothing offers it again.
    await post(`/keys/${key.id}/change`, { name: 'n8n: triage', revision: '0', companies: ['', 'acme', 'globex'] });
    const { text } = await get('/refused');
    expect(await elementsOf(text, 'form[method=post] button')).toEqual([]);
    expect(text).toContain('Over since');
    const [row] = await logOn(settings, '/refused?status=404');
    expect(row).toMatch(/not for the company/);
    expect((await logOn(settings, '/refused?q=2001'))[0]).toContain('The key allows this now.');
  });

  test('a reason is over when the key allows every company that was refused, not only the last one', async () => {
    const { organization, api, get, post } = await makeSettings();
    await importRecords(
      ...['globex', 'initech'].map((id) => ({ type: 'company' as const, organization, id, name: id })),
      ...['globex', 'initech'].map((company) => ({ type: 'ticket' as const, organization, id: company, company })),
    );
    const key = await makeKey(organization, { companies: 'acme' });
    for (const ticket of ['initech', 'globex']) await api.postNote(key.value, undefined, {}, ticket);
    await api.settled();
    const row = async (path: string) => {
      const { text } = await get(path);
      const [shown] = await elementsOf(text, '.refused tbody tr');
      const buttons = await elementsOf(text, '.refused form[method=post] button');
      return [shown?.text.replaceAll(/\s+/g, ' '), buttons.map((button) => button.text)];
    };
    const allow = (companies: readonly string[], revision: string) =>
      post(`/keys/${key.id}/change`, { name: 'n8n: triage', revision, companies: ['', ...companies] });
    for (const path of ['/refused', `/keys/${key.id}`])
      expect(await row(path)).toEqual([expect.stringContaining('Also refused: initech'), ['Add globex']]);
    await allow(['acme', 'globex'], '0');
    for (const path of ['/refused', `/keys/${key.id}`]) {
      expect(await row(path)).toEqual([expect.stringContaining('Still refused: initech'), ['Add initech']]);
      expect((await row(path))[0]).not.toContain('Over');
    }
    await allow(['acme', 'globex', 'initech'], '1');
    expect(await row('/refused')).toEqual([expect.stringContaining('Over since'), []]);
  });

  test('a reason needs attention until the key allows every address that was refused', async () => {
    const { organization, api, get, post } = await makeSettings();
    const key = await makeKey(organization, { networks: '192.0.2.0/24' });
    for (const address of ['198.51.100.9', '203.0.113.1', '203.0.113.1', '203.0.113.2'])
      await api.postNote(key.value, undefined, { 'CF-Connecting-IP': address });
    await api.settled();
    const banner = async () => {
      const { text } = await get(`/keys/${key.id}`);
      const buttons = await elementsOf(text, '.banner.danger form[method=post] button');
      return [
        (await elementsOf(text, '.banner.danger')).map(
          (one) => /(Also|Still) refused: [\d., ]*\d/.exec(one.text.replaceAll(/\s+/g, ' '))?.[0],
        ),
        buttons.map(({ attributes }) => attributes['value']),
      ];
    };
    const allow = (allowedNetworks: string, revision: string) =>
      post(`/keys/${key.id}/change`, { name: 'n8n: triage', revision, allowedNetworks });
    expect(await banner()).toEqual([['Also refused: 203.0.113.1, 198.51.100.9'], ['203.0.113.2']]);
    await allow('192.0.2.0/24 203.0.113.0/24', '0');
    expect(await banner()).toEqual([['Still refused: 198.51.100.9'], ['198.51.100.9']]);
    await allow('192.0.2.0/24 203.0.113.0/24 198.51.100.9', '1');
    expect(await banner()).toEqual([[], []]);
  });

  test('the reasons of a key have the same buttons, and name the ticket and the technician of the latest request', async () => {
    const settings = await makeSettings();
    const { organization, api, base, get } = settings;
    await importRecords(
      { type: 'company', organization, id: 'globex', name: 'Globex' },
      { type: 'ticket', organization, id: '2001', company: 'globex' },
    );
    const key = await makeKey(organization, { companies: 'acme' });
    await api.postNote(key.value, undefined, {}, '2001');
    await api.postNote(key.value, undefined, {}, '7777');
    await api.postTime(key.value, { ...TIME, userEmail: 'nobody@x.example' });
    await api.settled();
    for (const path of ['/refused', `/keys/${key.id}`]) {
      const { text } = await get(path);
      const buttons = await elementsOf(text, `.refused form[action="${base}/keys/${key.id}/change"] button`);
      expect(buttons.map(({ attributes }) => attributes['value'])).toEqual(['globex']);
      const rows = (await elementsOf(text, '.refused tbody tr')).map((row) => row.text.replaceAll(/\s+/g, ' '));
      expect(rows).toEqual([
        expect.stringMatching(
          /Not an active technician.*nobody@x.example: no user has this address.*Last ticket: 1001/,
        ),
        expect.stringMatching(/unknown or closed.*Last ticket: 7777/),
        expect.stringMatching(/not for the company.*Last ticket: 2001/),
      ]);
    }
  });

  test('an address is allowed with a form, and a key without a scope is replaced', async () => {
    const { organization, api, base, get } = await makeSettings();
    const bound = await makeKey(organization, { networks: '192.0.2.0/24' });
    const notes = await makeKey(organization, { scopes: ['tickets:note:write'] });
    const from = { 'CF-Connecting-IP': '198.51.100.9' };
    await api.postNote(bound.value, undefined, from);
    await api.postTime(notes.value, TIME, from);
    await api.settled();
    // The log repeats no repair of the table above it. A search shows them.
    for (const [path, table] of [
      ['/refused', '.refused'],
      ['/refused?q=1001', '.refused-requests'],
    ] as const) {
      const { text } = await get(path);
      const buttons = await elementsOf(text, `${table} form button`);
      expect(buttons.map(({ attributes }) => [attributes['name'], attributes['value']])).toEqual([
        ['allow', '198.51.100.9'],
      ]);
      const links = await elementsOf(text, `${table} a.button`);
      expect(links.map(({ attributes }) => attributes['href'])).toEqual([`${base}/keys/${notes.id}/replace`]);
    }
    const { text } = await get('/refused');
    for (const repair of ['form', 'a.button'])
      expect(await elementsOf(text, `.refused-requests ${repair}`)).toEqual([]);
  });
});

describe('the page of refused requests', () => {
  /** One key with a request for each of these statuses, and a second 422 that is equal to the first. */
  async function makeStatuses() {
    const minute = Math.floor(Date.now() / 60_000) * 60_000 - 60_000;
    // Of five requests in one minute, there may be more than the log has.
    vi.useFakeTimers({ toFake: ['Date'] });
    const settings = await makeSettings();
    const { organization, api } = settings;
    const key = await makeKey(organization, { companies: 'acme', dayLimit: { minutes: 30 } });
    const requests = [
      () => api.postNote(key.value, { text: 'x' }),
      () => api.postNote(key.value, { text: 'x' }, {}, '1002'),
      () => api.postNote(key.value, undefined, {}, '7777'),
      () => api.postNote(key.value, undefined, { 'Idempotency-Key': 'triage:' }),
      () => api.postNote(key.value, undefined, { 'Content-Type': 'text/plain' }),
      () => api.postTime(key.value, { ...TIME, minutes: 45 }),
    ];
    for (const [number, send] of requests.entries()) {
      vi.setSystemTime(minute + number * 20_000);
      await send();
    }
    await api.settled();
    return { ...settings, key };
  }

  test('lists each key with each reason, whatever the status is, and the last ticket', async () => {
    const { get } = await makeStatuses();
    const rows = (await elementsOf((await get('/refused')).text, '.refused tbody tr')).map(({ text }) =>
      text.replaceAll(/\s+/g, ' '),
    );
    expect(rows).toHaveLength(5);
    const [limit, ...others] = rows;
    expect(limit).toMatch(
      /429 The key’s daily limit of minutes was reached0 of 30 minutes used; the last request asked for 45\./,
    );
    for (const row of [
      /415 Unsupported media type.*Last ticket: 1001/,
      /400 Invalid Idempotency-Key/,
      /404 The ticket is unknown or closed.*7777/,
      /422 Validation failed.*Last fields: message.*a field that is not accepted there.*2 requests, last 1 min ago/,
    ])
      expect(others).toContainEqual(expect.stringMatching(row));
  });

  test('has the same rows as the page of the key, and a refused dry run', async () => {
    const { organization, api, get, key } = await makeStatuses();
    const other = await makeKey(organization);
    await api.post('/api/v1/tickets/8888/notes/dry-run', other.value, NOTE);
    await api.settled();
    const rowsOn = async (path: string) =>
      (await elementsOf((await get(path)).text, '.refused tbody tr')).map(({ text }) =>
        /(\d{3}) (.*?[a-z])(?=[A-Z0-9])/.exec(text.replaceAll(/\s+/g, ' '))?.slice(1, 3).join(' '),
      );
    const ofKey = await rowsOn(`/keys/${key.id}`);
    expect(ofKey).toHaveLength(5);
    expect((await rowsOn('/refused')).toSorted()).toEqual([...ofKey, '404 The ticket is unknown or closed'].toSorted());
    expect(await rowsOn(`/keys/${other.id}`)).toEqual(['404 The ticket is unknown or closed']);
  });

  test('counts at least the requests that the log has, if it may not have all of a minute or all of a key', async () => {
    const { organization, get } = await makeSettings();
    const minute = Math.floor(Date.now() / 60_000) * 60_000 - 600_000;
    const key = await makeKey(organization);
    const other = await makeKey(organization);
    let requests = 0;
    const refuse = async (count: number, at: number, changes: Partial<NewRefusedRequest> = {}, keyId = key.id) => {
      for (let one = 0; one < count; one++) {
        const request = refusedRequest(`${keyId} ${requests++}`, { at: at + one, ...changes });
        await recordRefusal(asOperator(), { organizationId: organization, keyId }, { request });
      }
    };
    const shown = async () => {
      const { text } = await get('/refused');
      const rows = await elementsOf(text, '.refused tbody tr');
      const times = (await elementsOf(text, '.refused-requests tbody tr')).map(
        (row) => /((at least )?\d+ times)/.exec(row.text)?.[1],
      );
      const chips = await elementsOf(text, '.state-chips .number');
      return [
        rows.map((row) => /((At least )?\d+) requests?/.exec(row.text)?.[1]),
        times.filter((one) => one !== undefined),
        chips.map((chip) => chip.text),
      ];
    };
    const wrongType = { status: 415, reason: 'unsupported_media_type' };
    await refuse(4, minute + 59_000);
    await refuse(1, minute + 60_000, wrongType);
    expect(await shown()).toEqual([['1', '4'], ['4 times'], ['1', '4']]);
    await refuse(1, minute, wrongType);
    expect(await shown()).toEqual([
      ['At least 4', 'At least 2'],
      ['at least 2 times', 'at least 4 times'],
      ['2+', '4+'],
    ]);
    await refuse(1, minute, { status: 400, reason: 'malformed_json' });
    // Each reason counts on its own.
    await refuse(1, minute - 60_000, { status: 413, reason: 'body_too_large' });
    expect((await shown())[2]).toEqual(['1+', '1', '2+', '4+']);
    // Fifty are kept of a key.
    for (let ago = 100; ago > 51; ago--) await refuse(1, minute - ago * 60_000, {}, other.id);
    expect((await shown())[0]).toEqual(['At least 4', 'At least 1', 'At least 2', '1', '49']);
    await refuse(1, minute - 3_600_000, {}, other.id);
    expect((await shown())[0]?.[4]).toBe('At least 50');
  });

  test('counts at least the requests of a minute in which the organization has as many as the log has of a minute', async () => {
    const { organization, get } = await makeSettings();
    const at = Math.floor(Date.now() / 60_000) * 60_000 - 60_000;
    let requestId = '';
    const refuse = async (keyId: string) => {
      requestId = timeOrderedId(at);
      const request = refusedRequest(requestId, { at });
      await recordRefusal(asOperator(), { organizationId: organization, keyId }, { request });
    };
    const keys = await Promise.all(Array.from({ length: 20 }, () => makeKey(organization)));
    for (const { id } of keys) for (let one = 0; one < 3; one++) if (id !== keys[0]?.id || one > 0) await refuse(id);
    const chips = async () =>
      (await elementsOf((await get('/refused')).text, '.state-chips .number')).map(({ text }) => text);
    expect(await chips()).toEqual(['59']);
    await refuse(keys[0]?.id ?? '');
    expect(await chips()).toEqual(['60+']);
    // An id has one request.
    const [row] = await logOn({ get }, `/refused?q=${requestId}`);
    expect(row).toMatch(/^\d\d:\d\d422/);
  });

  test('reads a limited number of rows of an organization with 5,000 requests', async () => {
    const { db, calls } = countD1(env.DB);
    const { organization, get } = await makeSettings({ bindings: { DB: db } });
    const key = await makeKey(organization);
    await copyKey(organization, key.id, { prefix: 'log-', count: 100 });
    await env.DB.prepare(
      `with recursive numbers(number) as (select 1 union all select number + 1 from numbers limit 50)
       insert into refused_requests
       select organization_id, id || ' ' || number, id, ?, 422, 'validation_failed', '["/minutes"]', '1001', null, null, null, null
       from api_keys, numbers where organization_id = ? and id like 'log-%'`,
    )
      .bind(Date.now(), organization)
      .run();
    calls.length = 0;
    expect((await get('/refused')).status).toBe(200);
    // The reasons: four for each request; the latest 51: four for each. Both count the requests of each minute with two.
    const [reasons, latest] = calls.map(({ rowsRead }) => rowsRead).slice(-2);
    expect(reasons).toBeLessThanOrEqual(6.2 * 5_000);
    expect(latest).toBeLessThanOrEqual(2.2 * 5_000);
    calls.length = 0;
    expect(csvRows((await get('/refused-requests.csv')).text)).toHaveLength(5_000);
    expect(calls.reduce((sum, { rowsRead }) => sum + rowsRead, 0)).toBeLessThanOrEqual(4.2 * 5_000);
  });

  test('shows each status, however many requests of another one there were in its minute, and lost writes below them', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    const { organization, api, get } = await makeSettings();
    const key = await makeKey(organization);
    for (let sent = 0; sent < 12; sent++) await api.postTime(key.value, { ...TIME, minutes: 0 });
    await api.postTime(key.value, TIME, { 'Content-Type': 'text/plain' });
    for (const message of ['a', 'b']) await api.postNote(key.value, { message }, { 'Idempotency-Key': 'e' });
    await api.settled();
    for (const path of ['/refused', `/keys/${key.id}`]) {
      const { text } = await get(path);
      const rows = (await elementsOf(text, '.refused tbody tr')).map((row) => row.text);
      for (const row of [/422.*At least 5 requests/s, /415.*At least 1 request/s, /Lost.*(?<!At least )1 write/s])
        expect(rows).toContainEqual(expect.stringMatching(row));
      expect(text.indexOf('id="lost"')).toBeGreaterThan(text.indexOf('class="refused-requests'));
      expect(text.indexOf('class="refused-requests')).toBeGreaterThan(0);
    }
  });

  test('names the minutes of requests that were refused alike, and where they came from only if that changes', async () => {
    const settings = await makeSettings({ timeZone: 'UTC' });
    const { organization } = settings;
    const key = await makeKey(organization);
    const minute = Math.floor(Date.now() / 60_000) * 60_000;
    for (const [id, ago, sourceAddress] of [
      ['1', 3, '192.0.2.1'],
      ['2', 2, '192.0.2.1'],
      ['3', 1, '192.0.2.2'],
    ] as const) {
      const request = refusedRequest(id, { at: minute - ago * 60_000, sourceAddress });
      await recordRefusal(asOperator(), { organizationId: organization, keyId: key.id }, { request });
    }
    const clock = (ago: number) => new Date(minute - ago * 60_000).toISOString().slice(11, 16);
    const [row] = await logOn(settings, '/refused');
    // At midnight, a time has its date.
    expect(row?.replaceAll(/\d+ \w+, (?=\d\d:)/g, '')).toBe(
      `${clock(3)}–${clock(1)}, 3 times422 Validation failedFields: minutes (a whole number from 1 to 1440)n8n: triage ${key.hint}1001n8n` +
        `${clock(1)} from 192.0.2.2, n8n. Request 3${clock(2)} from 192.0.2.1. Request 2${clock(3)}. Request 1`,
    );
  });

  test('has no requests one by one for lost writes, and its file says what was entered by hand and what else is refused', async () => {
    const { organization, api, get, post } = await makeSettings();
    const key = await makeKey(organization, { name: 'A' });
    for (const message of ['a', 'b'])
      await api.postNote(key.value, { message }, { 'Idempotency-Key': 'e', Prefer: 'handling=strict' });
    const bound = await makeKey(organization, { name: 'B', networks: '192.0.2.0/24' });
    for (const address of ['198.51.100.9', '203.0.113.1'])
      await api.postNote(bound.value, undefined, { 'CF-Connecting-IP': address });
    await api.settled();
    expect(await logOn({ get }, '/refused?status=Lost')).toEqual([]);
    expect(await countElements((await get('/refused?status=Lost')).text, '.refused tbody tr')).toBe(1);
    const columns = async () => {
      const rows = csvRows((await get('/refused.csv')).text).toSorted();
      return rows.map((row) => row.split(',').slice(16, 19));
    };
    expect(await columns()).toEqual([
      ['', '', ''],
      ['', '', '"198.51.100.9"'],
    ]);
    const page = (await get(`/keys/${key.id}/lost-writes`)).text;
    const fields = (await elementsOf(page, 'form[method=post] input[type=hidden]')).map(({ attributes }) => [
      String(attributes['name']),
      String(attributes['value']),
    ]);
    await post(`/keys/${key.id}/lost-writes`, Object.fromEntries(fields));
    expect((await columns())[0]).toEqual([expect.stringMatching(/^"\d{4}-/), expect.stringMatching(/^"\d{4}-/), '']);
  });

  test('says when nothing is to be done, and offers a successor that exists instead of another replacement', async () => {
    const settings = await makeSettings();
    const { organization, api, base, get } = settings;
    const notes = await makeKey(organization, { name: 'Notes', scopes: ['tickets:note:write'] });
    await api.postTime(notes.value);
    await api.settled();
    const successor = await rotate(organization, notes.id, { grace: '24h' });
    const row = async () => {
      const { text } = await get('/refused');
      const [found] = await elementsOf(text, '.refused tbody tr');
      const buttons = await elementsOf(text, '.refused a.button');
      return [found?.text.replaceAll(/\s+/g, ' '), buttons.map((button) => [button.text, button.attributes['href']])];
    };
    const open = [['Open its successor', `${base}/keys/${successor.id}`]];
    expect(await row()).toEqual([
      expect.stringContaining('Enter its successor in the automation, if that has the scope.'),
      open,
    ]);
    await revoke(organization, notes.id);
    expect(await row()).toEqual([expect.stringContaining('Over: the key is revoked.'), open]);
  });

  test('shows requests that were refused alike in one row with their ids, a status alone, and what a request or ticket is about', async () => {
    const settings = await makeStatuses();
    const rows = await logOn(settings, '/refused');
    expect(rows).toHaveLength(5);
    expect(rows[4]).toMatch(/^\d\d:\d\d, 2 times422 Validation failed.*1002, 1001.*(Request [0-9a-f-]{36}.*){2}/);
    for (const [query, statuses] of [
      ['status=422', ['422']],
      ['status=415', ['415']],
      ['status=400', ['400']],
      ['status=403', []],
      ['q=%237777', ['404']],
      ['q=1002', ['422']],
      ['q=1002&status=404', []],
      ['status=403&q=1002', []],
    ] as const) {
      const found = await logOn(settings, `/refused?${query}`);
      expect([query, found.map((row) => /(\d{3}) [A-Z]/.exec(row)?.[1])]).toEqual([query, statuses]);
    }
    for (const status of ['999', 'unknown', '422.0', '4e2']) {
      const { status: code, text } = await settings.get(`/refused?status=${status}`);
      expect([status, code, text.includes('Status must be from 400 to 599, or Lost.')]).toEqual([status, 400, true]);
    }
    const [id] = /[0-9a-f-]{36}/.exec(rows[0] ?? '') ?? [];
    expect(await logOn(settings, `/refused?q=${id?.toUpperCase()}`)).toEqual([
      expect.stringContaining(`Request ${id}`),
    ]);
    // The log has no Idempotency-Key.
    const { text } = await settings.get('/refused?q=triage:4');
    expect(text).toContain(`${settings.base}/audit?q=triage%3A4`);
    const [answer] = await elementsOf(text, '[role=status]');
    expect(answer?.text).toMatch(
      /^The log of 7 days has no request with “triage:4”\. An Idempotency-Key finds only lost writes\./,
    );
  });

  test('has files with the same reasons and requests, for the same status or ticket', async () => {
    const { base, get } = await makeStatuses();
    for (const [query, reasons, requests] of [
      ['', [400, 404, 415, 422, 429], [400, 404, 415, 422, 422, 429]],
      ['?status=422', [422], [422, 422]],
      ['?status=429', [429], [429]],
      ['?q=1002', undefined, [422]],
    ] as const) {
      const { text } = await get(`/refused${query}`);
      const links = (await elementsOf(text, 'a[href*=".csv"]')).map(({ attributes }) => String(attributes['href']));
      const files = new Map(links.map((link) => [/refused(-requests)?(?=\.csv)/.exec(link)?.[0], link]));
      const statuses = async (file: string, column: number) => {
        const link = files.get(file);
        if (link === undefined) return undefined;
        const rows = csvRows((await get(link.slice(base.length))).text);
        return rows.map((row) => Number(row.split(',')[column])).sort();
      };
      expect([query, await statuses('refused', 2), await statuses('refused-requests', 4)]).toEqual([
        query,
        reasons,
        requests,
      ]);
    }
    // The next page begins after the latest request of a reason, and does not list that by an older one.
    const others = csvRows((await get('/refused.csv?before=~')).text);
    const reasonOf = (row: string | undefined) => row?.split(',')[3];
    const cursor = /(?<=Request )[0-9a-f-]{36}/.exec((await logOn({ get }, '/refused?status=422'))[0] ?? '')?.[0];
    const rest = csvRows((await get(`/refused.csv?before=${cursor}`)).text);
    expect(others.map(reasonOf)).toContain('"Validation failed"');
    expect(rest.map(reasonOf)).not.toContain('"Validation failed"');
    const [limit] = csvRows((await get('/refused.csv?status=429')).text);
    expect(limit).toContain('"0 of 30 minutes used; the last request asked for 45."');
  });

  test('offers each status that occurred with the number of its requests, and no other', async () => {
    const { get } = await makeStatuses();
    const chipsOn = async (path: string) =>
      (await elementsOf((await get(path)).text, '.state-chips a')).map(({ text }) => text.replaceAll(/\s+/g, ' '));
    const chips = ['All', '400 1', '404 1', '415 1', '422 2', '429 1'];
    expect(await chipsOn('/refused')).toEqual(chips);
    expect(await chipsOn('/refused?status=422')).toEqual(chips);
    // A search is about all statuses.
    expect(await chipsOn('/refused?q=1001')).toEqual([]);
  });

  test('leads from a limit to its field, and offers no change of a limit that is not of the key', async () => {
    const settings = await makeStatuses();
    const { organization, key, base, get } = settings;
    const [link] = await elementsOf((await get('/refused')).text, '.refused a.button');
    expect(link?.attributes['href']).toBe(`${base}/keys/${key.id}/change#dayLimitMinutes`);
    const form = (await get(`/keys/${key.id}/change`)).text;
    expect((await elementsOf(form, '#dayLimitMinutes-help .seen')).map(({ text }) => text)).toEqual([
      'Refused today:0 of 30 minutes used; the last request asked for 45. A limit of 45 admits it.',
    ]);
    const bytes = { name: 'organization-day', what: 'bytes', isOwn: false } as const;
    const dayLimit = { ...bytes, limit: 64_000_000, used: 63_900_000, added: 200_000 };
    const reason = 'daily_limit_reached' as const;
    await recordRefusal(
      asOperator(),
      { organizationId: organization, keyId: key.id },
      { uses: { reason, count: 1, sourceAddress: null, dayLimit } },
    );
    const { text } = await get('/refused?status=429');
    expect(text).toContain('The organization’s daily limit of text was reached');
    expect(text).toContain('63.9 MB of 64 MB used; the last request asked for 0.2 MB.');
    expect(text).toContain('The operator of this service can raise this limit.');
    // The limit of minutes keeps its button.
    expect(await elementsOf(text, '.refused tbody tr')).toHaveLength(2);
    expect(await elementsOf(text, '.refused a.button')).toEqual([link]);
  });
});

/** The companies that are selected in the form of a key. */
async function checkedCompanies(page: string): Promise<unknown[]> {
  const boxes = await elementsOf(page, 'input[type=checkbox][name=companies][checked]');
  return boxes.map(({ attributes }) => attributes['value']).sort();
}
