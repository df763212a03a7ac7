import { env } from 'cloudflare:workers';
import { beforeAll, expect, test } from 'vitest';
import { DAY_MS } from '../../../src/domain/calendar.ts';
import published from '../../bench/README.md?raw';
import { countD1 } from '../../support/d1.ts';
import { elementsOf } from '../../support/page.ts';
import { makeSettings, openSettings, signIn } from '../../support/settings.ts';
import { makeApi, makeKey } from '../../support/world.ts';

const [DECIDED, WAITING] = [100_000, 10_000];
const FIRST_AT = Date.parse('2026-06-01T00:00:00Z');

let organization: string;
let email: string;

/** An organization with a log of entries and their decisions, and after them the entries that wait: one each minute. */
beforeAll(async () => {
  ({ organization } = await makeSettings());
  email = `ada@${organization}.example`;
  const { id } = await makeKey(organization, {}, () => FIRST_AT);
  const seqOf = (number: string) => `iif(${number} <= ${DECIDED}, 2 * ${number}, ${DECIDED} + ${number} + 1)`;
  const numbers = 'with recursive n(i) as (select 1 union all select i + 1 from n where i < ?2)';
  const entryId = "printf('00000000-0000-7000-8000-%012d', i)";
  const at = (seq: string) => `${FIRST_AT} + ${seq} * 60000`;
  await env.DB.prepare(
    `insert into audit_log
     select ?1, seq, ${at('seq')}, iif(decides, 'user', 'api_key'), iif(decides, 'ada', ?3), 'n8n',
       iif(decides, 'time_entry.approved', 'time_entry.created'), ${entryId}, '1001', 'request-' || seq, null, null, null, null, '', 0, 0
     from (${numbers} select i, ${seqOf('i')} as seq, 0 as decides from n union all select i, 2 * i + 1, 1 from n where i <= ${DECIDED})
     order by seq`,
  )
    .bind(organization, DECIDED + WAITING, id)
    .run();
  await env.DB.prepare(
    `${numbers} insert into time_entries
     select ?1, ${entryId}, '1001', ${at(seqOf('i'))}, ?3, 'request', 'digest', ${seqOf('i')}, 'automation', 30, 'Work ' || i, 1,
       date((${at(seqOf('i'))}) / 1000, 'unixepoch'), 15000, 'company_default', 'settings', iif(i <= ${DECIDED}, 'APPROVED', 'SUBMITTED'), iif(i <= ${DECIDED}, 2 * i + 1, null)
     from n`,
  )
    .bind(organization, DECIDED + WAITING, id)
    .run();
  await env.DB.prepare(
    `insert into key_days select organization_id, key_id, work_date, key_id, 0, count(*), sum(minutes), 9,
       max(created_at), null from time_entries where organization_id = ?1 group by work_date, key_id`,
  )
    .bind(organization)
    .run();
}, 120_000);

/** Fails for more D1 calls, or rows, than the published table says, or for far fewer. */
function budgetOf(now = Date.now) {
  const d1 = countD1(env.DB);
  const api = makeApi({ now, bindings: { DB: d1.db }, config: { signIn: signIn.config } });
  async function expectPublished(
    what: string,
    cost: { calls: number; read: number; written: number },
    act: () => Promise<unknown>,
  ) {
    d1.calls.length = 0;
    await act();
    const sum = (of: 'rowsRead' | 'rowsWritten') => d1.calls.reduce((total, call) => total + call[of], 0);
    const found = { calls: d1.calls.length, read: sum('rowsRead'), written: sum('rowsWritten') };
    const { calls, read, written } = cost;
    expect(published).toContain(`| ${what} | ${calls} | ${read.toLocaleString('en')} | ${written} |`);
    const sent = d1.calls.map(({ sql }) => sql.join('; ').slice(0, 200)).join('\n');
    expect({ what, ...found }, sent).toEqual({ what, calls, written, read: expect.any(Number) });
    expect(found.read).toBeLessThanOrEqual(read);
    // SQLite reads one row after a range, if there is one: a few rows less without other organizations.
    expect(found.read).toBeGreaterThan(0.7 * read - 5);
  }
  return { open: () => openSettings(api, organization, email, now), expectPublished };
}

test('pages and decisions cost what the table says, however much was decided before', async () => {
  const { open, expectPublished } = budgetOf();
  const { get, post } = await open();
  const total = async (page: string) =>
    (await elementsOf(page, '#totals, nav.tabs a[href$="/time"]')).map(({ text }) => text);
  let page = '';
  await expectPublished(
    'the queue of 10,000',
    { calls: 5, read: 220_000, written: 0 },
    async () => ({ text: page } = await get('/time')),
  );
  expect(await total(page)).toEqual(['Time\u00a09,999+', '10,000 entries, 300,000 minutes, amount 750,000.00']);
  await expectPublished('approved time of one day', { calls: 7, read: 20_000, written: 0 }, () =>
    get('/time?state=approved&from=2026-07-01&to=2026-07-01'),
  );
  let confirmation = '';
  await expectPublished(
    'the confirmation for all of the queue',
    { calls: 3, read: 220_000, written: 0 },
    async () => ({ text: confirmation } = await get('/time/decide?all=APPROVED')),
  );
  const ids = (await elementsOf(confirmation, 'input[name=entry]')).map(({ attributes }) => attributes['value'] ?? '');
  expect(ids).toHaveLength(1_000);
  await expectPublished('1,000 decisions', { calls: 2, read: 26_200, written: 5000 }, () =>
    post('/time/decide', { decision: 'APPROVED', entry: ids }),
  );
}, 120_000);

test('without a date, decided time is read from the last 92 days, and refused time by its refusals', async () => {
  const { open, expectPublished } = budgetOf(() => FIRST_AT + 220 * DAY_MS);
  const { get } = await open();
  await env.DB.prepare(
    `insert into psa_refusals select organization_id, id, 'time_entry', 'Closed', 0 from time_entries
     where organization_id = ?1 and status = 'APPROVED' order by id limit 3`,
  )
    .bind(organization)
    .run();
  await expectPublished('time of a company, approved in 92 days', { calls: 6, read: 49_000, written: 0 }, () =>
    get('/time?state=approved&company=globex'),
  );
  await expectPublished('three entries _Not in the PSA_', { calls: 5, read: 10_100, written: 0 }, () =>
    get('/time?state=refused'),
  );
}, 120_000);
