import { applyD1Migrations, reset } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { beforeAll, expect, test } from 'vitest';
import type { Config } from '../../../src/config.ts';
import { DAY_MS } from '../../../src/domain/calendar.ts';
import { CRON_TRIGGERS, runJobs } from '../../../src/jobs.ts';
import { startModules } from '../../../src/module.ts';
import { archiveStep, STEP_CHANGES } from '../../../src/modules/archive/archive-step.ts';
import { archive as archiveModule } from '../../../src/modules/archive/module.tsx';
import { archiveDue, checkSizes } from '../../../src/modules/archive/run.ts';
import { eraseOrganization } from '../../../src/services/directory/erase-organization.ts';
import { redactRecord } from '../../../src/services/work/record-services.ts';
import { aroundD1 } from '../../support/d1.ts';
import { emptyDatabase } from '../../support/empty-database.ts';
import { addChanges } from '../../support/many-changes.ts';
import { inLongRuns } from '../../support/property.ts';
import { lastCursor } from '../../support/rpc.ts';
import { linesAbout, loggedLines } from '../../support/searched-logs.ts';
import { asOperator, config, makeWorld, rowsOf } from '../../support/world.ts';
import { setPush } from '../push/support.ts';
import { AT_ONCE, archive, archiveContext, bucket, everyChange, failing, objectsIn, releaseAll } from './support.ts';

// A run examines a few organizations of all that there are: only those of this file.
beforeAll(async () => {
  await reset();
  await applyD1Migrations(env.DB, env.TEST_MIGRATIONS);
});

const RULE = { keepDays: 30, isPushed: false };
const afterDays = (days: number) => () => Date.now() + days * DAY_MS;

beforeAll(emptyDatabase);

/** An organization with so many notes, all of them released, and one more. */
async function released(notes = 2): Promise<string> {
  const { organization, key, api } = await makeWorld();
  for (let i = 0; i <= notes; i++) await api.postNote(key);
  await releaseAll(organization);
  return organization;
}

/** How many changes of an organization are rows. */
const rowsLeft = async (organization: string) => (await rowsOf('audit_log', organization)).length;

test('the job archives old enough changes of every organization', async () => {
  const organizations = [await released(), await released(1)];
  await archiveDue(asOperator(env.DB, afterDays(29)), bucket, RULE);
  expect(await Promise.all(organizations.map(rowsLeft))).toEqual([4, 3]);
  await archiveDue(asOperator(env.DB, afterDays(32)), bucket, RULE);
  expect(await Promise.all(organizations.map(rowsLeft))).toEqual([1, 1]);
  expect(loggedLines('archived')).toEqual([
    { event: 'archived', changes: expect.any(Number), steps: expect.any(Number), failed: 0 },
  ]);
});

test('an organization whose step fails does not stop the others, and the next run tries it again', async () => {
  const organizations = [await released(), await released()];
  const [first = ''] = organizations;
  const failing = {
    ...bucket,
    put: (...args: Parameters<typeof bucket.put>) =>
      args[0].startsWith(first) ? Promise.reject(new Error('away')) : bucket.put(...args),
  };
  await expect(archiveDue(asOperator(env.DB, afterDays(32)), failing, RULE)).rejects.toMatchObject({
    code: 'unavailable',
  });
  expect(await Promise.all(organizations.map(rowsLeft))).toEqual([4, 1]);
  expect(loggedLines('archive_failed')).toMatchObject([{ organization: first }]);
  await archiveDue(asOperator(env.DB, afterDays(32)), bucket, RULE);
  expect(await rowsLeft(first)).toBe(1);
});

test('a long log is archived in steps of a bounded number of changes', async () => {
  const organization = await released(0);
  const rows = STEP_CHANGES + 500;
  await addChanges(organization, rows - 2);
  await releaseAll(organization);
  expect(await archive(organization)).toMatchObject({ fromSeq: 1, toSeq: STEP_CHANGES });
  expect(await archive(organization)).toMatchObject({ fromSeq: STEP_CHANGES + 1, toSeq: rows - 1 });
  const { archived } = await everyChange(organization);
  expect(archived.map(({ seq }) => seq)).toEqual(Array.from({ length: rows - 1 }, (_, i) => i + 1));
});

test('the job waits for a full step, or until the oldest change has waited for a day', async () => {
  const organization = await released(0);
  const rows = STEP_CHANGES + 500;
  const HOUR_MS = DAY_MS / 24;
  const begin = Date.now();
  // One change in an hour for two days, then many at once.
  await addChanges(organization, 48, HOUR_MS);
  await addChanges(organization, rows - 50);
  await releaseAll(organization);
  const sizes: number[] = [];
  for (let hour = 0; hour < 80; hour += inLongRuns(1, 4)) {
    const before = await rowsLeft(organization);
    await archiveDue(
      asOperator(env.DB, () => begin + 30 * DAY_MS + hour * HOUR_MS),
      bucket,
      RULE,
    );
    const moved = before - (await rowsLeft(organization));
    if (moved > 0) sizes.push(moved);
  }
  expect(sizes.length).toBeLessThanOrEqual(4);
  expect(sizes).toContain(STEP_CHANGES);
  expect(await rowsLeft(organization)).toBe(1);
});

test('a step reads no more rows in a long log than in a short one, and in few calls', async () => {
  const bill = async (notes: number) => {
    const { organization, key, api } = await makeWorld();
    for (let i = 0; i < 3; i++) await api.postNote(key);
    await releaseAll(organization);
    for (let i = 0; i < notes; i++) await api.postTime(key);
    let [calls, read] = [0, 0];
    const db = aroundD1(env.DB, async (run) => {
      const results = await run();
      calls += 1;
      read += results.reduce((sum, { meta }) => sum + meta.rows_read, 0);
      return results;
    });
    await archive(organization, { db });
    return { calls, read };
  };
  const short = await bill(1);
  expect(await bill(60)).toEqual(short);
  expect(short.calls).toBe(4);
});

test('the daily job deletes objects that a redaction has replaced and could not delete', async () => {
  const organization = await released(1);
  await archive(organization);
  const id = (await everyChange(organization)).archived.find(({ note }) => note)?.targetId ?? '';
  const cut = failing((call) => (call === 'delete' ? 'before' : undefined));
  const redaction = redactRecord(archiveContext({ archive: cut }), { organization, kind: 'note', id, by: 'Ada' });
  await expect(redaction).rejects.toMatchObject({ code: 'unavailable' });
  expect(await objectsIn(organization)).toHaveLength(2);
  await checkSizes(asOperator(), bucket);
  expect(await objectsIn(organization)).toHaveLength(1);
  expect((await everyChange(organization)).archived).toHaveLength(2);
});

/** An archived organization, its object, and how the database sees it. */
async function damageable() {
  const organization = await released(1);
  const step = await archive(organization);
  if (step.status !== 'archived') throw new Error(step.status);
  const { object } = step;
  const bytes = (await bucket.get(object)) ?? new Uint8Array();
  const isDamaged = async () =>
    (await env.DB.prepare('select damaged_at as at from archives where organization_id = ?')
      .bind(organization)
      .first('at')) !== null;
  const found = () => linesAbout(organization, 'archive_damaged');
  return { organization, object, bytes, isDamaged, found };
}

test('the daily job finds an object that is missing or changed in size, and notices its return', async () => {
  const { organization, object, bytes, isDamaged, found } = await damageable();
  const check = () => checkSizes(asOperator(), bucket);
  await check();
  expect([await isDamaged(), found()]).toEqual([false, []]);
  for (const [damage, hit] of [
    ['missing', () => env.ARCHIVE.delete(object)],
    ['damaged', () => env.ARCHIVE.put(object, bytes.slice(0, 20))],
  ] as const) {
    await hit();
    await check();
    expect([await isDamaged(), found().at(-1)]).toMatchObject([true, { organization, object, damage }]);
    await env.ARCHIVE.put(object, bytes);
    await check();
    expect(await isDamaged()).toBe(false);
  }
});

test('the daily job deletes objects of an erased organization after 15 minutes, and no others', async () => {
  const { organization: gone } = await makeWorld();
  await eraseOrganization(archiveContext(), { organization: gone, cursor: await lastCursor(gone), by: 'Ada' });
  const part = '000000000001-000000000009-0123456789abcdef.ndjson.gz';
  const name = `${gone}/${part}`;
  const other = `${gone}/notes.txt`;
  const unknown = `of-another-database/${part}`;
  for (const object of [name, other, unknown]) await env.ARCHIVE.put(object, 'x');
  await checkSizes(asOperator(), bucket);
  expect(await objectsIn(gone)).toEqual([name, other]);
  await checkSizes(
    asOperator(env.DB, () => Date.now() + 16 * 60_000),
    bucket,
  );
  expect([await objectsIn(gone), await objectsIn('of-another-database')]).toEqual([[other], [unknown]]);
  await env.ARCHIVE.delete([other, unknown]);
});

test('changes that the push has not delivered stay, if the push is on', async () => {
  const organization = await released(3);
  const pushed = { ...AT_ONCE, isPushed: true };
  expect(await archiveStep(archiveContext(), organization, pushed)).toEqual({ status: 'nothing' });
  await setPush(organization, { confirmedSeq: 2 });
  expect(await archiveStep(archiveContext(), organization, pushed)).toMatchObject({ toSeq: 2 });
  expect(await archiveStep(archiveContext(), organization, AT_ONCE)).toMatchObject({ fromSeq: 3, toSeq: 4 });
});

test('nothing is archived without a bucket, without KEEP_DAYS, or while the API is paused', async () => {
  const organization = await released();
  const run = (vars: { KEEP_DAYS?: string; ARCHIVE?: undefined }, changes: Partial<Config> = {}) => {
    const deployed = config(changes);
    const contributions = startModules([archiveModule], { ...env, ...vars }, deployed);
    return runJobs(CRON_TRIGGERS.hourly, { db: env.DB, config: deployed, contributions, now: afterDays(32) });
  };
  await run({ ARCHIVE: undefined });
  await run({});
  await run({ KEEP_DAYS: '30' }, { mode: 'paused' });
  expect(await rowsLeft(organization)).toBe(4);
  await run({ KEEP_DAYS: '30' });
  expect(await rowsLeft(organization)).toBe(1);
});

test('KEEP_DAYS without a bucket stops the start', () => {
  const start = (vars: object) => startModules([archiveModule], { ...env, ...vars }, config());
  start({ KEEP_DAYS: '30' });
  start({ ARCHIVE: undefined });
  expect(() => start({ KEEP_DAYS: '30', ARCHIVE: undefined })).toThrow(/^KEEP_DAYS .*ARCHIVE/);
});

test.each([
  ['0', /^KEEP_DAYS: "0" is not a whole number of days from 1 to 36500/],
  ['90 days', /^KEEP_DAYS: /],
])('KEEP_DAYS %j stops the start', (KEEP_DAYS, message) => {
  expect(() => startModules([archiveModule], { ...env, KEEP_DAYS }, config())).toThrow(message);
});

test('of a large archive without objects, the daily job reads few', async () => {
  const organization = await released(0);
  const objects = 1_500;
  await addChanges(organization, objects - 1);
  await releaseAll(organization);
  await env.DB.prepare(
    `insert into archives (organization_id, from_seq, to_seq, first_at, last_at, last_request_id, object, digest, bytes)
     select ?1, seq, seq, 0, 0, request_id, ?1 || '/' || seq, printf('%064d', seq), 1 from audit_log
     where organization_id = ?1 order by seq limit ${objects}`,
  )
    .bind(organization)
    .run();
  const read = new Set<string>();
  const get: typeof bucket.get = async (name) => {
    read.add(name);
    return undefined;
  };
  await checkSizes(asOperator(), { ...bucket, get });
  expect(read.size).toBeLessThanOrEqual(20);
});
