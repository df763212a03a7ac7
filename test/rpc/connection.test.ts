import { expect, test } from 'vitest';
import { readFacts } from '../../src/services/facts.ts';
import { eraseOrganization } from '../support/erase-organization.ts';
import { elementsOf } from '../support/page.ts';
import { allChanges, connectionOf, failureOf, lastCursor, resultOf, untyped, work } from '../support/psa-calls.ts';
import { makeSettings } from '../support/settings.ts';
import { asOperator, makeOrganization, makeWorld, rowsOf } from '../support/world.ts';

const MINUTE_MS = 60_000;
const [ONE, OTHER] = [crypto.randomUUID(), crypto.randomUUID()];
const failing = (reason: string) => ({ reason, isStopped: false });
const RECORDED = { ok: true, value: { status: 'recorded' } };

/** The facts of the organization's connection at this time. */
async function factsOf(organization: string, now: number) {
  const options = { isPushed: false, dayLimits: { key: null, organization: null }, keepDays: undefined, ofModules: [] };
  const ctx = { ...asOperator(), now: () => now };
  const facts = await readFacts(ctx, options, [organization]);
  return facts.filter(({ type }) => type === 'push_failing');
}

test('a connection reads and writes only the organization of its binding', async () => {
  const [own, other] = [await makeWorld(), await makeWorld()];
  await own.api.postNote(own.key);
  await other.api.postTime(other.key);
  const connection = connectionOf(own.organization);
  const foreign = { type: 'ticket' as const, organization: other.organization, id: '2001', company: 'acme' };
  const { written, records } = resultOf(
    await connection.upsert([foreign, { ...foreign, organization: own.organization }]),
  );
  expect([written, records.map(({ status }) => status)]).toEqual([false, ['refused', 'created']]);
  expect(resultOf(await connection.list('ticket', null)).records).toHaveLength(4);
  expect(resultOf(await connection.deactivate([{ type: 'organization', id: other.organization }])).records).toEqual([
    { status: 'not_found' },
  ]);
  const page = resultOf(await connection.changes(null));
  expect(page.changes).toEqual(await allChanges(own.organization));

  const cursor = (await lastCursor(other.organization)) ?? '';
  const entry = (await allChanges(other.organization))[1]?.targetId ?? '';
  expect(failureOf(await connection.changes(cursor))).toEqual(['cursor_reset']);
  expect(failureOf(await connection.report('time_entry', entry, 'refused', 'Closed'))).toEqual(['record_not_found']);
  expect(failureOf(await connection.review(entry, 'APPROVED', 'ada', 'HaloPSA'))).toEqual(['record_not_found']);
  expect(resultOf(await work.status(other.organization))).toMatchObject({ refused: 0 });
});

test('the administrators are those of the binding, whatever an adapter sends', async () => {
  const organization = await makeOrganization();
  const connection = connectionOf(organization, ['tess@northwind.example']);
  const user = { type: 'user' as const, organization, technician: true };
  const upserted = await connection.upsert([
    { ...user, id: 'ada', email: 'ada@northwind.example', name: 'Ada', admin: true },
    { ...user, id: 'tess', email: 'Tess@Northwind.Example', name: 'Tess' },
  ]);
  expect(resultOf(upserted)).toMatchObject({ written: true });
  const rows = await rowsOf('users', organization);
  expect(rows.filter((row) => row['is_admin'] === 1).map(({ id }) => id)).toEqual(['tess']);
});

test('a user without an email address is refused, and the other records of the call are not', async () => {
  const organization = await makeOrganization();
  const user = { type: 'user', organization, technician: true, name: 'Tess' };
  const upserted = await connectionOf(organization).upsert([
    untyped({ ...user, id: 'none' }),
    untyped({ ...user, id: 'null', email: null }),
    untyped({ ...user, id: 'nina', email: 'nina@northwind.example' }),
  ]);
  const { records } = resultOf(upserted);
  expect(records.map(({ status }) => status)).toEqual(['refused', 'refused', 'created']);
});

test('a connection without an organization is refused, and so is one that the directory does not contain', async () => {
  expect(failureOf(await connectionOf(untyped(null)).changes(null))).toEqual(['invalid', '/organization invalid_type']);
  expect(failureOf(await connectionOf('unknown').reportConnection(ONE, null))).toEqual(['organization_not_found']);
  expect(failureOf(await connectionOf('unknown').reportConnection('1', failing('')))).toContain(
    '/adapterId invalid_format',
  );
});

test('of two adapters for one organization, the second is told so until it takes over', async () => {
  const connection = connectionOf(await makeOrganization());
  const elsewhere = { ok: true, value: { status: 'connected_elsewhere' } };
  expect(await connection.reportConnection(ONE, null)).toEqual(RECORDED);
  expect(await connection.reportConnection(OTHER, failing('HTTP 500'))).toEqual(elsewhere);
  expect(await connection.reportConnection(OTHER, null, true)).toEqual(RECORDED);
  expect(await connection.reportConnection(ONE, null)).toEqual(elsewhere);
});

test('a failure or silence needs attention after five minutes, and a stop at once, until all is well', async () => {
  const organization = await makeOrganization();
  const connection = connectionOf(organization);
  const soon = () => factsOf(organization, Date.now());
  const later = () => factsOf(organization, Date.now() + 6 * MINUTE_MS);
  await connection.reportConnection(ONE, null);
  expect(await soon()).toEqual([]);
  expect(await later()).toMatchObject([{ subject: ONE, level: 1, failure: 'the adapter no longer reports' }]);
  await connection.reportConnection(ONE, failing('HTTP 401'));
  const [row] = await rowsOf('connections', organization);
  await connection.reportConnection(ONE, failing('HTTP 403'));
  expect(await soon()).toEqual([]);
  expect(await later()).toMatchObject([{ subject: ONE, level: 1, since: row?.['failing_since'], failure: 'HTTP 403' }]);
  await connection.reportConnection(ONE, { reason: 'A customer can see a note.', isStopped: true });
  expect(await soon()).toMatchObject([{ level: 2, failure: 'A customer can see a note.' }]);
  await connection.reportConnection(ONE, null);
  expect(await soon()).toEqual([]);
});

test('a tile leads to the page that shows since when the adapter has stopped, and why', async () => {
  const { organization, base, get } = await makeSettings({ timeZone: 'UTC' });
  const tiles = async () =>
    (await elementsOf((await get('/keys')).text, '.attention a')).map(({ attributes }) => attributes['href']);
  expect(await tiles()).toEqual([]);
  await connectionOf(organization).reportConnection(ONE, { reason: 'A customer can see a note.', isStopped: true });
  expect(await tiles()).toEqual([`${base}/push`]);
  const [{ stopped_at: at } = {}] = await rowsOf('connections', organization);
  const time = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' }).format(
    Number(at),
  );
  const { text } = await get('/push');
  const [card] = await elementsOf(text, 'main section');
  expect(card?.text.replaceAll(/\s+/g, ' ')).toContain(
    `have not been sent to your PSA since ${time}. The connection with your PSA does not work: A customer can see a note.`,
  );
  expect(await elementsOf(text, 'main form')).toEqual([]);
});

test('an erasure removes the connection, and an adapter does not bring the organization back', async () => {
  const { organization } = await makeWorld();
  const connection = connectionOf(organization);
  await connection.reportConnection(ONE, null);
  await eraseOrganization(asOperator(), { organization, cursor: await lastCursor(organization), by: 'Ada' });
  const record = {
    type: 'organization' as const,
    ...{ id: organization, name: 'Northwind', psa: true, timeZone: 'UTC', defaultHourlyRate: 120 },
  };
  expect(failureOf(await connection.upsert([record]))).toEqual(['organization_erased']);
  expect(await rowsOf('connections', organization)).toEqual([]);
});
