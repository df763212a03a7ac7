import { env } from 'cloudflare:workers';
import { expect, test } from 'vitest';
import limits from '../../src/docs/pages/limits.md?raw';
import { createSettings } from '../../src/http/settings/index.tsx';
import { CRON_TRIGGERS, runJobs } from '../../src/jobs.ts';
import { startModules } from '../../src/module.ts';
import { MODULES } from '../../src/modules.ts';
import { deactivateRecords, upsertRecords } from '../../src/services/directory/change-records.ts';
import { reportRecord } from '../../src/services/work/record-services.ts';
import { aroundD1, countD1 } from '../support/d1.ts';
import { elementsOf } from '../support/page.ts';
import { copyKey, makeSettings } from '../support/settings.ts';
import { makeTime, multiply } from '../support/time.ts';
import { asOperator, config, makeKey, makeWorld, rowsOf, TIME } from '../support/world.ts';

/** How many statements an invocation may send on Cloudflare's Free plan. Each statement of a batch counts. */
const FREE_STATEMENTS = 50;

/** The database of one invocation after another: `begin` begins the next one. */
function onFreePlan() {
  let sent = 0;
  const DB = aroundD1(env.DB, (run, statements) => {
    sent += statements;
    if (sent > FREE_STATEMENTS) throw new Error(`D1_ERROR: ${sent} statements in one invocation`);
    return run();
  });
  return {
    DB,
    begin: () => {
      sent = 0;
    },
  };
}

/** A settings area, each request of which is one invocation. */
function invoking<Area extends Pick<Awaited<ReturnType<typeof makeSettings>>, 'get' | 'post' | 'createKey'>>(
  { get, post, createKey, ...area }: Area,
  begin: () => void,
) {
  const begun =
    <Arguments extends unknown[], Answer>(act: (...args: Arguments) => Answer) =>
    (...args: Arguments) => {
      begin();
      return act(...args);
    };
  return { ...area, get: begun(get), post: begun(post), createKey: begun(createKey) };
}

test('all keys of an organization are revoked in one request, as many as it can have', async () => {
  const { DB, begin } = onFreePlan();
  const { organization, post } = invoking(await makeSettings({ bindings: { DB } }), begin);
  const { id } = await makeKey(organization);
  await copyKey(organization, id, { prefix: 'live-', count: 99 });
  await copyKey(organization, id, { prefix: 'replaced-', count: 50 });
  await env.DB.prepare(
    "update api_keys set successor_id = 'of-' || id, expires_at = ?2 where organization_id = ?1 and id like 'replaced-%'",
  )
    .bind(organization, Date.now() + 3_600_000)
    .run();
  expect((await post('/revoke-all', { organization: 'Northwind' })).notice).toMatch(/^150 keys are revoked\./);
  const revoked = (await rowsOf('audit_log', organization)).filter(({ action }) => action === 'api_key.revoked');
  expect(new Set(revoked.map(({ target_id }) => target_id)).size).toBe(150);
});

test('all keys that the list shows are revoked in one request', async () => {
  const { DB, begin } = onFreePlan();
  const { organization, get, post } = invoking(await makeSettings({ bindings: { DB } }), begin);
  const { id } = await makeKey(organization);
  await copyKey(organization, id, { prefix: 'live-', count: 99 });
  const boxes = await elementsOf((await get('/keys')).text, 'tbody [name=key]');
  const key = boxes.map(({ attributes }) => attributes['value'] ?? '');
  expect((await post('/revoke-keys', { key })).notice).toMatch(/^100 keys are revoked\./);
});

test('all time of a confirmation is decided in one request', async () => {
  const { DB, begin } = onFreePlan();
  const made = await makeTime({ bindings: { DB } });
  begin();
  await made.log();
  await multiply(made.organization, 999);
  const { get, post } = invoking(made, begin);
  const boxes = await elementsOf((await get('/time/decide?all=APPROVED')).text, 'input[name=entry]');
  const entry = boxes.map(({ attributes }) => attributes['value'] ?? '');
  expect((await post('/time/decide', { decision: 'APPROVED', entry })).notice).toMatch(/^1,000 entries approved: /);
});

test.each([true, false])('1,000 records are written and deactivated in two calls (allOrNothing: %s)', async (all) => {
  const { DB, begin } = onFreePlan();
  const { organization } = await makeWorld();
  const context = () => {
    begin();
    return { ...asOperator(DB), deadlineAt: Date.now() + 30_000 };
  };
  const ids = Array.from({ length: 250 }, (_, index) => `r${index}`);
  const records = ids.flatMap((id) => [
    { type: 'company', organization, id, name: id },
    { type: 'user', organization, id, email: `${id}@${organization}.example`, name: id, technician: true },
    { type: 'agreement', organization, id, company: id, hourlyRate: 90 },
    { type: 'ticket', organization, id, company: id },
  ]);
  for (const _ of ['created', 'unchanged'])
    expect((await upsertRecords(context(), { organization, records, allOrNothing: all })).written).toBe(true);
  const references = ids.flatMap((id) =>
    (['ticket', 'agreement', 'user', 'company'] as const).map((type) => ({ type, id })),
  );
  const { records: deactivated } = await deactivateRecords(context(), { organization, records: references });
  expect(deactivated.filter(({ status }) => status === 'deactivated')).toHaveLength(1_000);
});

test('each page and form of the settings area, and each write, stays within the statements of the Free plan', async () => {
  const { DB, begin } = onFreePlan();
  const area = await makeSettings({ bindings: { DB } });
  const { organization, api, get, post, createKey } = invoking(area, begin);
  const { id, value } = await makeKey(organization);
  for (const _ of ['first', 'replay']) {
    begin();
    expect((await api.postTime(value, TIME, { 'Idempotency-Key': 'triage:1' })).ok).toBe(true);
    await api.settled();
  }
  begin();
  await api.postTime(value, { ...TIME, minutes: TIME.minutes + 1 }, { 'Idempotency-Key': 'triage:1' });
  await api.settled();
  begin();
  const refused = await (await api.postTime(value, TIME)).json<{ entry: { id: string } }>();
  await post('/time/decide', { decision: 'APPROVED', entry: refused.entry.id });
  const report = {
    organization,
    kind: 'time_entry',
    id: refused.entry.id,
    result: 'refused',
    reason: 'Closed',
  } as const;
  await reportRecord(asOperator(), report);
  const routes = createSettings().routes.filter(
    ({ method, path }) => method === 'GET' && path.startsWith('/:organization/'),
  );
  const paths = [...new Set(routes.map(({ path }) => path.replace('/:organization', '').replace(':key', id)))];
  expect(paths).toEqual(expect.arrayContaining(['/keys', `/keys/${id}/rotate`, '/time/decide', '/audit.csv']));
  const queries: Record<string, string> = {
    '/revoke-keys': `?key=${id}`,
    '/time/decide': '?all=APPROVED',
    '/time/entered': `?entry=${refused.entry.id}`,
  };
  const pages = paths.map((path) => `${path}${queries[path] ?? ''}`);
  for (const path of [...pages, '/keys?state=all']) expect([path, (await get(path)).status]).toEqual([path, 200]);
  expect((await createKey()).status).toBe(200);
  const rotation = { token: crypto.randomUUID(), grace: '24h', expires: 'none' };
  expect((await post(`/keys/${id}/rotate`, rotation)).status).toBe(200);
});

test.each([
  ['/audit.csv', 50_000],
  ['/time.csv?state=all', 100_000],
])('a file of %s fits with %i entries, as the page of limits says', async (path, entries) => {
  const statementsFor = async (copies: number) => {
    const { db, calls } = countD1(env.DB);
    const { organization, get, log } = await makeTime({ bindings: { DB: db } });
    await log();
    await multiply(organization, copies);
    calls.length = 0;
    const { text } = await get(path);
    expect(text.split('\n').length).toBeGreaterThan(copies);
    return calls.reduce((sum, { statements }) => sum + statements, 0);
  };
  const PAGE = 2_500;
  const [one, four] = [await statementsFor(1), await statementsFor(4 * PAGE - 10)];
  const perPage = (four - one) / 3;
  expect(one + perPage * (entries / PAGE - 1)).toBeLessThanOrEqual(FREE_STATEMENTS);
  expect(limits).toContain(`${entries.toLocaleString('en')} entries`);
});

test.each(Object.entries(CRON_TRIGGERS))(
  'the jobs of the %s trigger stay within them on a normal day',
  async (_, cron) => {
    const { DB } = onFreePlan();
    await makeWorld();
    const deployed = config();
    await runJobs(cron, { db: DB, config: deployed, contributions: startModules(MODULES, { ...env }, deployed) });
  },
);
