import { env } from 'cloudflare:workers';
import { describe, expect, test } from 'vitest';
import { DAY_MS } from '../../../src/domain/calendar.ts';
import { countD1 } from '../../support/d1.ts';
import { countElements, csvRows, elementsOf } from '../../support/page.ts';
import { auditedActions, copyKey, makeSettings, openSettings } from '../../support/settings.ts';
import { importRecords, makeKey, revoke, rotate, rowsOf } from '../../support/world.ts';

/** The settings area of an organization with keys of these names and an open review. */
async function makeReview(names = ['Alpha', 'Beta', 'Gamma'], options: Parameters<typeof makeSettings>[0] = {}) {
  const settings = await makeSettings(options);
  const keys = [];
  for (const name of names) keys.push(await makeKey(settings.organization, { name }, options.now));
  expect((await settings.post('/access-review', {})).status).toBe(303);
  const [review] = await rowsOf('access_reviews', settings.organization);
  const reviewId = String(review?.['id']);
  const path = `/access-review/${reviewId}`;
  const ids = keys.map(({ id }) => id);
  /** The fields of a decision on the key with this index. */
  const fields = (index: number, decision: string, reason = '') => ({
    [`decision-${ids[index]}`]: decision,
    [`reason-${ids[index]}`]: reason,
  });
  const decide = (...all: Record<string, string>[]) =>
    settings.post(`${path}/decisions`, Object.assign({}, ...all) as Record<string, string>);
  return { ...settings, reviewId, path, ids, keys, fields, decide };
}

const progressOf = async (page: string) =>
  (await elementsOf(page, 'progress')).map(({ attributes }) => [attributes['value'], attributes['max']]);
const namesOf = async (page: string) => (await elementsOf(page, '.review .name bdi')).map(({ text }) => text);
const decisionsOf = async (organization: string) =>
  (await rowsOf('access_review_decisions', organization)).map(({ decision, reason }) => [decision, reason]).sort();

describe('the page of reviews', () => {
  test('the page starts a review, and leads to the open review', async () => {
    const { organization, base, get, post } = await makeSettings();
    await makeKey(organization);
    const before = (await get('/access-review')).text;
    expect(await countElements(before, `form[method=post][action="${base}/access-review"]`)).toBe(1);
    for (const _ of [1, 2]) {
      const { location, notice } = await post('/access-review', {});
      expect([location, notice]).toEqual([`${base}/access-review`, expect.stringContaining('A review is open.')]);
    }
    const { text } = await get('/access-review');
    expect(await progressOf(text)).toEqual([['0', '1']]);
    expect(await countElements(text, 'nav[aria-label=Settings] a[aria-current=true][href$="/keys"]')).toBe(1);
    expect(await auditedActions(organization)).toEqual(['api_key.created', 'access_review.started']);
  });

  test('the page shows progress and every key, undecided keys first and with nothing preselected', async () => {
    const { get, decide, fields, ids, organization } = await makeReview();
    await revoke(organization, ids[2] ?? '');
    await decide(fields(0, 'keep', 'Main flow'));
    const { text } = await get('/access-review');
    expect(await progressOf(text)).toEqual([['2', '3']]);
    expect(await namesOf(text)).toEqual(['Beta', 'Alpha', 'Gamma']);
    const decided = (await elementsOf(text, '.decided')).map((element) => element.text);
    expect(decided).toEqual([expect.stringMatching(/Keep, by /), 'Revoked before a decision: no decision is needed']);
    expect((await elementsOf(text, '.review-bar')).map((bar) => bar.text.trim())).toEqual(['2 of 3 decided Save']);
  });

  test('the form of every key that works is on the page, with the saved decision and its reason', async () => {
    const { get, decide, fields, ids, organization } = await makeReview();
    await revoke(organization, ids[2] ?? '');
    await decide(fields(0, 'keep', 'Main flow'));
    const { text } = await get('/access-review');
    const inputs = (await elementsOf(text, '.decision input')).map(({ attributes }) => attributes);
    expect(inputs.filter(({ type }) => type === 'radio').map(({ name }) => name)).toEqual(
      [ids[1], ids[1], ids[0], ids[0]].map((id) => `decision-${id}`),
    );
    expect(inputs.filter((input) => 'checked' in input)).toMatchObject([{ name: `decision-${ids[0]}`, value: 'keep' }]);
    expect(inputs.find(({ name }) => name === `reason-${ids[0]}`)?.['value']).toBe('Main flow');
  });

  test('while a review is open, the list of keys links to it with the same progress', async () => {
    const { organization, base, get, path, post, decide, fields, ids } = await makeReview();
    const link = async () =>
      (await elementsOf((await get('/keys')).text, `.head-actions > a[href="${base}/access-review"]`)).map(
        ({ text }) => text,
      );
    expect(await link()).toEqual(['Access review\u00a00 / 3']);
    // A key whose successor works needs a decision, a revoked key needs none.
    await rotate(organization, ids[1] ?? '', { grace: 'now' });
    await revoke(organization, ids[2] ?? '');
    await decide(fields(0, 'keep', 'Used'));
    expect(await link()).toEqual(['Access review\u00a02 / 3']);
    expect(await progressOf((await get('/access-review')).text)).toEqual([['2', '3']]);
    await decide(fields(1, 'keep', 'Used'));
    expect(await link()).toEqual(['Access review\u00a03 / 3']);
    await post(`${path}/finish`, {});
    expect(await link()).toEqual([]);
  });

  test('the page shows the settings of each key, and the keys to check first with the reasons', async () => {
    const { organization, get, post } = await makeSettings();
    await makeKey(organization, { name: 'Old' }, () => Date.parse('2026-01-01'));
    const expires = new Date(Date.now() + 9e9).toISOString();
    await makeKey(organization, { name: 'Fine', expires });
    await makeKey(organization, { name: 'Endless' });
    const settings = { owner: 'Jana', description: 'Triage', allowedNetworks: '192.0.2.0/24', dayLimitRecords: 7 };
    await makeKey(organization, { name: 'Young', expires, ...settings });
    await post('/access-review', {});
    const { text } = await get('/access-review');
    expect(await namesOf(text)).toEqual(['Old', 'Endless', 'Fine', 'Young']);
    expect((await elementsOf(text, '.checks span')).map((element) => element.text)).toEqual([
      'Check: unused for 60 days; it never expires.',
      'Check: it never expires.',
    ]);
    const lines = (await elementsOf(text, '.review li > div:first-child > p:first-of-type')).map((line) => line.text);
    expect(lines[2]).toMatch(
      /^Owner: none · Companies: all · Networks: all · Last write: never · Writes in 30 days: 0 · Expires: \d.* · Created: by Ada/,
    );
    expect(lines[3]).toContain(
      'Owner: Jana · Description: Triage · Companies: all · Networks: 192.0.2.0/24 · Daily limits: 7 new records',
    );
    await post('/key-rules', { revision: '0', maxLifetimeDays: '90', accessReviewMonths: '' });
    expect((await elementsOf((await get('/access-review')).text, '.checks span')).map(({ text }) => text)).toEqual([
      'Check: unused for 60 days; it never expires (no longer allowed for new keys).',
      'Check: it never expires (no longer allowed for new keys).',
      'Check: it lives longer than the key rules allow a new key.',
      'Check: it lives longer than the key rules allow a new key.',
    ]);
  });
});

describe('the form of a review', () => {
  test('the form saves decisions with their reasons, and one reason for all other kept keys', async () => {
    const { organization, base, decide, fields } = await makeReview();
    const saved = await decide(fields(0, 'keep', 'Own'), fields(1, 'keep'), fields(2, 'revoke', 'Pilot ended'), {
      reason: 'Still needed, asked Jana',
    });
    expect([saved.status, saved.location]).toEqual([303, `${base}/access-review`]);
    expect(await decisionsOf(organization)).toEqual([
      ['keep', 'Own'],
      ['keep', 'Still needed, asked Jana'],
      ['revoke', 'Pilot ended'],
    ]);
  });

  test('the form asks for each missing reason, in the order of the page', async () => {
    const { decide, fields } = await makeReview();
    await decide(fields(0, 'keep', 'Used'));
    const { text } = await decide(fields(0, 'revoke'), fields(2, 'keep'));
    const error = 'Choose “Keep” or “Revoke”, and enter a reason of at most 200 characters.';
    expect((await elementsOf(text, '.error')).map((element) => element.text)).toEqual([error, error]);
    expect((await elementsOf(text, '#errors a')).map((link) => link.text)).toEqual(['Gamma', 'Alpha']);
  });

  test('one button also keeps every key without a decision, and leaves earlier decisions as they are', async () => {
    const { organization, ids, decide, fields } = await makeReview(['Alpha', 'Beta', 'Gamma', 'Delta']);
    await decide(fields(0, 'revoke', 'Pilot ended'));
    const [row] = await rowsOf('access_review_decisions', organization);
    const shown = { [`reason-${ids[0]}`]: '', [`shown-${ids[0]}`]: String(row?.['decided_at']) };
    const untouched = { [`reason-${ids[2]}`]: '', [`reason-${ids[3]}`]: '' };
    const others = { ...shown, ...untouched, others: 'keep' };
    const missing = await decide(fields(1, 'revoke', 'Unused'), others, { reason: '' });
    expect([missing.status, await countElements(missing.text, '#errors a[href="#reason"]')]).toEqual([400, 1]);
    const saved = await decide(fields(1, 'revoke', 'Unused'), others, { reason: 'Asked the owners' });
    expect(saved.notice).toContain('The decisions are saved.');
    expect(await decisionsOf(organization)).toEqual([
      ['keep', 'Asked the owners'],
      ['keep', 'Asked the owners'],
      ['revoke', 'Pilot ended'],
      ['revoke', 'Unused'],
    ]);
  });

  test('the form marks every key without a reason or a decision, saves nothing, and keeps the input', async () => {
    const { organization, ids, decide, fields } = await makeReview();
    const typed = { [`reason-${ids[2]}`]: 'Typed "reason"', reason: '' };
    const missing = await decide(fields(0, 'keep', 'Good'), typed);
    expect(missing.status).toBe(400);
    expect([(await elementsOf(missing.text, 'title'))[0]?.text, await elementsOf(missing.text, '#errors a')]).toEqual([
      expect.stringMatching(/^Error: Access review/),
      [expect.objectContaining({ text: 'Gamma', attributes: { href: `#reason-${ids[2]}` } })],
    ]);
    expect(await countElements(missing.text, `.error#reason-${ids[2]}-error`)).toBe(1);
    const { status, text } = await decide(fields(0, 'keep', 'Good'), fields(1, 'revoke'), { reason: 'Only for keep' });
    expect(status).toBe(400);
    expect(await countElements(text, `.error#reason-${ids[1]}-error`)).toBe(1);
    expect(await countElements(text, '[type=radio][checked]')).toBe(2);
    expect(await elementsOf(text, `#reason-${ids[0]}, #reason`)).toMatchObject([
      { attributes: { value: 'Good' } },
      { attributes: { value: 'Only for keep' } },
    ]);
    expect(await rowsOf('access_review_decisions', organization)).toEqual([]);
  });

  test('the page shows the decisions that were not saved because another administrator was faster', async () => {
    const { ids, decide, fields } = await makeReview();
    await decide(fields(0, 'revoke', 'Leaked'));
    const { status, text } = await decide(fields(0, 'keep', 'Fine'), fields(1, 'keep', 'Fine'));
    expect(status).toBe(409);
    expect(await countElements(text, '[role=alert]')).toBe(1);
    expect(await elementsOf(text, `#reason-${ids[0]}`)).toMatchObject([{ attributes: { value: 'Leaked' } }]);
  });

  test('a form without a decision is refused', async () => {
    const { organization, decide } = await makeReview();
    const nothing = await decide({ reason: 'All' });
    expect([nothing.status, (await elementsOf(nothing.text, '#errors')).map(({ text }) => text)]).toEqual([
      400,
      ['Nothing was saved. Choose “Keep” or “Revoke” for a key.'],
    ]);
    expect(await elementsOf(nothing.text, '#reason')).toMatchObject([{ attributes: { value: 'All' } }]);
    const unknown = { [`decision-${crypto.randomUUID()}`]: 'keep', reason: 'All' };
    expect((await decide(unknown)).status).toBe(400);
    expect(await rowsOf('access_review_decisions', organization)).toEqual([]);
  });

  test('the form accepts the longest reasons for the largest review', async () => {
    const { decide, fields } = await makeReview(Array.from({ length: 100 }, (_, index) => `Key ${index}`));
    const reason = '🔑'.repeat(200);
    const all = Array.from({ length: 100 }, (_, index) => fields(index, 'keep', reason));
    expect((await decide(...all, { reason })).notice).toContain('The decisions are saved.');
  });
});

describe('the form for a changed decision', () => {
  test('the form replaces the decision that it showed', async () => {
    const { organization, ids, decide, fields, get } = await makeReview();
    await decide(fields(0, 'revoke', 'Old'));
    const [shown] = await elementsOf((await get('/access-review')).text, `[name=shown-${ids[0]}]`);
    const shownAt = { [`shown-${ids[0]}`]: shown?.attributes['value'] ?? '' };
    const incomplete = await decide(fields(0, 'keep'), shownAt);
    expect([incomplete.status, await countElements(incomplete.text, '.error')]).toEqual([400, 1]);
    expect(await elementsOf(incomplete.text, `[name=shown-${ids[0]}]`)).toEqual([shown]);
    expect((await decide(fields(0, 'keep', 'New owner'))).status).toBe(409);
    expect((await decide(fields(0, 'keep', 'New owner'), shownAt)).notice).toContain('The decisions are saved.');
    expect((await decide(fields(0, 'revoke', 'Late'), shownAt)).status).toBe(409);
    expect(await rowsOf('access_review_decisions', organization)).toMatchObject([
      { decision: 'keep', reason: 'New owner' },
    ]);
  });

  test('the form stores and audits only the decisions that differ from the saved ones', async () => {
    const { organization, decide, fields, get } = await makeReview();
    await decide(fields(0, 'keep', 'Used'), fields(1, 'revoke', 'Old'));
    const audited = async () =>
      (await rowsOf('audit_log', organization)).flatMap(({ action, detail }) =>
        action === 'api_key.reviewed' ? [detail] : [],
      );
    const shown = async () =>
      Object.fromEntries(
        (await elementsOf((await get('/access-review')).text, '[name^=shown-]')).map(({ attributes }) => [
          attributes['name'],
          attributes['value'] ?? '',
        ]),
      );
    const all = [fields(0, 'keep', 'Used'), fields(1, 'revoke', 'Old'), fields(2, 'keep', 'New')];
    // The second time, such as by a second click, none differs.
    for (const _ of [1, 2]) {
      expect((await decide(...all, await shown())).notice).toBe('The decisions are saved.');
      expect(await audited()).toEqual(['Kept: Used', 'To be revoked: Old', 'Kept: New']);
    }
  });
});

describe('finishing a review', () => {
  test('the button appears when every key is done, beside a list of the keys to revoke', async () => {
    const { organization, api, base, path, ids, keys, decide, fields, get, post } = await makeReview();
    await api.postNote(keys[1]?.value ?? '');
    const finish = `form[action="${base}${path}/finish"]`;
    expect(await countElements((await get('/access-review')).text, finish)).toBe(0);
    expect((await post(`${path}/finish`, {})).status).toBe(409);
    await decide(fields(0, 'keep'), fields(1, 'revoke', 'Pilot ended'), fields(2, 'keep'), { reason: 'Used' });
    const { text } = await get('/access-review');
    expect(await elementsOf(text, `section[aria-labelledby=finish] tbody .name bdi`)).toMatchObject([{ text: 'Beta' }]);
    expect(await elementsOf(text, '[name=revoke]')).toMatchObject([{ attributes: { value: ids[1] } }]);
    const cells = (await elementsOf(text, 'section[aria-labelledby=finish] td')).map((cell) => cell.text);
    expect(cells).toEqual(['Pilot ended', 'Active', expect.stringContaining(' from '), '–']);
    expect(await countElements(text, '.review-bar button.quiet')).toBe(1);
    const changed = await post(`${path}/finish`, {});
    expect([changed.status, await countElements(changed.text, `main a[href="${base}/access-review"]`)]).toEqual([
      409, 1,
    ]);
    // The second time, such as by a second click, nothing happens.
    for (const _ of [1, 2])
      expect((await post(`${path}/finish`, { revoke: ids })).notice).toContain('It keeps 2 keys and revokes 1.');
    const revoked = (await rowsOf('api_keys', organization)).map((row) => row['revoked_at'] !== null);
    expect(revoked).toEqual([false, true, false]);
    const after = (await get('/access-review')).text;
    expect(await countElements(after, `a[href="${base}${path}/evidence.csv"]`)).toBe(1);
    expect(after).toContain('2 keep, 1 revoke');
    // Evidence stays available while another review is open.
    await post('/access-review', {});
    expect(await countElements((await get('/access-review')).text, `a[href="${base}${path}/evidence.csv"]`)).toBe(1);
    expect((await decide(fields(0, 'keep', 'Late'))).status).toBe(409);
  });
});

describe('the evidence of a review', () => {
  test('the evidence contains one line for each key, with the decision, its reason, reviewer and time', async () => {
    const { organization, api, path, ids, decide, fields, get, post } = await makeReview(['=Alpha', 'Beta', 'Gamma']);
    const writer = await makeKey(organization, { name: 'Not in the review' });
    expect((await api.postNote(writer.value)).status).toBe(201);
    await revoke(organization, ids[2] ?? '');
    await decide(fields(0, 'keep', 'Asked "Jana"'), fields(1, 'revoke', 'Pilot, ended'));
    expect((await get(`${path}/evidence.csv`)).status).toBe(409);
    await post(`${path}/finish`, { revoke: ids });
    const { status, text, headers } = await get(`${path}/evidence.csv`);
    expect(status).toBe(200);
    expect(headers.get('Content-Disposition')).toContain(`${organization}-access-review-`);
    const lines = csvRows(text);
    const time = '"\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d:\\d\\d"';
    const ada = '"Ada <b>Lovelace</b>"';
    const line = (rest: string) => expect.stringMatching(new RegExp(`^${time},${ada},${time},${ada},${rest}$`));
    const key = (id = '') => `"twb_[^"]+","${id}",${time},${ada},"Internal notes, Time entries"`;
    expect(lines).toEqual([
      line(`"'=Alpha",${key(ids[0])},"","","",,,"",,"Keep","Asked ""Jana""",${ada},${time},`),
      line(`"Beta",${key(ids[1])},"","","",,,"",,"Revoke","Pilot, ended",${ada},${time},${time}`),
      line(`"Gamma",${key(ids[2])},"","","",,,"",,"None: revoked before a decision",,${ada},${time},${time}`),
    ]);
  });

  test("the evidence shows that a decision covered the key's successors, but no later ones", async () => {
    const { organization, path, ids, decide, fields, get, post } = await makeReview(['Alpha', 'Beta']);
    await decide(fields(0, 'revoke', 'Pilot ended'), fields(1, 'keep', 'Used'));
    const successor = await rotate(organization, ids[0] ?? '', { grace: '24h' });
    const { text: page } = await get('/access-review');
    expect(page).toContain('to which the decision applies too');
    const confirmed = (await elementsOf(page, '[name=revoke]')).map(({ attributes }) => attributes['value'] ?? '');
    expect(confirmed).toEqual([ids[0], successor.id]);
    expect((await post(`${path}/finish`, { revoke: confirmed })).notice).toContain('It keeps 1 key and revokes 1.');
    await rotate(organization, ids[1] ?? '', { grace: '24h' });
    const lines = csvRows((await get(`${path}/evidence.csv`)).text);
    expect(lines).toHaveLength(3);
    expect(lines[1]).toContain(`"${successor.id}"`);
    expect(lines[1]).toMatch(/"Revoke, decided on its predecessor twb_[^"]+","Pilot ended",.*\d:\d\d"$/);
  });

  test("the name of the file has the organization's date", async () => {
    const now = () => Date.parse('2026-11-21T23:30:00Z');
    const { organization, path, decide, fields, get, post } = await makeReview(['Alpha'], {
      now,
      timeZone: 'Asia/Tokyo',
    });
    await decide(fields(0, 'keep', 'Used'));
    await post(`${path}/finish`, {});
    const { headers } = await get(`${path}/evidence.csv`);
    expect(headers.get('Content-Disposition')).toContain(`"${organization}-access-review-2026-11-22.csv"`);
  });

  test('the evidence contains the settings at the decision, and does not change after the review', async () => {
    const { organization, path, ids, decide, fields, get, post } = await makeReview(['Alpha']);
    const settings = { owner: 'Jana', description: 'Triage', allowedNetworks: '192.0.2.0/24', dayLimitRecords: '7' };
    const change = async (revision: string, changed: Record<string, string>) =>
      expect((await post(`/keys/${ids[0]}/change`, { name: 'Alpha', revision, ...changed })).status).toBe(303);
    await change('0', settings);
    await decide(fields(0, 'keep', 'Used'));
    await post(`${path}/finish`, {});
    const { text } = await get(`${path}/evidence.csv`);
    expect(text).toContain(',"Jana","Triage","",7,,"192.0.2.0/24",');
    await change('1', { owner: 'Max', name: 'Renamed' });
    await revoke(organization, ids[0] ?? '');
    expect((await get(`${path}/evidence.csv`)).text).toBe(text);
  });
});

describe('the key rule of reviews', () => {
  test('the form of the key rules shows how often keys are reviewed, and accepts only the offered intervals', async () => {
    const { organization, base, get, post } = await makeSettings();
    const refused = await post('/key-rules', { revision: '0', accessReviewMonths: '5' });
    expect(refused.status).toBe(400);
    expect(await countElements(refused.text, '#accessReviewMonths-error')).toBe(1);
    expect(await rowsOf('key_rules', organization)).toEqual([]);
    await post('/key-rules', { revision: '0', accessReviewMonths: '3' });
    const { text } = await get('/key-rules');
    expect(await elementsOf(text, '#accessReviewMonths option[selected]')).toMatchObject([
      { attributes: { value: '3' }, text: 'Every 3 months' },
    ]);
    expect(await countElements(text, `form a[href="${base}/access-review"]`)).toBe(1);
  });
});

describe('a review that is due', () => {
  test.each([
    [80, 'An access review is due in 12 days'],
    [92, 'An access review is due today'],
    [95, 'An access review is overdue'],
  ])('a review appears under "Needs attention" %i days after the last one', async (days, title) => {
    let now = Date.parse('2026-11-21T12:00:00Z');
    const { organization, api, base, get, post } = await makeSettings({ now: () => now });
    await makeKey(organization, {}, () => now);
    await post('/key-rules', { revision: '0', accessReviewMonths: '3' });
    expect(await countElements((await get('/keys')).text, `.attention a[href="${base}/access-review"]`)).toBe(0);
    now += days * DAY_MS;
    const later = await openSettings(api, organization, `ada@${organization}.example`, () => now);
    const { text } = await later.get('/keys');
    expect(await elementsOf(text, `.attention a[href="${base}/access-review"] strong`)).toMatchObject([
      { text: title },
    ]);
  });
});

/** Gives an organization 150 live keys, 20 finished reviews of them and an open one. */
async function makeCrowded(organization: string): Promise<void> {
  const key = await makeKey(organization);
  await copyKey(organization, key.id, { prefix: 'live-', count: 149 });
  const run = (sql: string, ...more: string[]) =>
    env.DB.prepare(sql)
      .bind(organization, ...more)
      .run();
  await run(
    `insert into key_days select k.organization_id, k.chain_id, date('now', '-' || value || ' days'), k.id, 1, 1, 1, 10, 1, 1, 1, null
     from api_keys k, json_each(?2) where k.organization_id = ?1 on conflict do nothing`,
    JSON.stringify(Array.from({ length: 60 }, (_, day) => day)),
  );
  const open = (id: string) =>
    run(
      `insert into access_reviews select organization_id, ?2, 1, 'ada', json_group_array(id), null, null from api_keys where organization_id = ?1`,
      id,
    );
  for (let number = 0; number < 20; number++) {
    const id = `00${crypto.randomUUID()}`;
    await open(id);
    await run(
      `insert into access_review_decisions select organization_id, ?2, id, 'keep', 'x', 1, 'ada', name, null, '{}', 0 from api_keys where organization_id = ?1`,
      id,
    );
    await run(
      "update access_reviews set finished_at = 2, finished_by = 'ada' where organization_id = ?1 and id = ?2",
      id,
    );
  }
  await open('open');
}

test('the page reads a limited number of rows, however many reviews exist', async () => {
  const { db, calls } = countD1(env.DB);
  const { organization, get } = await makeSettings({ bindings: { DB: db } });
  await makeCrowded(organization);
  calls.length = 0;
  expect((await get('/access-review')).status).toBe(200);
  // The first one is the sign-in.
  expect(calls).toHaveLength(3);
  expect(calls.slice(1).reduce((sum, { rowsRead }) => sum + rowsRead, 0)).toBeLessThanOrEqual(11_000);
});

test('a key that a finished review keeps needs no attention for what was true at the decision', async () => {
  const clock = { now: Date.parse('2027-01-01T12:00:00Z') };
  const { organization, api, get, post } = await makeSettings({ now: () => clock.now });
  clock.now -= 60 * DAY_MS;
  const names = ['Unused', 'Of a former administrator', 'Of a later one'];
  const email = (id: string) => `${id}@${organization}.example`;
  const isAdmin = (id: string, admin: boolean) =>
    importRecords({ type: 'user', organization, id, email: email(id), name: id, admin });
  for (const id of ['fay', 'lou']) await isAdmin(id, true);
  const keys: Awaited<ReturnType<typeof makeKey>>[] = [];
  for (const name of names) keys.push(await makeKey(organization, { name }, () => clock.now));
  const create = env.DB.prepare('update api_keys set created_by = ?3 where organization_id = ?1 and id = ?2');
  await env.DB.batch([create.bind(organization, keys[1]?.id, 'fay'), create.bind(organization, keys[2]?.id, 'lou')]);
  await isAdmin('fay', false);
  clock.now += 60 * DAY_MS;
  for (const key of keys.slice(1)) await api.postNote(key.value);

  const shown = async (open = get) => {
    const tiles = await elementsOf((await open('/keys')).text, '.attention a[href*="/keys/"]');
    const ids = tiles.map(({ attributes }) => String(attributes['href']).replace(/^.*\//, ''));
    return tiles.map(({ text }, tile) => [text.trim(), keys.findIndex(({ id }) => id === ids[tile])]);
  };
  const before = [
    ['1 key unused for 60 days', names.indexOf('Unused')],
    ['1 key of former administrators', names.indexOf('Of a former administrator')],
  ];
  expect(await shown()).toEqual(before);
  await post('/access-review', {});
  const [review] = await rowsOf('access_reviews', organization);
  const path = `/access-review/${review?.['id']}`;
  const fields = keys.flatMap(({ id }) => [`decision-${id}=keep`, `reason-${id}=Needed`]);
  await post(`${path}/decisions`, fields.join('&'));
  // Not before the review is finished.
  expect(await shown()).toEqual(before);
  expect((await post(`${path}/finish`, {})).status).toBe(303);
  expect(await shown()).toEqual([]);

  // After the decision, another creator leaves, and the key is used and then not used for as long again.
  await isAdmin('lou', false);
  await api.postNote(keys[0]?.value ?? '');
  clock.now += 60 * DAY_MS;
  for (const key of keys.slice(1)) await api.postNote(key.value);
  const later = await openSettings(api, organization, email('ada'), () => clock.now);
  expect(await shown(later.get)).toEqual([
    ['1 key unused for 60 days', names.indexOf('Unused')],
    ['1 key of former administrators', names.indexOf('Of a later one')],
  ]);
});
