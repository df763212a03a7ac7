import { env } from 'cloudflare:workers';
import { describe, expect, test, vi } from 'vitest';
import { DAY_MS } from '../../../src/domain/calendar.ts';
import { handTimeToSettings } from '../../../src/services/work/hand-to-settings.ts';
import { countD1 } from '../../support/d1.ts';
import { csvRows, elementsOf } from '../../support/page.ts';
import { allChanges, connectionOf, failureOf, resultOf, work } from '../../support/psa-calls.ts';
import { auditedActions, openSettings, signIn } from '../../support/settings.ts';
import { importAdmin, makeTime, multiply, setApprovals } from '../../support/time.ts';
import { asOperator, importRecords, makeApi, makeKey, rowsOf } from '../../support/world.ts';

const textsOf = async (page: string, selector: string) =>
  (await elementsOf(page, selector)).map(({ text }) => text.trim());
const idsOf = async (page: string) =>
  (await elementsOf(page, 'input[name=entry]')).map(({ attributes }) => attributes['value'] ?? '');
const statusesOf = async (organization: string) =>
  (await rowsOf('time_entries', organization)).map(({ status }) => status);

describe('the queue', () => {
  test('the page lists the entries that wait with what a biller needs, the longest first, and their totals', async () => {
    const { organization, get, log, key } = await makeTime({ config: { ticketUrl: 'https://psa.example/{ticket}' } });
    await importAdmin(organization, 'ada', 'Ada', true);
    await log({ minutes: 90, description: 'Disk <b>full</b>' });
    await log({ minutes: 20, billable: false, userEmail: `ada@${organization}.example` }, '1002');
    const { text } = await get('/time');
    const cells = await textsOf(text, '.time tbody th, .time tbody td');
    expect(cells.map((cell) => cell.replace(/\s+/g, ' '))).toEqual([
      ...[expect.stringMatching(/^\d+ \w+ \d+ · 90 min$/), 'Disk &lt;b&gt;full&lt;/b&gt;1001 · Acme · n8n: triage'],
      ...['Automation', '225.00 at 150.00'],
      ...[expect.stringMatching(/· 20 min$/), 'Task 21002 · Globex · n8n: triage', 'Ada own time', 'Not billable'],
    ]);
    expect(await textsOf(text, '#totals')).toEqual(['2 entries, 110 minutes, amount 225.00']);
    expect((await elementsOf(text, 'tbody a[rel]')).map(({ attributes }) => attributes['href'])).toEqual([
      'https://psa.example/1001',
      'https://psa.example/1002',
    ]);
    expect(text).not.toContain(key.value);
  });

  test('every page shows on its tab how many entries wait, and the list of keys since when', async () => {
    const { get, log, decide } = await makeTime({ now: () => Date.parse('2026-11-09T10:00:00Z') });
    const tab = async (path: string) => textsOf((await get(path)).text, 'nav.tabs a[href$="/time"]');
    expect(await tab('/audit')).toEqual(['Time']);
    const [first] = [await log(), await log()];
    expect(await tab('/audit')).toEqual(['Time\u00a02']);
    expect(await textsOf((await get('/keys')).text, '.attention a[href$="/time"]')).toEqual([
      '2 time entries wait for approval, the oldest since 9 Nov 2026',
    ]);
    await decide('APPROVED', first);
    expect(await tab('/time')).toEqual(['Time\u00a01']);
  });

  test.each([
    ['company=globex', [1]],
    ['technician=tess', [2]],
    ['key=KEY', [3]],
    ['from=2026-11-10', [5]],
    ['to=2026-11-09', [4, 0, 1, 2, 3]],
    ['from=2026-11-09&to=2026-11-09&company=acme', [4, 0, 2, 3]],
    ['minutes=31', [4]],
  ])('a filter shows only its entries: %s', async (filter, expected) => {
    let now = Date.parse('2026-11-09T23:00:00Z');
    const { organization, api, get, log } = await makeTime({ now: () => now });
    const ids = [await log(), await log({}, '1002'), await log({ userEmail: 'tess@northwind.example' })];
    const other = await makeKey(organization, {}, () => now);
    const response = await api.postTime(other.value, { minutes: 1, description: 'Other key', billable: true });
    ids.push((await response.json<{ entry: { id: string } }>()).entry.id, await log({ minutes: 481 }));
    now = Date.parse('2026-11-10T01:00:00Z');
    ids.push(await log());
    const { text } = await get(`/time?${filter.replace('KEY', other.id)}`);
    expect(await idsOf(text)).toEqual(expected.map((index) => ids[index]));
  });
});

describe('marks', () => {
  const AT = Date.parse('2026-11-09T14:02:00Z');
  /** The marks of the listed entries, in their order. */
  const marksOf = async (page: string) => textsOf(page, 'tbody th .mark');
  const minutesOf = async (page: string) =>
    (await textsOf(page, 'tbody th strong')).map((text) => Number.parseInt(text, 10));

  test('an entry is long from 240 minutes on, or from those of the key rules, and is listed first', async () => {
    const { get, post, log, decide } = await makeTime();
    for (const minutes of [239, 30, 240, 480]) await log({ minutes });
    const { text } = await get('/time');
    expect(await minutesOf(text)).toEqual([480, 240, 239, 30]);
    expect(await marksOf(text)).toEqual(Array(2).fill('long (240+)'));
    const label = async (search = '') => textsOf((await get(`/time${search}`)).text, '.decide button[name=all]');
    expect(await label()).toEqual(['Approve 2 unmarked…']);
    await decide('APPROVED', (await idsOf(text)).slice(1, 3));
    expect(await label()).toEqual(['Approve 1 unmarked…']);
    await decide('APPROVED', (await idsOf(text)).slice(0, 1));
    expect(await label()).toEqual(['Approve 1 entry…']);
    expect((await post('/key-rules', { revision: '0', maxLifetimeDays: '', longMinutes: '30' })).status).toBe(303);
    expect(await marksOf((await get('/time')).text)).toEqual(['long (30+)']);
  });

  test('the same ticket, minutes and text within 15 minutes are a possible duplicate, of whatever key', async () => {
    let now = AT;
    const { organization, api, get, log, decide } = await makeTime({ now: () => now });
    const same = { minutes: 20, description: 'Tested the backup' };
    const first = await log(same);
    const other = await makeKey(organization, {}, () => now);
    await api.postTime(other.value, { ...same, billable: true });
    for (const different of [{ minutes: 21 }, { description: 'Tested the backups' }])
      await log({ ...same, ...different });
    await log(same, '1002');
    now += 15 * 60_000 + 1;
    await log({ minutes: 5, description: 'Later' });
    expect(await marksOf((await get('/time')).text)).toEqual(['possible duplicate, 1 s later']);
    await log(same);
    const { text } = await get('/time');
    expect([await marksOf(text), (await minutesOf(text))[0]]).toEqual([['possible duplicate, 1 s later'], 20]);
    // The copy is still one when the first entry is approved.
    await decide('APPROVED', first);
    expect(await marksOf((await get('/time')).text)).toEqual(['possible duplicate, 1 s later']);
  });

  test('time that is sent again after 1,000 entries were approved is still a possible duplicate', async () => {
    const { organization, get, log, decide } = await makeTime({ now: () => AT });
    await log({ description: 'Tested the backup' });
    await multiply(organization, 999);
    const ids = await idsOf((await get('/time/decide?all=APPROVED')).text);
    expect((await decide('APPROVED', ids)).notice).toBe('1,000 entries approved: 30,000 minutes, amount 75,000.00');
    await log({ description: 'Tested the backup' });
    expect(await marksOf((await get('/time')).text)).toEqual(['possible duplicate, 1 s later']);
  });

  test('while more than 10,000 entries wait, marks know only those of the filter, so that all cannot be approved', async () => {
    const { organization, get, log } = await makeTime({ now: () => AT });
    await log({ minutes: 20 });
    await multiply(organization, 9_999);
    const filtered = async () => {
      const { text } = await get('/time?company=globex');
      const buttons = await elementsOf(text, 'button[name=all]');
      return [(await textsOf(text, '#totals'))[0], buttons.length];
    };
    await log({ minutes: 25 }, '1002');
    expect(await filtered()).toEqual([expect.stringContaining('so marks compare only those of the filter'), 0]);
    const { headers } = await get('/time/decide?all=APPROVED&company=globex');
    expect(decodeURIComponent(headers.get('Set-Cookie') ?? '')).toContain('More than 10,000 entries wait. Select');
  });

  test('the time of one person on one date is marked above 24 hours, and that of the service account never', async () => {
    let now = AT;
    const { get, log, decide } = await makeTime({ now: () => now });
    const tess = { userEmail: 'tess@northwind.example' };
    for (let one = 0; one < 7; one++) await log({ minutes: 220 });
    for (let one = 0; one < 6; one++) await log({ ...tess, minutes: 220 });
    const last = await log({ ...tess, minutes: 120 });
    now += DAY_MS;
    await log({ ...tess, minutes: 220 });
    expect(await marksOf((await get('/time')).text)).toEqual([]);
    now -= DAY_MS;
    const more = await log({ ...tess, minutes: 1 });
    expect(await marksOf((await get('/time')).text)).toEqual(['1,441 min that day']);
    expect(await marksOf((await get('/time?minutes=221')).text)).toEqual([]);
    // Approved time still fills the day.
    await decide('APPROVED', [last, more]);
    expect(await marksOf((await get('/time')).text)).toHaveLength(1);
    await log({ ...tess, minutes: 10 });
    const { text } = await get('/time');
    expect(await marksOf(text)).toEqual(['1,451 min that day']);
    // The link leads to the time of that day. A file has no separators.
    const [link] = await elementsOf(text, 'tbody th .mark a');
    const address = String(link?.attributes['href']).split('/time')[1]?.replaceAll('&amp;', '&');
    expect(address).toBe('?state=all&technician=tess&from=2026-11-09&to=2026-11-09');
    expect((await textsOf((await get(`/time${address}`)).text, '#totals'))[0]).toMatch(/^9 entries, 1,451 minutes,/);
    expect((await get('/time.csv')).text).toContain('"1451 min that day"');
  });

  test('of a day above 24 hours, only the longest entries are marked, without which the rest fits', async () => {
    const { get, log } = await makeTime({ now: () => AT });
    const tess = { userEmail: 'tess@northwind.example' };
    for (const minutes of [6, 45, 239, 239, 480, 239, 540, 239, 357]) await log({ ...tess, minutes });
    const { text } = await get('/time');
    const [long, day] = ['long (240+)', '2,384 min that day'];
    expect(await marksOf(text)).toEqual([long, day, long, day, long]);
    expect((await minutesOf(text)).slice(0, 3)).toEqual([540, 480, 357]);
    expect(await textsOf(text, '.decide a')).toEqual(['Select all', 'Select marked (3)']);
  });

  test('an entry is listed before its possible duplicate, which says how much later it is and leads to its row', async () => {
    let now = AT;
    const { base, get, log, decide } = await makeTime({ now: () => now });
    const same = { minutes: 20, description: 'Tested the backup' };
    const first = await log(same);
    await log({ minutes: 60 });
    for (let one = 0; one < 3; one++) await log({ minutes: 20 });
    const second = await log(same);
    now += 3 * 60_000;
    const third = await log(same);
    const page = async () => (await get('/time')).text;
    expect((await idsOf(await page())).slice(0, 3)).toEqual([first, second, third]);
    const links = async () =>
      (await elementsOf(await page(), '.mark a')).map(({ attributes }) => attributes['href']?.replace('&amp;', '&'));
    expect(await links()).toEqual([`#${first}`, `#${second}`]);
    expect(await marksOf(await page())).toEqual(['1 s later', '3 min later'].map((at) => `possible duplicate, ${at}`));
    expect(await elementsOf(await page(), `tbody [id="${first}"]`)).toHaveLength(1);
    await decide('APPROVED', first);
    expect(await links()).toEqual([`${base}/time?entry=${first}&select=none`, `#${second}`]);
    // The page of an original selects nothing, because its copy is what to reject.
    const original = (await get(`/time?entry=${second}&select=none`)).text;
    expect([await idsOf(original), await elementsOf(original, 'input[checked]')]).toEqual([[second], []]);
    expect((await idsOf(await page())).slice(0, 2)).toEqual([second, third]);
  });

  test('“Approve all” leaves marked entries out, which are selected together for one rejection', async () => {
    const { organization, get, log, decide } = await makeTime({ now: () => AT });
    const same = { minutes: 10, description: 'Twice' };
    const ids = [await log({ minutes: 480 }), await log({ minutes: 60 }), await log(same), await log(same)];
    const { text } = await get('/time?select=marked');
    expect((await elementsOf(text, 'input[checked]')).map(({ attributes }) => attributes['value'])).toEqual([
      ids[0],
      ids[3],
    ]);
    expect(await textsOf(text, '.decide a, .decide button')).toEqual([
      ...['Select all', 'Select marked (2)', 'Approve selected', 'Reject selected', 'Approve 2 unmarked…'],
    ]);
    const all = await get('/time/decide?all=APPROVED');
    // The entry whose duplicate is left out has no place before a longer one.
    expect(await idsOf(all.text)).toEqual([ids[1], ids[2]]);
    expect(await textsOf(all.text, '.question p')).toEqual([
      'This is final. Approved time reaches your PSA within seconds. Correct an error there.',
      '70 minutes, amount 175.00. Longest: 60, 10 min.',
      '2 marked entries stay in Waiting.',
    ]);
    const selected = await get(`/time/decide?selected=REJECTED&entry=${ids[1]}&entry=${ids[3]}&entry=${ids[0]}`);
    expect(await idsOf(selected.text)).toEqual([ids[0], ids[3], ids[1]]);
    expect((await textsOf(selected.text, '.question p')).slice(1)).toEqual([
      '550 minutes, amount 1,375.00. Longest: 480, 60, 10 min.',
      'Marked: 2 entries.',
    ]);
    // An entry comes first only with its duplicate.
    const original = await get(`/time/decide?selected=APPROVED&entry=${ids[1]}&entry=${ids[2]}`);
    expect(await idsOf(original.text)).toEqual([ids[1], ids[2]]);
    expect(await textsOf(original.text, '.banner')).toEqual([]);
    const both = await get(`/time/decide?selected=APPROVED&entry=${ids[1]}&entry=${ids[2]}&entry=${ids[3]}`);
    expect(await textsOf(both.text, '.banner.warning')).toEqual([
      '1 marked entry is among them, the longest of 10 min.',
    ]);
    expect(await idsOf(both.text)).toEqual([ids[2], ids[3], ids[1]]);
    expect(await elementsOf(selected.text, '#reason[autofocus]')).toHaveLength(1);
    // Also after an error in the form.
    const refused = await decide('REJECTED', ids, '');
    expect(refused.text).toContain('Marked: 2 entries.');
    expect(await statusesOf(organization)).toEqual(Array(4).fill('SUBMITTED'));
  });
});

describe('the selection', () => {
  test('Cancel leads back to it, even to one of a later page', async () => {
    const { organization, get, log } = await makeTime();
    await log();
    await multiply(organization, 149);
    const texts = async (page: string) => (await textsOf(page, '.decide a'))[0];
    const first = (await get('/time')).text;
    expect(await texts(first)).toBe('Select all 100');
    const hrefOf = async (page: string, selector: string) => {
      const [link] = await elementsOf(page, selector);
      return `/time?${String(link?.attributes['href']).split('?')[1]?.replaceAll('&amp;', '&')}`;
    };
    const { text } = await get(await hrefOf(first, 'a.button[href*=before]'));
    expect(await texts(text)).toBe('Select all 50');
    const chosen = (await idsOf(text)).slice(3, 5);
    const fields = (await elementsOf(text, '.decide input[type=hidden]')).map(({ attributes }) => [
      attributes['name'] ?? '',
      attributes['value'] ?? '',
    ]);
    const search = new URLSearchParams([...fields, ...chosen.map((id) => ['entry', id])]);
    const confirmation = await get(`/time/decide?${search}&selected=REJECTED`);
    const back = await get(await hrefOf(confirmation.text, '.actions a'));
    expect(await idsOf(back.text)).toEqual(await idsOf(text));
    const checked = await elementsOf(back.text, 'input[checked]');
    expect(checked.map(({ attributes }) => attributes['value'])).toEqual(chosen);
    const all = await get(`/time/decide?${new URLSearchParams(fields)}&all=APPROVED`);
    expect(await hrefOf(all.text, '.actions a')).not.toContain('select');
  });

  test('a decision about nothing is a warning, and not a success', async () => {
    const { get, log, headers, api, base } = await makeTime();
    await log();
    const [cookie = ''] = (await get('/time/decide?selected=APPROVED')).headers.get('Set-Cookie')?.split(';') ?? [];
    const response = await api.send(`${base}/time`, { headers: { ...headers, Cookie: cookie } });
    expect(await textsOf(await response.text(), '.banner')).toEqual(['No entry was selected.']);
    expect(cookie).toContain('warning');
  });
});

describe('a decision', () => {
  test('the confirmation names count, total and own time, and nothing is decided before it', async () => {
    const { organization, get, log } = await makeTime();
    const ids = [await log({ minutes: 500 }), await log(), await log()];
    const { text } = await get(`/time/decide?selected=APPROVED&entry=${ids[0]}&entry=${ids[2]}`);
    expect(await textsOf(text, 'h1')).toEqual(['Approve 2 entries?']);
    expect(await textsOf(text, '.question p')).toEqual([
      'This is final. Approved time reaches your PSA within seconds. Correct an error there.',
      '530 minutes, amount 1,325.00. Longest: 500, 30 min.',
    ]);
    // An approval of marked time is not like others.
    expect(await textsOf(text, '.banner.warning')).toEqual(['1 marked entry is among them, the longest of 500 min.']);
    expect(
      await textsOf((await get(`/time/decide?selected=APPROVED&entry=${ids[0]}`)).text, '.banner.warning'),
    ).toEqual(['This entry is marked. Check it before you approve it.']);
    const rejection = await get(`/time/decide?selected=REJECTED&entry=${ids[0]}`);
    expect(await elementsOf(rejection.text, '.banner')).toEqual([]);
    expect(await textsOf(text, '.question bdi')).toEqual(['your PSA']);
    expect(await idsOf(text)).toEqual([ids[0], ids[2]]);
    expect(await statusesOf(organization)).toEqual(['SUBMITTED', 'SUBMITTED', 'SUBMITTED']);
  });

  test('the selected entries are approved under the administrator, in the feed, and in a replay', async () => {
    const { organization, api, key, get, log, decide } = await makeTime();
    const [first, second] = [await log(), await log()];
    const body = { minutes: 5, description: 'Once', billable: true };
    const post = async () => (await api.postTime(key.value, body, { 'Idempotency-Key': 'once' })).json<object>();
    await post();
    const { id: third } =
      (await rowsOf('time_entries', organization)).find((row) => row['description'] === 'Once') ?? {};
    const { status, location, notice } = await decide('APPROVED', [first, String(third)]);
    expect([status, notice]).toEqual([303, '2 entries approved: 35 minutes, amount 87.50']);
    expect(location).toMatch(/\/time\?state=waiting$/);
    expect(await idsOf((await get('/time')).text)).toEqual([second]);
    expect(await post()).toMatchObject({ entry: { status: 'APPROVED' }, idempotentReplay: true });
    expect((await allChanges(organization)).slice(-2)).toMatchObject(
      [first, third].map((id) => ({
        action: 'time_entry.approved',
        actor: { type: 'user', id: 'ada' },
        ticketId: '1001',
        detail: null,
        timeEntry: { id, status: 'APPROVED' },
      })),
    );
  });

  test('a rejection needs a reason, which the page, the audit log and the feed have', async () => {
    const { organization, get, log, decide } = await makeTime();
    const id = await log();
    const refused = await decide('REJECTED', id, ' \u0000 ');
    expect([refused.status, await textsOf(refused.text, '.error')]).toEqual([
      400,
      ['Enter a reason of at most 200 characters.'],
    ]);
    expect(await idsOf(refused.text)).toEqual([id]);
    expect(await statusesOf(organization)).toEqual(['SUBMITTED']);
    await decide('REJECTED', id, ' Not  ours ');
    expect((await allChanges(organization)).at(-1)).toMatchObject({
      action: 'time_entry.rejected',
      detail: { text: 'Not ours' },
    });
    const { text } = await get('/time?state=rejected');
    expect(await textsOf(text, 'thead th')).toEqual(['Time', 'Work', 'Technician', 'Rejected', 'Amount']);
    expect(await textsOf(text, 'tbody .state')).toEqual([expect.stringMatching(/^Ada .*, \d\d:\d\d$/)]);
    // The reason is on a line of its own.
    expect(await textsOf(text, 'tbody td:nth-child(4) .minor')).toEqual(['Not ours']);
  });

  test('a confirmation of nothing leads back to the list', async () => {
    const { get, log } = await makeTime();
    await log();
    for (const search of ['selected=x', 'selected=APPROVED', 'all=APPROVED&upTo=1', ''])
      expect((await get(`/time/decide?${search}`)).status).toBe(303);
  });

  test('of a form with entries that the same administrator has decided before, the page says what is new', async () => {
    const { organization, log, decide } = await makeTime();
    const ids = [await log(), await log(), await log({ minutes: 15 })];
    const [first = '', second = ''] = ids;
    await decide('REJECTED', [first], 'Not ours');
    await decide('REJECTED', [second], 'Wrong hours');
    const old = await decide('REJECTED', ids, 'Not ours');
    expect([old.status, await textsOf(old.text, 'h1, [role=alert]')]).toEqual([
      409,
      [
        '1 of 3 entries rejected',
        expect.stringMatching(/^Rejected: 15 minutes\. 2 entries had already been decided by Ada .*\.$/),
      ],
    ]);
    expect(await textsOf(old.text, 'tbody td:nth-child(4) .minor')).toEqual(['Not ours', 'Wrong hours']);
    // Nothing is new: only what has the same reason was sent twice.
    const again = await decide('REJECTED', [first, second], 'Not ours');
    expect([again.status, await textsOf(again.text, 'h1')]).toEqual([409, ['1 of 2 entries rejected']]);
    expect((await decide('REJECTED', [first], 'Not ours')).notice).toBe('1 entry rejected: 30 minutes');
    expect(await statusesOf(organization)).toEqual(Array(3).fill('REJECTED'));
  });

  test('a form that is sent twice decides once, and both times leads to the same page', async () => {
    const { organization, log, decide } = await makeTime();
    const ids = [await log(), await log()];
    const [one, two] = await Promise.all([decide('APPROVED', ids), decide('APPROVED', ids)]);
    expect([one.status, two.location]).toEqual([303, one.location]);
    expect((await auditedActions(organization)).filter((action) => action === 'time_entry.approved')).toHaveLength(2);
  });

  test('all that the page counted are decided, and never an entry that came later', async () => {
    const { get, post, log } = await makeTime();
    const ids = [await log(), await log({}, '1002'), await log()];
    const { text } = await get('/time?company=acme');
    const hidden = (await elementsOf(text, '.decide input[type=hidden]')).map(({ attributes }) => [
      attributes['name'] ?? '',
      attributes['value'] ?? '',
    ]);
    const late = await log();
    const confirmation = await get(`/time/decide?${new URLSearchParams(hidden)}&all=APPROVED`);
    expect(await idsOf(confirmation.text)).toEqual([ids[0], ids[2]]);
    await post('/time/decide', { decision: 'APPROVED', entry: await idsOf(confirmation.text) });
    expect(await idsOf((await get('/time')).text)).toEqual([ids[1], late]);
  });

  test('one request decides all entries of its confirmation, each with an audit row in the order of the queue', async () => {
    const { organization, get, log, decide } = await makeTime();
    await log();
    await multiply(organization, 999);
    const ids = await idsOf((await get('/time/decide?all=APPROVED')).text);
    expect(ids).toHaveLength(1_000);
    expect((await decide('REJECTED', ids)).notice).toBe('1,000 entries rejected: 30,000 minutes');
    const rows = await rowsOf('audit_log', organization);
    const decided = rows.filter(({ action }) => action === 'time_entry.rejected');
    expect(decided.map(({ target_id }) => String(target_id)).sort()).toEqual(ids.toSorted());
    expect(
      new Set(decided.map(({ ticket_id, actor_id, actor_name }) => [ticket_id, actor_id, actor_name].join())),
    ).toEqual(new Set(['1001,ada,Ada <b>Lovelace</b>']));
    const entries = await rowsOf('time_entries', organization);
    expect(entries.map(({ id, status, approval_seq }) => [id, status, approval_seq]).sort()).toEqual(
      decided.map(({ target_id, seq }) => [target_id, 'REJECTED', seq]).sort(),
    );
  });

  test('a page says whose decision was first', async () => {
    const { organization, api, log, decide } = await makeTime();
    const ids = [await log(), await log()];
    await importAdmin(organization, 'bea', 'Bea');
    const bea = await openSettings(api, organization, `bea@${organization}.example`);
    await bea.post('/time/decide', { decision: 'REJECTED', entry: ids[0] ?? '', reason: 'Not ours' });
    const { status, text } = await decide('APPROVED', ids);
    expect([status, await textsOf(text, 'h1')]).toEqual([409, ['1 of 2 entries approved']]);
    expect(await textsOf(text, '[role=alert]')).toEqual([
      'Approved: 30 minutes, amount 75.00. 1 entry had already been decided by Bea.',
    ]);
    const cells = 'tbody .when, tbody td[data-label=Work] .text, tbody .state, tbody td:nth-child(4) .minor';
    expect(await textsOf(text, cells)).toEqual([
      ...[expect.stringContaining('30 min'), 'Task 1', expect.stringMatching(/^Rejected by Bea\d+ \w+, \d\d:\d\d$/)],
      'Not ours',
    ]);
    expect(text).not.toMatch(/\d UTC<|REJECTED/);
    const answer = await work.reviewTimeEntry(organization, ids[1] ?? '', 'REJECTED', 'bea');
    expect(failureOf(answer)).toEqual(['approved_in_settings']);
  });

  test('a decision about several entries of which one fails changes none of them', async () => {
    const { organization, log, decide } = await makeTime();
    const ids = [await log(), await log(), await log()];
    vi.spyOn(console, 'error').mockImplementation(() => undefined);
    const condition = `new.organization_id = '${organization}' and new.target_id = '${ids[1]}'`;
    await env.DB.prepare(
      `create trigger no_decision before insert on audit_log when ${condition} begin select raise(abort, 'no'); end`,
    ).run();
    expect((await decide('APPROVED', ids)).status).toBe(500);
    await env.DB.prepare('drop trigger no_decision').run();
    expect(await statusesOf(organization)).toEqual(['SUBMITTED', 'SUBMITTED', 'SUBMITTED']);
    expect((await decide('APPROVED', ids)).notice).toBe('3 entries approved: 90 minutes, amount 225.00');
  });

  test('a decision does not count against the changes of administrators', async () => {
    const { organization, log, decide } = await makeTime();
    await decide('APPROVED', await log());
    expect((await rowsOf('audit_log', organization)).at(-1)).toMatchObject({
      action: 'time_entry.approved',
    });
  });
});

describe('an organization that approves time in its PSA', () => {
  test('time that the PSA decides is not in the queue, and no button, fact or number is about it', async () => {
    const { organization, get, log, decide } = await makeTime();
    await setApprovals(organization, 'psa');
    const id = await log();
    const { text } = await get('/time');
    expect(await textsOf(text, '[role=status]')).toEqual(['Nothing waits here. Show all time']);
    expect((await elementsOf(text, '[role=status] a'))[0]?.attributes['href']).toMatch(/\/time\?state=all$/);
    expect(await textsOf(text, '.head .minor')).toEqual(['New time is approved in your PSA.']);
    // The tab leads to the time that there is.
    expect(await textsOf(text, 'nav.tabs a[href$="/time?state=all"]')).toEqual(['Time']);
    expect(await textsOf((await get('/time?state=all')).text, 'tbody tr')).toHaveLength(1);
    expect(await textsOf((await get('/keys')).text, '.attention a')).toEqual([]);
    expect((await get(`/time/decide?selected=APPROVED&entry=${id}`)).status).toBe(409);
    const refused = await decide('APPROVED', id);
    expect([refused.status, await textsOf(refused.text, 'h1')]).toEqual([409, ['Nothing was approved']]);
    expect(refused.text).toContain('1 entry is decided in your PSA.');
    expect(await work.reviewTimeEntry(organization, id, 'APPROVED', 'ada')).toMatchObject({ ok: true });
  });

  test('time that it refused is not said to wait there', async () => {
    const { organization, get, log, decide } = await makeTime();
    const own = await log();
    await setApprovals(organization, 'psa');
    expect(await textsOf((await get('/time')).text, 'nav.tabs a[href$="/time"]')).toEqual(['Time\u00a01']);
    const [id] = [await log(), await log()];
    await work.report(organization, 'time_entry', id, 'refused', 'The period is closed.');
    expect(await textsOf((await get('/time?state=all')).text, 'tbody .state')).toEqual([
      ...['Waits in your PSA', 'Not in your PSA', 'WaitsDecide'],
    ]);
    await decide('APPROVED', own);
    expect(await textsOf((await get('/time')).text, '[role=status]')).toEqual(['Nothing waits here. Show all time']);
  });

  test('an entry keeps who decides about it after a change of the field', async () => {
    const { organization, get, log, decide } = await makeTime();
    const ofSettings = await log();
    await setApprovals(organization, 'psa');
    const ofPsa = await log();
    const waiting = async () =>
      (await elementsOf((await get('/time')).text, 'tbody input')).map(({ attributes }) => attributes['value']);
    expect(await waiting()).toEqual([ofSettings]);
    await setApprovals(organization, 'settings');
    expect(await waiting()).toEqual([ofSettings]);
    expect((await decide('APPROVED', [ofSettings, ofPsa])).status).toBe(409);
    expect((await rowsOf('time_entries', organization)).map(({ approvals, status }) => [approvals, status])).toEqual(
      expect.arrayContaining([
        ['settings', 'APPROVED'],
        ['psa', 'SUBMITTED'],
      ]),
    );
  });

  test('the field is settings unless the PSA sends it, and the directory shows it', async () => {
    const { organization } = await makeTime();
    const read = async () =>
      await env.DB.prepare('select approvals from organizations where id = ?').bind(organization).first('approvals');
    expect(await read()).toBe('settings');
    await setApprovals(organization, 'psa');
    expect(await read()).toBe('psa');
    await expect(setApprovals(organization, 'us')).rejects.toThrow('"/approvals"');
  });
});

test('approved time that the PSA refuses stays visible, with the reason and what to do, until the PSA takes it', async () => {
  const { organization, get, log, decide } = await makeTime();
  const [id, other] = [await log(), await log()];
  await decide('APPROVED', [id, other]);
  resultOf(await work.report(organization, 'time_entry', id, 'refused', 'The period is closed.'));
  for (const state of ['refused', 'approved', 'all']) {
    const { text } = await get(`/time?state=${state}`);
    expect(await textsOf(text, 'tbody .refusal bdi')).toEqual(['The period is closed.']);
    // The advice is in the list that it is about, once.
    const advice = 'Enter this time in your PSA by hand, and mark it as entered. Or repair the cause';
    expect(text.replaceAll(/<\/?bdi>/g, '').split(advice)).toHaveLength(state === 'refused' ? 2 : 1);
    // Second, because a phone shows only the first chips.
    expect((await textsOf(text, '.state-chips a'))[1]).toBe('Not in the PSA 1');
  }
  expect(await textsOf((await get('/time?state=refused')).text, '#totals')).toEqual([
    expect.stringMatching(/^1 entry, /),
  ]);
  const tiles = await elementsOf((await get('/keys')).text, '.attention a');
  expect(tiles.map(({ attributes }) => attributes['href'])).toEqual([expect.stringMatching(/\/time\?state=refused$/)]);
  expect(await textsOf((await get('/keys')).text, '.attention .minor')).toEqual([
    'Enter them in your PSA by hand, or have them sent again.',
  ]);
  expect((await get('/time.csv?state=refused')).text).toContain('"The period is closed."');
  resultOf(await work.report(organization, 'time_entry', id, 'taken'));
  const { text } = await get('/time?state=refused');
  expect(await textsOf(text, 'tbody tr')).toEqual([]);
  expect((await textsOf(text, '.state-chips a'))[3]).toBe('Not in the PSA');
});

describe('time that the PSA refused and that was entered there by hand', () => {
  /** An approved entry that the PSA refused, and two administrators. */
  async function makeRefused() {
    const made = await makeTime();
    const id = await made.log({ description: `Step by step.\n${'It goes on. '.repeat(400)}` });
    await made.decide('APPROVED', id);
    await importAdmin(made.organization, 'bea', 'Bea');
    const bea = await openSettings(made.api, made.organization, `bea@${made.organization}.example`);
    const refuse = () => work.report(made.organization, 'time_entry', id, 'refused', 'The period is <closed>.');
    resultOf(await refuse());
    const refused = async () => (await rowsOf('psa_refusals', made.organization)).length;
    return { ...made, id, bea, refuse, refused };
  }

  test('an administrator takes it off the list, with an audit row that the feed shows', async () => {
    const { organization, get, post, id, refused } = await makeRefused();
    const one = (await get(`/time?entry=${id}`)).text;
    expect([await elementsOf(one, '.long[open]'), await textsOf(one, 'tbody a.button')]).toEqual([
      [expect.anything()],
      ['Entered by hand…'],
    ]);
    expect(one.indexOf('class="minor"')).toBeLessThan(one.indexOf('class="long"'));
    expect(one.indexOf('class="minor"')).toBeGreaterThan(0);
    // A title would keep it on one line.
    expect(await elementsOf(one, 'tbody td .minor[title]')).toEqual([]);
    const [link] = await elementsOf((await get('/time?state=refused&company=acme')).text, 'tbody a.button');
    const address = String(link?.attributes['href']).split('/time')[1]?.replaceAll('&amp;', '&');
    const { text } = await get(`/time${address}`);
    expect(await textsOf(text, 'h1')).toEqual(['Entered by hand?']);
    expect((await textsOf(text, '.question p'))[0]).toMatch(/^This is final\. .* not sent to your PSA again\.$/);
    const facts = await textsOf(text, 'dd');
    expect(facts.slice(0, 2)).toEqual(['1001', 'Acme']);
    expect(facts.slice(3)).toEqual([
      ...['30 minutes', 'Automation', 'yes, 150.00 an hour'],
      ...[`Step by step.\n${'It goes on. '.repeat(400)}`.trim(), 'The period is &lt;closed&gt;.'],
    ]);
    expect(await refused()).toBe(1);
    const fields = (await elementsOf(text, 'form[method=post] input')).map(({ attributes }) => [
      attributes['name'] ?? '',
      attributes['value'] ?? '',
    ]);
    const { status, location, notice } = await post('/time/entered', Object.fromEntries(fields));
    expect([status, notice]).toEqual([
      303,
      expect.stringMatching(/^Marked as entered by hand: 30 minutes on ticket 1001, \d+ \w+ \d{4}$/),
    ]);
    expect(location).toMatch(/\/time\?state=refused&company=acme$/);
    expect(await textsOf((await get('/time?state=refused')).text, 'tbody tr')).toEqual([]);
    expect(await elementsOf((await get('/keys')).text, '.attention a')).toEqual([]);
    expect((await allChanges(organization)).at(-1)).toMatchObject({
      action: 'time_entry.taken',
      actor: { type: 'user', id: 'ada' },
      targetId: id,
      ticketId: '1001',
      detail: { text: 'Entered by hand' },
    });
    const audit = await get('/audit?action=time_entry.taken');
    expect((await textsOf(audit.text, '.log .chip')).map((chip) => chip.trim())).toEqual(['Now in your PSA']);
    expect(audit.text).toContain('Entered by hand');
    const approved = (await get('/time?state=approved')).text;
    expect(await textsOf(approved, 'td:nth-child(4) .minor')).toEqual([
      'Entered by hand, Ada &lt;b&gt;Lovelace&lt;/b&gt;',
    ]);
    expect((await get('/time.csv?state=approved')).text).toContain(',"Entered by hand, Ada <b>Lovelace</b>",');
  });

  test('of time whose redaction was refused, an administrator removes the text there', async () => {
    const { organization, get, post, id, refused } = await makeRefused();
    resultOf(await work.redactRecord(organization, 'time_entry', id, 'Olga'));
    const [link] = await elementsOf((await get('/time?state=refused')).text, 'tbody a.button');
    expect(link?.text.trim()).toBe('Text removed by hand…');
    const { text } = await get(`/time/entered?state=refused&entry=${id}`);
    expect(await textsOf(text, 'h1')).toEqual(['Text removed by hand?']);
    expect((await textsOf(text, '.question p'))[1]).toBe(
      'Remove its text in your PSA, or enter the time there if it is missing, before you confirm.',
    );
    expect(text).not.toContain('Enter it');
    const fields = (await elementsOf(text, 'form[method=post] input')).map(({ attributes }) => [
      attributes['name'] ?? '',
      attributes['value'] ?? '',
    ]);
    const { status, notice } = await post('/time/entered', Object.fromEntries(fields));
    expect([status, await refused()]).toEqual([303, 0]);
    expect(notice).toMatch(/^Text marked as removed by hand: 30 minutes on ticket 1001, /);
    expect((await allChanges(organization)).at(-1)).toMatchObject({
      action: 'time_entry.taken',
      detail: { text: 'Text removed by hand' },
    });
  });

  test('a redaction after the form was opened keeps the refusal, and the page asks about the text', async () => {
    const { organization, get, post, id, refused } = await makeRefused();
    await get(`/time/entered?state=refused&entry=${id}`);
    resultOf(await work.redactRecord(organization, 'time_entry', id, 'Olga'));
    const { status, text } = await post('/time/entered', { state: 'refused', entry: id });
    expect([status, await refused()]).toEqual([409, 1]);
    expect(await textsOf(text, 'h1')).toEqual(['Text removed by hand?']);
    expect(await textsOf(text, '.banner')).toEqual([
      'The text was redacted after you opened the form. Nothing was changed.',
    ]);
    expect(await auditedActions(organization)).not.toContain('time_entry.taken');
    expect((await post('/time/entered', { entry: id, redacted: 'yes' })).status).toBe(303);
    expect(await refused()).toBe(0);
  });

  test('of two administrators one does so, a form that is sent twice does nothing, and the other page says who did', async () => {
    const { organization, get, post, id, bea, refused } = await makeRefused();
    const entries = await Promise.all([post('/time/entered', { entry: id }), post('/time/entered', { entry: id })]);
    expect(entries.map(({ status }) => status)).toEqual([303, 303]);
    const late = await bea.post('/time/entered', { entry: id });
    expect([late.status, await textsOf(late.text, 'h1')]).toEqual([409, ['Already in the PSA']]);
    expect(late.text).toMatch(
      /Ada\b.* has entered it by hand, <time [^>]+>\d+ \w+ \d{4}, \d\d:\d\d<\/time>\. Nothing was changed\./,
    );
    expect((await bea.get(`/time/entered?entry=${id}`)).status).toBe(409);
    expect((await get(`/time/entered?entry=${id}`)).status).toBe(409);
    expect((await auditedActions(organization)).filter((action) => action === 'time_entry.taken')).toHaveLength(1);
    expect(await refused()).toBe(0);
  });

  test('two administrators who do so at the same time get one success and one conflict', async () => {
    const { organization, post, id, bea } = await makeRefused();
    const answers = await Promise.all([post('/time/entered', { entry: id }), bea.post('/time/entered', { entry: id })]);
    expect(answers.map(({ status }) => status).sort()).toEqual([303, 409]);
    expect((await auditedActions(organization)).filter((action) => action === 'time_entry.taken')).toHaveLength(1);
  });

  test('if the PSA has taken it meanwhile, the page says so, and a later refusal is listed again', async () => {
    const { organization, post, id, refuse, refused } = await makeRefused();
    resultOf(await work.report(organization, 'time_entry', id, 'taken'));
    const { status, text } = await post('/time/entered', { entry: id });
    expect(status).toBe(409);
    expect(text).toContain('your PSA has taken it, ');
    resultOf(await refuse());
    expect(await refused()).toBe(1);
    expect((await post('/time/entered', { entry: id })).status).toBe(303);
  });

  test('it is nothing that waits here, was not refused, is of another organization or kind, or comes from another site', async () => {
    const { organization, api, log, post, get, id, refused } = await makeRefused();
    const other = await makeRefused();
    const { note } = await (await api.postNote((await makeKey(organization)).value)).json<{ note: { id: string } }>();
    resultOf(await work.report(organization, 'note', note.id, 'refused', 'Closed.'));
    const waiting = await log();
    resultOf(await work.report(organization, 'time_entry', waiting, 'refused', 'Closed.'));
    for (const entry of [waiting, other.id, note.id, 'x', '']) {
      expect((await get(`/time/entered?entry=${entry}`)).status).toBe(409);
      const { status, text } = await post('/time/entered', { entry });
      expect([status, await textsOf(text, 'h1')]).toEqual([409, ['Nothing to enter']]);
    }
    const origin = { Origin: 'https://elsewhere.example', 'Sec-Fetch-Site': 'cross-site' };
    expect((await post('/time/entered', { entry: id }, origin)).status).toBe(403);
    expect([await refused(), await other.refused()]).toEqual([3, 1]);
  });
});

test('time that the PSA refused, that was handed over and then rejected, is no longer missing in the PSA', async () => {
  const { organization, get, log, decide } = await makeTime();
  await setApprovals(organization, 'psa');
  const id = await log();
  resultOf(await work.report(organization, 'time_entry', id, 'refused', 'The period is closed.'));
  await setApprovals(organization, 'settings');
  await handTimeToSettings(asOperator(), { organization, by: 'Olga' });
  const found = async () => [
    (await textsOf((await get('/time?state=refused')).text, 'tbody tr')).length,
    (await elementsOf((await get('/keys')).text, '.attention a[href$="/time?state=refused"]')).length,
  ];
  expect(await found()).toEqual([1, 1]);
  await decide('REJECTED', id, 'Not worked.');
  expect(await found()).toEqual([0, 0]);
});

test('the file has approved time with approver, time and own time, and no formula', async () => {
  const { organization, api, get, log, decide } = await makeTime({ now: () => Date.parse('2026-11-09T10:00:00Z') });
  const email = `ada@${organization}.example`;
  await importAdmin(organization, 'ada', 'Ada', true);
  const ids = [await log({ description: '=HYPERLINK("x")', userEmail: email, minutes: 50 }), await log()];
  await decide('APPROVED', ids[0] ?? '');
  const { text, headers } = await get('/time.csv?state=approved');
  expect(headers.get('Content-Disposition')).toContain(`${organization}-time-approved-2026-11-09.csv`);
  const [line = '', ...others] = csvRows(text);
  expect(others).toEqual([]);
  expect(line).toMatch(
    /^"2026-11-09","1001","Acme",50,"yes",150.00,125.00,,,"Ada","own time","Approved",,"Ada","2026-11-09 10:00:00",/,
  );
  expect(line).toMatch(/,"'=HYPERLINK\(""x""\)"$/);
  // It stays the own time of the administrator who decided, also in a file that another one downloads.
  await importAdmin(organization, 'bea', 'Bea');
  const bea = await openSettings(api, organization, `bea@${organization}.example`, () =>
    Date.parse('2026-11-09T10:00:00Z'),
  );
  expect(csvRows((await bea.get('/time.csv?state=approved')).text)).toEqual([line]);
  expect(csvRows((await bea.get('/time.csv')).text)[0]).not.toContain('own time');
});

test('for a browser whose language has a decimal comma, the amounts of both files have one', async () => {
  const { organization, api, headers, log } = await makeTime();
  await log({ minutes: 61 });
  const file = async (name: string) => {
    const sent = { headers: { ...headers, 'Accept-Language': 'de-DE,de;q=0.9' } };
    return csvRows(await (await api.send(`/settings/${organization}/${name}`, sent)).text())[0];
  };
  expect(await file('time.csv')).toContain('"Acme";61;"yes";150,00;152,50;;;"Automation"');
  expect(await file('time-totals.csv')).toBe('"Acme";"Automation";1;61;152,50');
});

test('the totals of each company and technician are a second table, and a file', async () => {
  const { organization, get, log, decide } = await makeTime({ now: () => Date.parse('2026-11-09T10:00:00Z') });
  const tess = { userEmail: 'tess@northwind.example' };
  const ids = [await log({ minutes: 60 }), await log({ minutes: 20, ...tess }), await log({ minutes: 10, ...tess })];
  ids.push(await log({ minutes: 5, billable: false }, '1002'));
  await decide('APPROVED', ids);
  const totals = [
    ['Acme', 3, 90, '225.00'],
    ['Automation', 1, 60, '150.00'],
    ['Tess', 2, 30, '75.00'],
    ['Globex · Automation', 1, 5, '0.00'],
    ['Total', 4, 95, '225.00'],
  ];
  const { text } = await get('/time?state=approved');
  const cells = (await textsOf(text, 'section tbody th, section tbody td')).map((cell) => cell.trim());
  expect(cells).toEqual(totals.flat().map(String));
  expect(await textsOf(text, '#totals')).toEqual(['4 entries since 9 Aug 2026, 95 minutes, amount 225.00. Earlier']);
  const file = await get('/time-totals.csv?state=approved');
  expect(file.headers.get('Content-Disposition')).toContain(`${organization}-time-totals-approved-2026-11-09.csv`);
  expect(csvRows(file.text)).toEqual([
    '"Acme","Automation",1,60,150.00',
    '"Acme","Tess",2,30,75.00',
    '"Globex","Automation",1,5,0.00',
  ]);
});

test('rejected time is in no total and in no column of other time, on the page and in the files', async () => {
  let now = Date.parse('2026-11-09T10:00:00Z');
  const { get, log, decide } = await makeTime({ now: () => now });
  const approved = [await log({ minutes: 60 }), await log({ minutes: 30 }, '1002')];
  const rejected = [await log({ minutes: 20 }), await log({ minutes: 10, userEmail: 'tess@northwind.example' })];
  await decide('APPROVED', approved);
  await decide('REJECTED', rejected);
  const totals = async (state: string) => {
    now += 10_000;
    const { text } = await get(`/time?state=${state}`);
    const file = (await get(`/time-totals.csv?state=${state}`)).text;
    const table = (await textsOf(text, '.totals tbody th, .totals tbody td')).slice(-4);
    return {
      line: (await textsOf(text, '#totals'))[0],
      table: table.join(' '),
      file: file.trim().split('\r\n'),
    };
  };
  const since = 'since 9 Aug 2026';
  const all = {
    line: `2 entries ${since}, 90 minutes, amount 210.00. 2 rejected left out. Earlier`,
    table: 'Total 2 90 210.00',
    file: [
      '"Company","Technician","Entries","Minutes","Amount"',
      ...['"Acme","Automation",1,60,150.00', '"Globex","Automation",1,30,60.00'],
    ],
  };
  expect(await totals('all')).toEqual(all);
  expect((await totals('all&from=2026-01-01')).line).toBe(`2 entries, 90 minutes, amount 210.00. 2 rejected left out.`);
  expect(await totals('approved')).toEqual({ ...all, line: all.line.replace(' 2 rejected left out.', '') });
  expect(await totals('rejected')).toEqual({
    line: `2 entries ${since}, 30 minutes, amount 75.00, not billed. Earlier`,
    table: 'Total 2 30 75.00',
    file: [
      '"Company","Technician","Rejected entries","Rejected minutes","Rejected amount"',
      ...['"Acme","Automation",1,20,50.00', '"Acme","Tess",1,10,25.00'],
    ],
  });
  const entries = csvRows((await get('/time.csv?state=all')).text).map((row) => row.split(',').slice(3, 9).join());
  expect(entries).toEqual([
    ',"yes",150.00,,10,25.00',
    ',"yes",150.00,,20,50.00',
    '30,"yes",120.00,60.00,,',
    '60,"yes",150.00,150.00,,',
  ]);
});

test('the list of all time shows the state of each entry, and strikes rejected amounts through', async () => {
  const { get, log, decide } = await makeTime({ now: () => Date.parse('2026-11-09T10:00:00Z') });
  await decide('APPROVED', await log());
  await decide('REJECTED', await log({ minutes: 20 }), 'Logged twice by the workflow');
  const waiting = await log();
  const { text } = await get('/time?state=all');
  expect(await textsOf(text, 'tbody .state')).toEqual([
    'WaitsDecide',
    expect.stringMatching(/^Rejected by Ada .*9 Nov, 10:00$/),
    expect.stringMatching(/^Approved by Ada .*9 Nov, 10:00$/),
  ]);
  // Only the lists of one decision leave its word to their heading.
  for (const word of ['Approved', 'Rejected']) {
    const list = (await get(`/time?state=${word.toLowerCase()}`)).text;
    expect(await textsOf(list, 'thead th:nth-child(4), tbody .state')).toEqual([word, expect.stringMatching(/^Ada /)]);
  }
  expect(await textsOf(text, 'tbody td:nth-child(4) .minor')).toEqual(['Logged twice by the workflow']);
  expect(await textsOf(text, 'tbody td[data-label=Amount] s')).toEqual(['50.00']);
  const [link] = await elementsOf(text, 'tbody .state a');
  expect(link?.attributes['href']).toMatch(new RegExp(`/time\\?entry=${waiting}$`));
});

test('the file of entries that wait has their marks, and the order of the page', async () => {
  const { get, log } = await makeTime();
  await log({ minutes: 20, description: 'Twice' });
  for (const changes of [{}, { minutes: 60 }, { minutes: 480 }, { minutes: 20, description: 'Twice' }])
    await log(changes);
  const rows = csvRows((await get('/time.csv')).text).map((row) => row.split(','));
  expect(rows.map((cells) => [cells[3], ...cells.slice(11, 13)].join())).toEqual([
    '480,"Waits","long"',
    '20,"Waits",',
    '20,"Waits","possible duplicate"',
    '60,"Waits",',
    '30,"Waits",',
  ]);
});

test('the file of more than 10,000 entries that wait has the newest first, without marks', async () => {
  let now = Date.parse('2026-11-09T14:02:00Z');
  const { organization, get, log } = await makeTime({ now: () => now });
  const rows = async () => {
    now += 10_000;
    return csvRows((await get('/time.csv')).text).map((row) => row.split(','));
  };
  await log({ minutes: 480 });
  await multiply(organization, 9_999);
  const all = await rows();
  expect([all.length, all[0]?.[12], new Set(all.map((cells) => cells.at(-2))).size]).toEqual([
    10_000,
    '"long"',
    10_000,
  ]);
  await log({ minutes: 30 });
  expect((await rows()).slice(0, 2).map((cells) => [cells[3], cells[12]])).toEqual([
    ['30', ''],
    ['480', ''],
  ]);
});

test('a download that is refused for its frequency has read no time', async () => {
  const { organization, log } = await makeTime();
  await log();
  const d1 = countD1(env.DB);
  const bindings = { DB: d1.db, RATE_LIMITER: env.RATE_LIMITER };
  const api = makeApi({ bindings, config: { signIn: signIn.config } });
  const { get } = await openSettings(api, organization, `ada@${organization}.example`);
  expect((await get('/time-totals.csv')).status).toBe(200);
  const before = d1.calls.length;
  const refused = await get('/time-totals.csv');
  expect(refused.status).toBe(429);
  expect(await textsOf(refused.text, '.tabs [aria-current]')).toEqual([expect.stringMatching(/^Time/)]);
  // Only the sign-in.
  expect(d1.calls.length - before).toBe(1);
});

describe('one entry', () => {
  test('its file has only this entry, whatever was decided about it and whatever the state', async () => {
    let now = Date.parse('2026-11-09T10:00:00Z');
    const { get, log, decide } = await makeTime({ now: () => now });
    const [id] = [await log({ description: 'This one' }), await log()];
    for (const decision of [undefined, 'APPROVED'] as const) {
      if (decision) await decide(decision, id);
      for (const state of ['waiting', 'approved', 'all']) {
        const { text } = await get(`/time.csv?entry=${id}&state=${state}`);
        expect(csvRows(text)).toEqual([expect.stringContaining('"This one"')]);
        now += 10_000;
        expect(
          await textsOf((await get(`/time?entry=${id}&state=${state}`)).text, 'td[data-label=Work] .text'),
        ).toEqual(['This one']);
      }
    }
  });

  test('the audit log leads from an entry that waits to its decision', async () => {
    const { get, log, decide } = await makeTime();
    const [unmarked, id] = [await log(), await log({ minutes: 480 })];
    // The only entry that a filter finds is open.
    const decideLinks = async (query = 'minutes=480&action=time_entry.created') =>
      (await elementsOf((await get(`/audit?${query}`)).text, 'details[open] .actions a'))
        .filter(({ text }) => ['Approve', 'Reject'].includes(text))
        .map(({ attributes }) => attributes['href']?.split('/time')[1]?.replaceAll('&amp;', '&'));
    expect(await decideLinks()).toEqual([
      `/decide?selected=APPROVED&entry=${id}`,
      `/decide?selected=REJECTED&entry=${id}`,
    ]);
    // A search for long time also opens each that waits.
    await decide('APPROVED', await log({ minutes: 250 }));
    expect(await decideLinks('minutes=240')).toEqual(await decideLinks());
    expect(await decideLinks('action=time_entry.created')).toEqual([]);
    const confirmation = (await get(`/time${(await decideLinks())[1]}`)).text;
    expect([await idsOf(confirmation), await textsOf(confirmation, 'tbody th .mark')]).toEqual([[id], ['long (240+)']]);
    const page = (await get(`/time?entry=${id}`)).text;
    expect([await idsOf(page), await textsOf(page, 'tbody th .mark')]).toEqual([[id], ['long (240+)']]);
    // The confirmation warns about a marked entry.
    expect(await elementsOf(page, 'input[name=entry][checked]')).toHaveLength(1);
    const other = (await get(`/time?entry=${unmarked}`)).text;
    expect(await elementsOf(other, 'input[name=entry][checked]')).toHaveLength(1);
    // All of the queue are more than this page shows.
    expect(await textsOf(other, '.decide button')).toEqual(['Approve selected', 'Reject selected']);
    await decide('REJECTED', id);
    expect(await decideLinks()).toEqual([]);
    const decided = (await get(`/time?entry=${id}`)).text;
    expect(await idsOf(decided)).toEqual([]);
    expect(await textsOf(decided, 'tbody td:nth-child(4) .minor')).toEqual(['Not ours']);
    expect(await textsOf(decided, '#totals')).toEqual([]);
    // It is in none of the lists that the chips lead to, so none is current.
    expect(await elementsOf(decided, '.state-chips [aria-current]')).toEqual([]);
  });

  test('its page has the whole text, to which a text that a list cuts leads', async () => {
    const { get, log, decide } = await makeTime();
    const whole = `${'It goes on. '.repeat(2_000)}The end.`;
    const [id] = [await log({ description: whole }), await log()];
    const shown = async (path: string) => {
      const { text } = await get(path);
      const [link] = await elementsOf(text, 'td .long > a');
      return [(await textsOf(text, 'td .long .text'))[0], link?.attributes['href']?.split('/time')[1]];
    };
    const cut = [`${whole.slice(0, 299)}…`, `?entry=${id}`];
    expect([await shown('/time'), await shown(`/time/decide?selected=APPROVED&entry=${id}`)]).toEqual([cut, cut]);
    expect(await shown(`/time?entry=${id}`)).toEqual([whole, undefined]);
    await decide('APPROVED', id);
    expect([await shown('/time?state=approved'), await shown(`/time?entry=${id}`)]).toEqual([cut, [whole, undefined]]);
  });

  test('while a possible duplicate waits, its original is listed with it, and only the duplicate is selected', async () => {
    let now = Date.parse('2026-11-09T10:00:00Z');
    const { get, log, decide } = await makeTime({ now: () => now });
    const same = { description: 'Twice' };
    const ids = [await log(same), await log(same), await log()];
    const [first = '', second = ''] = ids;
    const page = (await get(`/time?entry=${second}`)).text;
    expect(await idsOf(page)).toEqual([first, second]);
    const selected = await elementsOf(page, 'input[name=entry][checked]');
    expect(selected.map(({ attributes }) => attributes['value'])).toEqual([second]);
    expect(await textsOf(page, '#totals, .head .minor')).toEqual([
      ...['Show the list', '2 entries, 60 minutes, amount 150.00'],
    ]);
    expect(csvRows((await get(`/time.csv?entry=${second}`)).text)).toEqual(
      Array(2).fill(expect.stringContaining('Twice')),
    );
    expect(await idsOf((await get(`/time?entry=${first}`)).text)).toEqual([first]);
    await decide('APPROVED', first);
    now += 10_000;
    expect(await idsOf((await get(`/time?entry=${second}`)).text)).toEqual([second]);
    const unknown = (await get('/time?entry=unknown')).text;
    expect(await textsOf(unknown, '.head .minor, .banner')).toEqual([
      ...['Show the list', 'Your organization does not have this entry.'],
    ]);
  });

  test('the file of its totals has this entry, whatever was decided about it, but no rejected time', async () => {
    let now = Date.parse('2026-11-09T10:00:00Z');
    const { get, log, decide } = await makeTime({ now: () => now });
    const ids = [await log({ minutes: 60 }), await log({ minutes: 30 })] as const;
    const totals = async (entry: string) => {
      now += 10_000;
      const { status, text } = await get(`/time-totals.csv?entry=${entry}`);
      return [status, ...csvRows(text)];
    };
    const file = [200, '"Acme","Automation",1,60,150.00'];
    const nothing = [200];
    expect(await totals(ids[0])).toEqual(file);
    await decide('APPROVED', ids[0]);
    expect(await totals(ids[0])).toEqual(file);
    await decide('REJECTED', ids[1]);
    expect(await totals(ids[1])).toEqual(nothing);
    expect(await totals('unknown')).toEqual(nothing);
  });

  test('an entry that the PSA decides has its state, and neither an amount nor buttons', async () => {
    const { organization, get, log } = await makeTime();
    await setApprovals(organization, 'psa');
    const id = await log();
    for (const path of ['/time?state=all', `/time?entry=${id}`]) {
      const { text } = await get(path);
      expect(await textsOf(text, 'tbody .state')).toEqual(['Waits in your PSA']);
      expect(await textsOf(text, 'tbody td[data-label=Amount]')).toEqual(['–']);
      expect(await textsOf(text, 'main button[name=selected], main button[name=all]')).toEqual([]);
    }
    const { text } = await get('/audit');
    expect(await textsOf(text, '.entry p')).toContain('Waits in your PSA');
    await work.reviewTimeEntry(organization, id, 'APPROVED', 'ada');
    expect(await textsOf((await get('/time?state=approved')).text, 'tbody .state > bdi')).toEqual([
      expect.stringMatching(/^in your PSA by Ada /),
    ]);
  });

  test('neither totals nor files have an amount for time that the PSA decides', async () => {
    let now = Date.parse('2026-11-09T10:00:00Z');
    const { organization, get, log, decide } = await makeTime({ now: () => now });
    const own = await log({ minutes: 60 });
    await setApprovals(organization, 'psa');
    const [approved, rejected] = [await log(), await log({ minutes: 20 })];
    await work.reviewTimeEntry(organization, approved, 'APPROVED', 'ada');
    await work.reviewTimeEntry(organization, rejected, 'REJECTED', 'ada');
    const found = async (state: string) => {
      now += 10_000;
      const cells = (row: string) => row.split(',').slice(3, 9).join();
      return [
        ...(await textsOf((await get(`/time?state=${state}`)).text, '#totals')),
        ...csvRows((await get(`/time.csv?state=${state}`)).text).map(cells),
        ...csvRows((await get(`/time-totals.csv?state=${state}`)).text),
      ];
    };
    const since = 'since 9 Aug 2026';
    expect(await found('approved')).toEqual([
      `1 entry ${since}, 30 minutes. Earlier`,
      ...['30,"yes",,,,', '"Acme","Automation",1,30,'],
    ]);
    expect(await found('rejected')).toEqual([
      `1 entry ${since}, 20 minutes. Earlier`,
      ...[',"yes",,,20,', '"Acme","Automation",1,20,'],
    ]);
    await decide('APPROVED', own);
    expect((await found('approved'))[0]).toBe(
      `2 entries ${since}, 90 minutes, amount 150.00. The amount leaves out 1 entry that your PSA bills. Earlier`,
    );
  });
});

test('the pages name the PSA that decides and that refused, as its adapter reports it', async () => {
  const { organization, get, log, decide } = await makeTime();
  const own = await log();
  await setApprovals(organization, 'psa');
  const id = await log();
  resultOf(await work.report(organization, 'time_entry', id, 'refused', 'The period is closed.'));
  const names = async () => [
    ...(await textsOf((await get('/time?state=all')).text, 'tbody .state > bdi')),
    ...(await textsOf((await get('/time')).text, '.head .minor')),
    ...(await textsOf((await get('/audit')).text, '.log .chip, .log .mark, .log .entry p')),
  ];
  const named = (psa: string) => [
    `Not in ${psa}`,
    `New time is approved in ${psa}. Entries from before that are approved or rejected here.`,
    ...[`Refused by ${psa}`, `Refused by ${psa}: The period is closed.`],
  ];
  expect(await names()).toEqual(expect.arrayContaining(named('your PSA')));
  expect(await names()).not.toContain('Waits in your PSA');
  resultOf(await connectionOf(organization).reportConnection(crypto.randomUUID(), null, true, 'ConnectWise PSA'));
  expect(await names()).toEqual(expect.arrayContaining(named('ConnectWise PSA')));
  expect((await decide('APPROVED', [own, id])).text).toContain('1 entry is decided in ConnectWise PSA.');
});

test('only time that was handed over from the PSA is said to be there already', async () => {
  const { organization, get, log } = await makeTime();
  await setApprovals(organization, 'psa');
  const handed = await log();
  await setApprovals(organization, 'settings');
  const own = await log();
  await handTimeToSettings(asOperator(), { organization, by: 'Olga' });
  const question = async (decision: string, ids: string[]) => {
    const { text } = await get(`/time/decide?selected=${decision}&${ids.map((id) => `entry=${id}`).join('&')}`);
    return (await textsOf(text, '.question')).join().replaceAll(/\s+/g, ' ');
  };
  const warning = '1 entry may already be in your PSA, which was to decide before: remove rejected time there.';
  expect(await question('REJECTED', [own])).toMatch(/^This is final\. Rejected time never reaches your PSA\./);
  expect(await question('REJECTED', [own, handed])).toContain(warning);
  expect(await question('APPROVED', [own, handed])).not.toContain('may already be');
  expect((await get('/time')).text.match(/may already be in/g)).toHaveLength(1);
});

describe('bad input', () => {
  const UNKNOWN = '00000000-0000-7000-8000-00000000000a';

  test('an entry of another organization and one that does not exist are named as such, and the others are decided', async () => {
    const [{ organization, get, log, decide }, other] = [await makeTime(), await makeTime()];
    const [own, foreign] = [await log(), await other.log()];
    const page = await get(`/time/decide?selected=APPROVED&entry=${own}&entry=${foreign}&entry=${UNKNOWN}`);
    expect([page.status, await idsOf(page.text)]).toEqual([200, [own]]);
    expect(await textsOf(page.text, '[role=alert]')).toEqual(['2 entries were not found in your organization.']);
    const { status, text } = await decide('APPROVED', [own, foreign, UNKNOWN]);
    expect([status, await textsOf(text, 'h1')]).toEqual([409, ['1 of 3 entries approved']]);
    expect(text).toContain('2 entries were not found in your organization.');
    expect([await statusesOf(organization), await statusesOf(other.organization)]).toEqual([
      ['APPROVED'],
      ['SUBMITTED'],
    ]);
  });

  test('a page about entries that another administrator has decided says whose decision it was', async () => {
    const { api, organization, get, post, log, decide } = await makeTime();
    await importAdmin(organization, 'bea', 'Bea');
    const bea = await openSettings(api, organization, `bea@${organization}.example`);
    const ids = [await log(), await log({ minutes: 60 })];
    await bea.post('/time/decide', { decision: 'APPROVED', entry: ids[0] ?? '' });
    const selected = (some: string[]) =>
      get(`/time/decide?selected=REJECTED&${some.map((id) => `entry=${id}`).join('&')}`);
    const both = await selected(ids);
    expect([await idsOf(both.text), await textsOf(both.text, '[role=alert]')]).toEqual([
      [ids[1]],
      ['1 entry had already been decided by Bea.'],
    ]);
    expect(both.text).not.toContain('Longest');
    const one = await selected(ids.slice(0, 1));
    const title = 'Nothing was rejected';
    expect([one.status, await textsOf(one.text, 'h1, [role=alert]')]).toEqual([
      409,
      [title, '1 entry had already been decided by Bea.'],
    ]);
    expect(await textsOf(one.text, 'tbody .state > bdi')).toEqual(['Approved by Bea']);
    // A rejection without a reason is not offered for what is decided.
    const refused = await decide('REJECTED', ids[0] ?? '', '');
    expect([refused.status, await textsOf(refused.text, 'h1')]).toEqual([409, [title]]);
    // The way back keeps the filters.
    const filters = { state: 'waiting', company: 'acme' };
    const filtered = await post('/time/decide', { decision: 'APPROVED', entry: ids, reason: '', ...filters });
    expect(await textsOf(filtered.text, 'h1')).toEqual(['1 of 2 entries approved']);
    const back = (await elementsOf(filtered.text, 'main a')).find(({ text }) => text === 'Go back');
    expect(back?.attributes['href']).toMatch(/\/time\?state=waiting&amp;company=acme$/);
  });

  test.each([
    ['minutes=abc', 'Minutes must be a whole number, at least 1.'],
    ['minutes=0', 'Minutes must be a whole number, at least 1.'],
    ['from=tomorrow', 'From must be a date, such as 2027-03-31.'],
    ['to=2026-02-30', 'To must be a date, such as 2027-03-31.'],
    ['state=x', 'State must be one of waiting, approved, rejected, refused, all.'],
    ['before=-1', 'Before must be a whole number, at least 1.'],
    ['upTo=x', 'Before must be a whole number, at least 1.'],
  ])('an invalid filter is refused with its field and rule, and a way back: %s', async (filter, rule) => {
    const { get, post } = await makeTime();
    const filters = Object.fromEntries(new URLSearchParams(filter));
    for (const { status, text } of [
      ...[await get(`/time?${filter}`), await get(`/time.csv?${filter}`), await get(`/time-totals.csv?${filter}`)],
      ...[await post('/time/decide', { decision: 'APPROVED', ...filters }), await post('/time/entered', filters)],
    ]) {
      expect([status, ...(await textsOf(text, 'h1, main p:not(.minor)'))]).toEqual([
        ...[400, 'Invalid filter', rule, 'Go back'],
      ]);
      const back = (await elementsOf(text, 'main a')).find((one) => one.text === 'Go back');
      expect(back?.attributes['href']).toMatch(/\/settings\/[^/]+\/time$/);
    }
  });

  test('from a file with an invalid separator, the page leads back to the time', async () => {
    const { get } = await makeTime();
    const { status, text } = await get('/time.csv?separator=;');
    const back = (await elementsOf(text, 'main a')).find((one) => one.text === 'Go back');
    expect([status, back?.attributes['href']]).toEqual([400, expect.stringMatching(/\/time$/)]);
  });

  test('too many entries and too long a reason are refused, and nothing is decided', async () => {
    const { organization, get, log, decide } = await makeTime();
    const id = await log();
    const many = (count: number) => [id, ...Array.from({ length: count - 1 }, (_, one) => `0000${one}`)];
    const title = async ({ status, text }: { status: number; text: string }) => [
      status,
      ...(await textsOf(text, 'h1')),
    ];
    expect(await title(await decide('APPROVED', many(5_000)))).toEqual([413, 'Form too large']);
    expect(await title(await decide('APPROVED', many(1_001)))).toEqual([413, 'Too many entries']);
    const address = `/time/decide?selected=APPROVED&${many(5_000)
      .map((one) => `entry=${one}`)
      .join('&')}`;
    expect(await title(await get(address))).toEqual([413, 'Too many entries']);
    const long = await decide('REJECTED', id, 'x'.repeat(10_000));
    expect([long.status, await textsOf(long.text, '.error')]).toEqual([
      400,
      ['Enter a reason of at most 200 characters.'],
    ]);
    expect(await statusesOf(organization)).toEqual(['SUBMITTED']);
  });

  test('a list goes on after its last entry, and starts again if that was decided meanwhile', async () => {
    const { organization, get, log, decide } = await makeTime();
    await log();
    await multiply(organization, 149);
    const first = (await get('/time')).text;
    const [more] = await elementsOf(first, 'a.button[href*=before]');
    const address = `/time?${String(more?.attributes['href']).split('?')[1]?.replaceAll('&amp;', '&')}`;
    const second = await idsOf((await get(address)).text);
    const shown = await idsOf(first);
    expect([shown.length, second.length, new Set([...shown, ...second]).size]).toEqual([100, 50, 150]);
    await decide('APPROVED', shown.at(-1) ?? '');
    expect((await idsOf((await get(address)).text)).slice(0, 99)).toEqual(shown.slice(0, 99));
  });
});

test('an empty queue says who decided last, and when', async () => {
  const now = Date.parse('2026-11-09T19:27:00Z');
  const { get, log, decide } = await makeTime({ now: () => now });
  const empty = async (path: string) => textsOf((await get(path)).text, 'main [role=status]');
  await decide('APPROVED', await log());
  expect(await empty('/time')).toEqual([expect.stringMatching(/^Nothing waits\. Last decision: Ada\b.*, 19:27\.$/)]);
  expect(await empty('/time?company=acme')).toEqual(['No entries match these filters.']);
  expect(await empty('/time?state=rejected')).toEqual(['Nothing was rejected since 9 Aug 2026. Earlier']);
  expect(await empty('/time?state=refused')).toEqual(['Nothing was refused.']);
  expect(await empty('/time?entry=unknown')).toEqual(['Your organization does not have this entry.']);
});

test('before any time was logged, each list leads to a key for time and to the documentation', async () => {
  const { get, log } = await makeTime();
  const ways = async (state: string) =>
    (await elementsOf((await get(`/time?state=${state}`)).text, '.empty a')).map(
      ({ attributes }) => attributes['href'],
    );
  for (const state of ['waiting', 'approved', 'refused', 'all'])
    expect(await ways(state)).toEqual([
      expect.stringMatching(/\/new-key\?scopes=tickets%3Atime%3Awrite$/),
      '/docs/loop',
    ]);
  const form = (await get('/new-key?scopes=tickets%3Atime%3Awrite')).text;
  const checked = await elementsOf(form, 'input[name=scopes][checked]');
  expect(checked.map(({ attributes }) => attributes['value'])).toEqual(['tickets:time:write']);
  await log();
  expect(await ways('approved')).toEqual([]);
});

test('an empty queue names the administrator who decided last, even after that person has left', async () => {
  const { organization, api, get, log, decide } = await makeTime();
  await importAdmin(organization, 'bea', 'Bea');
  const bea = await openSettings(api, organization, `bea@${organization}.example`);
  await decide('APPROVED', await log());
  await bea.post('/time/decide', { decision: 'APPROVED', entry: await log() });
  const email = `bea@${organization}.example`;
  await importRecords({ type: 'user', organization, id: 'bea', email, name: 'Bea', active: false });
  expect(await textsOf((await get('/time')).text, 'main [role=status]')).toEqual([
    expect.stringMatching(/^Nothing waits\. Last decision: Bea,/),
  ]);
});

test('decided time is listed from the last 92 days, which the page says, and from any day that is given', async () => {
  let now = Date.parse('2026-08-08T10:00:00Z');
  const { organization, api, log, decide } = await makeTime({ now: () => now });
  await decide('APPROVED', await log({ minutes: 10 }));
  now += DAY_MS;
  await decide('APPROVED', await log({ minutes: 20 }));
  now = Date.parse('2026-11-09T10:00:00Z');
  const { get, post } = await openSettings(api, organization, `ada@${organization}.example`, () => now);
  await post('/time/decide', { decision: 'REJECTED', entry: await log({ minutes: 30 }), reason: 'Not ours' });
  const totals = async (search: string) => textsOf((await get(`/time?${search}`)).text, '#totals');
  const since = 'since 9 Aug 2026';
  expect(await totals('state=approved')).toEqual([`1 entry ${since}, 20 minutes, amount 50.00. Earlier`]);
  expect(await totals('state=all')).toEqual([
    `1 entry ${since}, 20 minutes, amount 50.00. 1 rejected left out. Earlier`,
  ]);
  expect(await totals('state=rejected')).toEqual([`1 entry ${since}, 30 minutes, amount 75.00, not billed. Earlier`]);
  const [earlier] = await elementsOf((await get('/time?state=approved')).text, '#totals a');
  expect(await totals(String(earlier?.attributes['href']).split('?')[1]?.replaceAll('&amp;', '&') ?? '')).toEqual([
    '1 entry since 8 May 2026, 10 minutes, amount 25.00. Earlier',
  ]);
  expect(await totals('state=approved&from=2026-08-01')).toEqual(['2 entries, 30 minutes, amount 75.00']);
  expect(await totals('state=all&to=2026-08-08')).toEqual([
    '1 entry since 8 May 2026, 10 minutes, amount 25.00. Earlier',
  ]);
  const file = async (search: string) => csvRows((await get(`/time.csv?${search}`)).text).length;
  expect(await file('state=approved')).toBe(1);
  now += 10_000;
  expect(await file('state=approved&from=2026-08-01')).toBe(2);
});

test('the filter offers the first people by name to whom time can be credited, from an index of them', async () => {
  const { organization } = await makeTime();
  await env.DB.prepare(
    `with recursive n(i) as (select 1 union all select i + 1 from n where i < 2100)
     insert into users select ?1, 'u' || i, 'u' || i || '@people.example', printf('P%04d', i), 0, i % 10 = 0, 0, 1 from n`,
  )
    .bind(organization)
    .run();
  const d1 = countD1(env.DB);
  const counted = makeApi({ bindings: { DB: d1.db }, config: { signIn: signIn.config } });
  const { get } = await openSettings(counted, organization, `ada@${organization}.example`);
  const { text } = await get('/time');
  const names = await textsOf(text, 'select[name=technician] option');
  expect([names.length, ...names.slice(0, 4)]).toEqual([214, 'All', 'Automation', 'Ivan', 'P0010']);
  expect(d1.calls.reduce((total, { rowsRead }) => total + rowsRead, 0)).toBeLessThan(500);
});

test('a decision about all of a list without waiting time leads back to it', async () => {
  const { get, log } = await makeTime();
  await log();
  expect((await get('/time/decide?all=APPROVED')).status).toBe(200);
  expect((await get('/time/decide?all=APPROVED&state=rejected')).status).toBe(303);
});

test('the tile of waiting time says if it keeps old records from being deleted', async () => {
  const created = Date.now() - 210 * DAY_MS;
  const { organization, log } = await makeTime({ now: () => created });
  await log();
  const tiles = async (keepDays: number | undefined) => {
    const api = makeApi({ config: { signIn: signIn.config, keepDays } });
    const { get } = await openSettings(api, organization, `ada@${organization}.example`);
    return (await textsOf((await get('/keys')).text, '.attention a')).join();
  };
  expect(await tiles(200)).toContain(': it keeps old records from being deleted');
  for (const longer of [220, undefined]) {
    const text = await tiles(longer);
    expect(text).toContain('1 time entry waits for approval');
    expect(text).not.toContain('deleted');
  }
});
