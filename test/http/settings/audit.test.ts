import { env } from 'cloudflare:workers';
import { describe, expect, test, vi } from 'vitest';
import { DAY_MS } from '../../../src/domain/calendar.ts';
import { reportRecord, setApproval } from '../../../src/services/work/record-services.ts';
import { aroundD1, countD1 } from '../../support/d1.ts';
import { countElements, csvRows, elementsOf } from '../../support/page.ts';
import { makeSettings } from '../../support/settings.ts';
import { withoutTriggers } from '../../support/time-travel.ts';
import { asOperator, importRecords, makeKey, rotate, rowsOf, TIME } from '../../support/world.ts';

/** The words of the elements that match. */
const wordsOf = async (page: string, selector: string) =>
  (await elementsOf(page, selector)).map(({ text }) => text.replaceAll(/\s+/g, ' ').trim());

describe('the audit log', () => {
  test.each(['2027-02-30', '2027-13-01', '27-02-01', 'today'])('refuses %s as a date', async (date) => {
    const { get } = await makeSettings();
    for (const path of [`/audit?from=${date}`, `/audit?to=${date}`, `/audit.csv?from=${date}`])
      expect((await get(path)).status).toBe(400);
  });

  test('ignores empty filters, and takes the last of a repeated one', async () => {
    const { organization, api, get } = await makeSettings();
    const key = await makeKey(organization);
    await api.postNote(key.value);
    const { text } = await get('/audit?q=&minutes=%20&from=&action=key.created&action=note.created&before=');
    expect((await elementsOf(text, '.log li')).length).toBe(1);
    expect((await elementsOf(text, 'a[href*="audit.csv"]')).map(({ attributes }) => attributes['href'])).toEqual([
      expect.stringMatching(/\.csv\?action=note\.created$/),
    ]);
  });

  test('links tickets to the PSA if the deployment knows its address', async () => {
    for (const [ticketUrl, links] of [
      [undefined, []],
      ['https://psa.example/{organization}/t/{ticket}', ['https://psa.example/%s/t/1001']],
    ] as const) {
      const { organization, api, get } = await makeSettings({ config: { ticketUrl } });
      const key = await makeKey(organization);
      await api.postNote(key.value);
      for (const path of ['/audit', `/keys/${key.id}`]) {
        const found = await elementsOf((await get(path)).text, '.entry a[rel=noreferrer]');
        expect(found.map(({ attributes }) => attributes['href'])).toEqual(
          links.map((link) => link.replace('%s', organization)),
        );
      }
    }
  });

  test('shows the actions of one administrator, by a link from the name', async () => {
    const { organization, api, base, get } = await makeSettings();
    const key = await makeKey(organization);
    expect((await api.postNote(key.value)).status).toBe(201);
    const { text: all } = await get('/audit');
    expect(await countElements(all, '.log li')).toBe(2);
    const [link] = await elementsOf(all, '.entry a[href*="by="]');
    expect(link?.attributes['href']).toBe(`${base}/audit?by=ada`);
    const { text } = await get('/audit?by=ada');
    expect(await countElements(text, '.log li')).toBe(1);
    expect(await countElements(text, `a[href="${base}/audit.csv?by=ada"]`)).toBe(1);
    // The log of a key does not repeat its name.
    const ofKey = (await get(`/audit?key=${key.id}`)).text;
    expect((await elementsOf(ofKey, '.log .who')).map(({ text: name }) => name !== '')).toEqual([false, true]);
  });

  test('offers present and former administrators with entries as a filter', async () => {
    const { organization, get, createKey } = await makeSettings();
    const options = async (path: string) =>
      (await elementsOf((await get(path)).text, 'select[name=by] option')).map(({ attributes, text }) => [
        attributes['value'],
        text,
        'selected' in attributes,
      ]);
    const all = ['', 'All', false];
    expect(await options('/audit')).toEqual([all]);
    await createKey();
    const user = { type: 'user', organization, admin: true };
    const email = `ada@${organization}.example`;
    await importRecords({ ...user, id: 'idle', name: 'Idle', email: `idle@${organization}.example` });
    expect(await options('/audit?by=ada')).toEqual([all, ['ada', 'Ada &lt;b&gt;Lovelace&lt;/b&gt;', true]]);
    await importRecords(
      { ...user, id: 'ada', name: 'Ada', email: `former@${organization}.example`, admin: false },
      { ...user, id: 'olga', name: 'Olga', email },
    );
    expect(await options('/audit')).toEqual([all, ['ada', 'Ada (former)', false]]);
    // Such as the PSA, or one of too many.
    expect(await options('/audit?by=psa')).toEqual([all, ['psa', 'psa', true], ['ada', 'Ada (former)', false]]);
    const entries = async (path: string) => countElements((await get(path)).text, '.log li');
    expect(await entries('/audit?by=ada&action=api_key.created')).toBe(1);
    expect(await entries('/audit?by=ada&action=note.created')).toBe(0);
  });

  test('shows how far back it searched, and continues the search', async () => {
    const { organization, base, get } = await makeSettings();
    await makeKey(organization);
    // One entry a minute; two have the ticket.
    await env.DB.prepare(
      `insert into audit_log select ?1, value, ?3 + value * 60000, 'system', 'psa', 'PSA', 'note.created', 'r',
         iif(value in (20, 31600), '77', '1001'), 'q', null, null, null, null, '', 0, 0 from json_each(?2)`,
    )
      .bind(organization, JSON.stringify(Array.from({ length: 49_999 }, (_, i) => i + 2)), Date.parse('2026-03-01'))
      .run();
    const read = async (query: string) => {
      const page = (await get(`/audit${query}`)).text;
      const links = await elementsOf(page, 'main a[href*="before="]');
      return {
        entries: await countElements(page, '.log li'),
        banners: await wordsOf(page, '[role=status]'),
        links: links.map(({ attributes, text }) => [text.trim(), attributes['href']]),
        newest: await countElements(page, `main > .actions a[href="${base}/audit?ticket=77"]`),
      };
    };
    const further = (before: number) => [['Look further', `${base}/audit?ticket=77&amp;before=${before}`]];
    expect(await read('?ticket=77')).toEqual({
      entries: 1,
      banners: ['Searched back to 21 Mar 2026, 20:01. Look further'],
      links: further(30_001),
      newest: 0,
    });
    expect(await read('?ticket=77&before=30001')).toEqual({
      entries: 0,
      banners: ['No entries found so far. Searched back to 7 Mar 2026, 22:41. Look further'],
      links: further(10_001),
      newest: 1,
    });
    // To the first entry, also if the page ends exactly there.
    for (const before of [10_001, 20_001])
      expect(await read(`?ticket=77&before=${before}`)).toEqual({ entries: 1, banners: [], links: [], newest: 1 });
    expect((await read('?ticket=77&before=20')).banners).toEqual(['No older entries match these filters. All entries']);

    // A full page of any entries is not a search.
    expect(await read('')).toMatchObject({
      entries: 50,
      banners: [],
      links: [['Older entries', `${base}/audit?before=49951&amp;nth=51`]],
    });
  });

  test('explains why it is empty, and how to see entries', async () => {
    const { organization, api, base, get } = await makeSettings();
    const empty = (await get('/audit')).text;
    expect(await wordsOf(empty, '.empty h2')).toEqual(['No entries yet']);
    expect(await countElements(empty, '[role=status], main .actions a')).toBe(0);
    const { value } = await makeKey(organization);
    await api.postNote(value);
    for (const query of ['ticket=77', 'q=nothing', 'q=1003&ticket=1001']) {
      const { text } = await get(`/audit?${query}`);
      expect(await wordsOf(text, '[role=status]')).toEqual(['No entries match these filters. All entries']);
      const links = await elementsOf(text, `main a[href="${base}/audit"]`);
      expect(links.map((link) => link.text.trim())).toEqual(['Clear filters', 'All entries']);
    }
    const reversed = (await get('/audit?from=2026-11-02&to=2026-11-01')).text;
    expect((await wordsOf(reversed, '[role=status]'))[0]).toContain('“From” is after “To”');
    expect(await wordsOf((await get('/audit?before=1')).text, '[role=status]')).toEqual(['No older entries.']);
  });
});

test('the names of files contain the organization and the day, and their times suit spreadsheets', async () => {
  const now = () => Date.parse('2027-03-22T03:30:05Z');
  const { organization, api, get } = await makeSettings({ timeZone: 'America/New_York', now });
  const key = await makeKey(organization, { expires: '2027-12-31', scopes: ['tickets:note:write'] }, now);
  await api.postTime(key.value);
  await api.settled();
  for (const [path, name] of [
    ['/keys.csv', 'api-keys'],
    ['/audit.csv', 'audit'],
    ['/refused.csv', 'refused-requests'],
  ] as const) {
    const { text, headers } = await get(path);
    expect(headers.get('Content-Disposition')).toBe(`attachment; filename="${organization}-${name}-2027-03-21.csv"`);
    expect(text).toContain('"2027-03-22 03:30:05","2027-03-21 23:30:05"');
    expect(text.split('\r\n')[0]).toMatch(/\(UTC\)","[A-Z][a-z ]+\(America\/New_York\)"/);
  }
  expect((await get('/keys.csv')).text).toContain('"2028-01-01 05:00:00","2028-01-01 00:00:00"');
});

describe('which entries a page of the audit log shows', () => {
  test('an entry of at least so many minutes is found, with what was done about it', async () => {
    const { organization, api, get } = await makeSettings({ approvals: 'psa' });
    const key = await makeKey(organization);
    for (const minutes of [479, 480, 481]) await api.postTime(key.value, { ...TIME, minutes });
    await api.postNote(key.value);
    const entries = await rowsOf('time_entries', organization);
    const entry = String(entries.find(({ minutes }) => minutes === 480)?.['id']);
    await setApproval(asOperator(), { organization, entry, decision: 'REJECTED', reviewer: 'ada' });
    const found = async (query: string) => {
      const lines = await elementsOf((await get(`/audit${query}`)).text, '.log .line');
      return lines.map(({ text }) => Number(/^\d+/.exec(text)?.[0]));
    };
    expect(await found('?minutes=480')).toEqual([480, 481, 480]);
    for (const by of [`key=${key.id}`, 'action=time_entry.created'])
      expect(await found(`?minutes=480&${by}`)).toEqual([481, 480]);
    expect(csvRows((await get('/audit.csv?minutes=481')).text)).toHaveLength(1);
    const { status, text } = await get('/audit?minutes=8h&from=1.2.2027');
    expect(status).toBe(400);
    expect(text).toContain('From must be a date, such as 2027-03-31. Minutes must be a whole number, at least 1.');
    // The chip of long time removes its filter again.
    const chipOf = async (query: string) => {
      const chips = await elementsOf((await get(`/audit${query}`)).text, '.state-chips a');
      const chip = chips.find(({ text }) => text === '240+ min');
      return [chip?.attributes['href']?.split('/audit')[1], chip?.attributes['aria-current']];
    };
    expect(await chipOf('')).toEqual(['?minutes=240', undefined]);
    expect(await chipOf('?minutes=240')).toEqual(['', 'true']);
  });

  test('a chip shows the entries of a group of actions', async () => {
    const { organization, api, get } = await makeSettings();
    const key = await makeKey(organization);
    const successor = await rotate(organization, key.id, { grace: '24h' });
    await api.postNote(successor.value);
    await api.postTime(successor.value);
    const found = async (query: string) => {
      const { text } = await get(`/audit?${query}`);
      return [await wordsOf(text, '.log .line'), await wordsOf(text, '[aria-current=true]')];
    };
    const keys = ['n8n: triage: replaced by', 'n8n: triage, replaces', 'n8n: triage'];
    const lines = keys.map((line) => expect.stringMatching(`^${line}( twb_[^:]*)?$`));
    expect(await found('action=Keys')).toEqual([expect.arrayContaining(lines), ['Any time', 'Keys']]);
    // Limited to a key, they do not repeat its name.
    const [ofKey = []] = await found(`action=Keys&key=${key.id}`);
    expect(ofKey).toHaveLength(2);
    expect(ofKey.filter((line) => line.includes('n8n: triage'))).toEqual([]);
    expect((await found('action=Writes'))[0]).toHaveLength(2);
    expect((await found(`action=Writes&key=${successor.id}`))[0]).toHaveLength(2);
  });

  test('each page says which of how many entries it shows, as SQL counts them', async () => {
    const { organization, get } = await makeSettings();
    const key = await makeKey(organization);
    const insert = env.DB.prepare(
      `with recursive n(i) as (select 1 union all select i + 1 from n where i < ?2)
       insert into audit_log select ?1, (select max(seq) from audit_log where organization_id = ?1) + i, 1, 'api_key', ?3, 'n8n',
         'note.created', 'r' || i, iif(i % 10, '1001', '1002'), 'q', null, null, null, null, '', 0, 0 from n`,
    );
    const days = env.DB.prepare(
      `insert into key_days select organization_id, actor_id, '2027-01-01', actor_id, count(*), 0, 0, 9, 1, null
       from audit_log where organization_id = ?1 and actor_type = 'api_key' group by actor_id`,
    );
    await env.DB.batch([insert.bind(organization, 1_630, key.id), days.bind(organization)]);
    const count = (condition: string) =>
      env.DB.prepare(`select count(*) as n from audit_log where organization_id = ?1 and ${condition}`)
        .bind(organization)
        .first<number>('n');
    const placesOf = async (path: string) => {
      const { text } = await get(path);
      const [place] = await elementsOf(text, '.actions > .minor');
      const [older] = await elementsOf(text, 'a.button[href*=before]');
      return {
        place: place?.text,
        older: String(older?.attributes['href'])
          .replaceAll('&amp;', '&')
          .replace(/^.*\/audit/, '/audit'),
      };
    };
    expect([await count('true'), await count("ticket_id = '1002'")]).toEqual([1_631, 163]);
    const [all, ticket] = [await placesOf('/audit'), await placesOf('/audit?q=1002')];
    expect([all.place, ticket.place]).toEqual(['1–50 of 1,631', '1–50 of 163']);
    expect((await placesOf(all.older)).place).toBe('51–100 of 1,631');
    const second = await placesOf(ticket.older);
    expect(second.place).toBe('51–100 of 163');
    expect((await placesOf((await placesOf(second.older)).older)).place).toBe('151–163 of 163');
    expect((await placesOf('/audit?action=note.created')).place).toBe('1–50 of more than 1,000');
    expect((await placesOf('/audit?by=ada')).place).toBe('1–1 of 1');
    expect((await placesOf(`/audit?key=${key.id}`)).place).toBe('1–50 of more than 1,000');
    expect((await placesOf(`/audit?key=${key.id}&ticket=1002`)).place).toBe('1–50 of at least 100');
  });
});

describe('what billing and auditors read of the audit log', () => {
  test('the line and the file contain the rate of billable time, and who decided about it when', async () => {
    const now = Date.parse('2027-11-23T12:00:00Z');
    const { organization, api, get } = await makeSettings({ approvals: 'psa', now: () => now });
    const key = await makeKey(organization, {}, () => now);
    for (const billable of [true, false]) await api.postTime(key.value, { ...TIME, billable });
    await api.postNote(key.value);
    const lines = async () => (await elementsOf((await get('/audit')).text, '.log .line')).map((one) => one.text);
    const submitted = ['billable, at 150.00/h, credited to Automation', 'not billable, credited to Automation'];
    for (const part of submitted) expect(await lines()).toContainEqual(expect.stringContaining(`30 min, ${part}: `));
    const [entry] = (await rowsOf('time_entries', organization)).filter(({ billable }) => billable === 1);
    await setApproval(
      { ...asOperator(), now: () => now },
      { organization, entry: String(entry?.['id']), decision: 'APPROVED', reviewer: 'ada' },
    );
    const approved = /^30 min, billable, at 150\.00\/h, credited to Automation, approved by Ada .* on 23 Nov 2027/;
    // The entry of the decision says who and when in its own columns.
    expect((await lines()).filter((line) => approved.test(line))).toHaveLength(1);
    expect((await lines()).filter((line) => /^30 min, billable, .*Automation(?!, approved)/.test(line))).toHaveLength(
      1,
    );
    const { text } = await get('/audit.csv');
    expect(text).toContain('"Minutes","Billable","Rate","Status"');
    const times = csvRows(text).flatMap((row) => /"Automation",(.*?"[A-Z]+")/.exec(row)?.[1] ?? []);
    expect(times).toEqual(['30,"yes",150.00,"APPROVED"', '30,"no",150.00,"SUBMITTED"', '30,"yes",150.00,"APPROVED"']);
  });

  test('a long text can be opened whole, and page and file say where it is cut', async () => {
    const { organization, api, get } = await makeSettings();
    const key = await makeKey(organization);
    await api.postNote(key.value, { message: 'x'.repeat(31_991) });
    const texts = async (path: string, selector: string) =>
      (await elementsOf((await get(path)).text, selector)).map(({ text }) => text);
    expect(await texts('/audit', '.entry p.minor')).toEqual(['2,000 of 31,991 characters. Show all']);
    expect(await texts(`/keys/${key.id}`, '.entry p.minor')).toEqual(['280 of 31,991 characters. Show all']);
    const [link] = await elementsOf((await get('/audit')).text, '.entry p.minor a');
    const whole = String(link?.attributes['href']).replace(/^\/settings\/[^/]+/, '');
    expect(await texts(whole, '.entry .text')).toEqual(['x'.repeat(31_991)]);
    expect(await texts(whole, '.entry p.minor')).toEqual([]);
    const { text } = await get('/audit.csv');
    expect(text).toContain(`"4,000 of 31,991 characters","${'x'.repeat(4_000)}…"`);
  });

  test('a line shows what the PSA refused in few words', async () => {
    const { organization, api, get } = await makeSettings();
    const key = await makeKey(organization);
    await api.postTime(key.value);
    const [entry] = await rowsOf('time_entries', organization);
    const report = { organization, id: String(entry?.['id']), kind: 'time_entry', result: 'refused' } as const;
    await reportRecord(asOperator(), { ...report, reason: 'Closed period' });
    const { text } = await get('/audit');
    const [chip] = await elementsOf(text, '.log .chip');
    expect(chip?.text.trim()).toBe('Refused by your PSA');
    expect(await countElements(text, '.log .chip .icon.ban')).toBe(1);
  });
});

describe('a file that is full', () => {
  /** The database with an audit log so long that every page of a file examines its 2,500 entries. */
  function longLog(last: number) {
    const count = { queries: 0, lowest: last };
    const db = aroundD1(env.DB, async (run, statements, sql) => {
      count.queries += statements;
      const results = await run();
      return results.map((result, index) => {
        if (!sql[index]?.includes('as examined')) return result;
        count.lowest -= 2_500;
        return {
          ...result,
          results: [{ examined: 2_500, lowest: count.lowest, lowestAt: 0, oldest: 1, matching: null }],
        };
      });
    });
    return { db, count };
  }

  test('ends after 1,000,000 entries and fewer than 1,000 queries, with the address of the next file', async () => {
    const { db, count } = longLog(1_700_000);
    const { organization, get } = await makeSettings({ bindings: { DB: db } });
    const { text } = await get('/audit.csv?ticket=none&separator=semicolon');
    const address = `https://api.example/settings/${organization}/audit.csv?ticket=none&separator=semicolon&before=700000`;
    expect(csvRows(text)).toEqual([`"This file is full. Download the rest from ${address}"`]);
    expect(count.queries).toBeLessThan(1_000);
  });

  test('continues in the next file, whose name contains its beginning', async () => {
    const { organization, get } = await makeSettings();
    const keys = [await makeKey(organization), await makeKey(organization), await makeKey(organization)];
    const names = async (path: string, column: number) => {
      const { text, headers } = await get(path);
      const name = /filename="(.*)-\d{4}-\d{2}-\d{2}\.csv"/.exec(headers.get('Content-Disposition') ?? '')?.[1];
      return [name, csvRows(text).map((row) => row.split(',')[column])];
    };
    const [first, second] = keys;
    expect(await names('/audit.csv?before=3', 13)).toEqual([
      `${organization}-audit-before-3`,
      [`"${second?.id}"`, `"${first?.id}"`],
    ]);
    expect(await names(`/keys.csv?before=${second?.id}`, 1)).toEqual([
      `${organization}-api-keys-before-${second?.id}`,
      [`"${first?.hint}"`],
    ]);
    await env.DB.prepare(
      'insert into refused_uses select organization_id, api_keys.id, value, 1, 1, 1, null, null, null, \'\', null from api_keys, json_each(\'["expired","revoked"]\') where organization_id = ?',
    )
      .bind(organization)
      .run();
    expect(await names(`/refused.csv?before=${second?.id}.revoked`, 1)).toEqual([
      `${organization}-refused-requests-before-${second?.id}-revoked`,
      [`"${second?.hint}"`, `"${first?.hint}"`, `"${first?.hint}"`],
    ]);
    expect((await get('/audit.csv?before=x')).status).toBe(400);
  });
});

describe('the separator of a file', () => {
  test.each([
    ['/keys', '/keys.csv', 'Download'],
    ['/audit', '/audit.csv', 'Download'],
    ['/refused', '/refused.csv', 'Reasons'],
    ['/refused', '/refused-requests.csv', 'Requests'],
  ])('of %s, %s is separated by commas or semicolons', async (page, file, what) => {
    const { organization, api, base, get, headers: signedIn } = await makeSettings();
    const key = await makeKey(organization, { scopes: ['tickets:note:write'] });
    await api.postTime(key.value);
    await api.settled();
    const shown = await elementsOf((await get(page)).text, 'a[href*=".csv"]');
    const link = [`${what} as CSV`, `${base}${file}`];
    expect(shown.map(({ attributes, text }) => [text.trim(), attributes['href']])).toContainEqual(link);
    const [commas, semicolons] = [await get(file), await get(`${file}?separator=semicolon`)];
    for (const { text, headers } of [semicolons, await get(`${file}?separator=comma`)])
      expect([text.length, headers.get('Content-Disposition')]).toEqual([
        commas.text.length,
        commas.headers.get('Content-Disposition'),
      ]);
    for (const [languages, like] of [
      ['de-CH,de;q=0.9', commas],
      ['de-DE,de;q=0.9,en', semicolons],
      ['fr', semicolons],
      ['en-GB,de', commas],
      ['*', commas],
    ] as const) {
      const sent = { headers: { ...signedIn, 'Accept-Language': languages } };
      expect([languages, await (await api.send(`${base}${file}`, sent)).text()]).toEqual([languages, like.text]);
    }
    for (const line of semicolons.text.trim().split('\r\n'))
      expect(line).toMatch(/^(?:"[^"]*"|\d*)(?:;(?:"[^"]*"|\d*))+$/);
  });

  test('any other separator is refused', async () => {
    const { get } = await makeSettings();
    for (const separator of ['', 'tab', ';', 'Semicolon']) {
      const { status, text, headers } = await get(`/keys.csv?separator=${encodeURIComponent(separator)}`);
      expect([status, headers.get('Content-Type')]).toEqual([400, 'text/html; charset=UTF-8']);
      expect(text).toContain('The separator of a CSV file is either comma or semicolon.');
    }
  });
});

describe('a search of the audit log', () => {
  test('accepts a ticket with the period and the other filters, and the id of a record', async () => {
    const now = Date.parse('2026-11-22T12:00:00Z');
    let today = now - 20 * DAY_MS;
    const { organization, api, base, get } = await makeSettings({ now: () => today });
    const [key, other] = [await makeKey(organization), await makeKey(organization)];
    await api.postNote(key.value, undefined, { 'Idempotency-Key': '1002' });
    today = now;
    await api.postNote(other.value);
    const found = async (query: string) => countElements((await get(`/audit?${query}`)).text, '.log li');
    // An Idempotency-Key that looks like a ticket finds its record.
    for (const [query, entries] of [
      ['q=1001', 2],
      ['q=%231001', 2],
      ['q=1001&from=2026-11-16', 1],
      [`q=1001&key=${key.id}`, 1],
      ['q=1003', 0],
      ['q=1002', 1],
      ['q=7777', 0],
    ] as const)
      expect([query, await found(query)]).toEqual([query, entries]);
    const { text } = await get('/audit?q=1001&from=2026-11-16');
    const chips = (await elementsOf(text, '.state-chips a')).map(({ attributes, text: label }) => [
      label,
      attributes['href'],
      attributes['aria-current'],
    ]);
    expect(chips).toEqual([
      ['Today', `${base}/audit?q=1001&amp;from=2026-11-22`, undefined],
      ['7 days', `${base}/audit?q=1001&amp;from=2026-11-16`, 'true'],
      ['30 days', `${base}/audit?q=1001&amp;from=2026-10-24`, undefined],
      ['Any time', `${base}/audit?q=1001`, undefined],
      ['Writes', `${base}/audit?q=1001&amp;from=2026-11-16&amp;action=Writes`, undefined],
      ['Decisions', `${base}/audit?q=1001&amp;from=2026-11-16&amp;action=Decisions`, undefined],
      ['Keys', `${base}/audit?q=1001&amp;from=2026-11-16&amp;action=Keys`, undefined],
      ['240+ min', `${base}/audit?q=1001&amp;from=2026-11-16&amp;minutes=240`, undefined],
      ['Clear filters', `${base}/audit`, undefined],
    ]);
    expect((await elementsOf(text, '.log h2')).map((day) => day.text)).toEqual(['Sunday 22 November 2026']);
  });

  test('exports its texts without formulas and pasted keys, in a file named after the key', async () => {
    const { organization, api, get } = await makeSettings();
    const key = await makeKey(organization, { name: 'HaloPSA: mirror (prod)' });
    const note = await api.postNote(key.value, { message: '=HYPERLINK("http://evil.example")' });
    await api.postNote(key.value, { message: `My key is ${key.value}` });
    const { id } = (await note.json<{ note: { id: string } }>()).note;
    const { text, headers } = await get(`/audit.csv?key=${key.id}`);
    expect(headers.get('Content-Disposition')).toContain(`filename="${organization}-audit-halopsa-mirror-prod-`);
    const texts = csvRows(text).map((row) => row.split(',').at(-1));
    expect(texts).toEqual(['"My key is twb_[removed]"', `"'=HYPERLINK(""http://evil.example"")"`, '']);
    await withoutTriggers([
      env.DB.prepare('delete from notes where organization_id = ? and id = ?').bind(organization, id),
    ]);
    expect(csvRows((await get(`/audit.csv?q=${key.id}&key=${key.id}`)).text)).toHaveLength(1);
    expect(csvRows((await get(`/audit.csv?key=${key.id}`)).text).map((row) => row.split(',').at(-1))).toEqual([
      texts[0],
      '',
      '',
    ]);
  });

  test('ignores all filters and shows none as selected', async () => {
    const { organization, base, get } = await makeSettings();
    const [key, other] = [await makeKey(organization), await makeKey(organization)];
    const { text } = await get(`/audit?q=${key.id}&key=${other.id}&action=note.created&from=2001-01-01`);
    expect(await countElements(text, `.entry a[href="${base}/keys/${key.id}"]`)).toBe(1);
    const selected = (await elementsOf(text, 'option[selected]')).map(({ attributes }) => attributes['value']);
    expect(selected.filter((value) => value !== '')).toEqual([]);
    expect(text).not.toContain('2001-01-01');
  });
});

test('a second download of a file by an organization within 10 seconds is refused, and any other is allowed', async () => {
  const { base, get } = await makeSettings({ bindings: { RATE_LIMITER: env.RATE_LIMITER } });
  const other = await makeSettings({ bindings: { RATE_LIMITER: env.RATE_LIMITER } });
  for (const path of ['/audit.csv', '/keys.csv', '/refused.csv', '/time.csv', '/time-totals.csv'])
    expect([path, (await get(path)).status]).toEqual([path, 200]);
  // The page leads back to the list with its filters.
  for (const [path, from] of [
    ['/audit.csv?by=ada&before=7&separator=comma', '/audit?by=ada'],
    ['/audit.csv?by=bea', '/audit?by=bea'],
    ['/refused.csv?before=x.revoked', '/refused'],
    ['/time-totals.csv?state=all&minutes=9', '/time?state=all&amp;minutes=9'],
  ]) {
    const { status, text } = await get(String(path));
    expect(status).toBe(429);
    expect(text).toMatch(/Your organization can download one such file every 10 seconds\. Download it after \d+ s\./);
    const links = await elementsOf(text, 'main a');
    expect(links.map((link) => [link.text, link.attributes['href']])).toEqual([['Go back', `${base}${from}`]]);
  }
  expect((await other.get('/keys.csv')).status).toBe(200);
});

test('a download creates one formatter for its time zone, and two statements for each page of rows', async () => {
  const start = Date.parse('2026-03-28T00:00:00Z');
  const { db, calls } = countD1(env.DB);
  const { organization, get } = await makeSettings({ timeZone: 'Europe/Berlin', bindings: { DB: db } });
  await makeKey(organization);
  await env.DB.prepare(
    `insert into audit_log select ?1, value, ?3 + value * 60000, 'system', 'psa', 'PSA', 'note.created', 'r',
         null, 'q', null, null, null, null, '', 0, 0 from json_each(?2)`,
  )
    .bind(organization, JSON.stringify(Array.from({ length: 5_000 }, (_, i) => i + 2)), start)
    .run();
  let made = 0;
  const { DateTimeFormat } = Intl;
  vi.spyOn(Intl, 'DateTimeFormat').mockImplementation(function DateTimeFormat_(...args) {
    made += 1;
    return new DateTimeFormat(...args);
  });
  calls.length = 0;
  const rows = csvRows((await get('/audit.csv')).text);
  vi.restoreAllMocks();
  expect(rows).toHaveLength(5_001);
  // One for the file, the others for the page's name and the sign-in.
  expect(made).toBeLessThanOrEqual(3);
  expect(calls.flatMap(({ statements }) => statements).length).toBeLessThanOrEqual(9);
  const format = new Intl.DateTimeFormat('sv-SE', {
    dateStyle: 'short',
    timeStyle: 'medium',
    timeZone: 'Europe/Berlin',
  });
  // The clocks change on 29 March 2026.
  for (const seq of [2, 1_400, 1_499, 1_500, 1_501, 1_502, 5_000]) {
    const row = rows.at(5_001 - seq)?.split(',');
    const at = start + seq * 60_000;
    expect([seq, row?.slice(0, 2)]).toEqual([
      seq,
      [JSON.stringify(new Date(at).toISOString().slice(0, 19).replace('T', ' ')), JSON.stringify(format.format(at))],
    ]);
  }
});
