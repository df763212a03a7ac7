import { expect, test } from 'vitest';
import { DAY_MS } from '../../../src/domain/calendar.ts';
import { FACTS } from '../../../src/domain/facts.ts';
import { readFacts } from '../../../src/services/facts.ts';
import { eraseOrganization } from '../../support/erase-organization.ts';
import { allChanges, failureOf, lastCursor, resultOf, untyped, work } from '../../support/psa-calls.ts';
import { makeSettings } from '../../support/settings.ts';
import { asOperator, makeKey, makeOrganization, makeWorld, rowsOf } from '../../support/world.ts';

const RECORDED = { ok: true, value: { status: 'recorded' } };
const UNCHANGED = { ok: true, value: { status: 'unchanged' } };

/** An organization with a note and a time entry. */
async function makeRecords() {
  const world = await makeWorld();
  await world.api.postNote(world.key);
  await world.api.postTime(world.key);
  const [, note, entry] = await allChanges(world.organization);
  return { ...world, note: note?.targetId ?? '', entry: entry?.targetId ?? '' };
}

const actionsOf = async (organization: string) =>
  (await rowsOf('audit_log', organization)).slice(3).map(({ action, detail }) => `${action}: ${detail}`);

/** What needs attention in an organization because its PSA refused it. */
async function factsOf(organization: string, now = Date.now()) {
  const ctx = { ...asOperator(), now: () => now };
  const options = { isPushed: true, dayLimits: { key: null, organization: null }, keepDays: undefined, ofModules: [] };
  const facts = await readFacts(ctx, options, [organization]);
  return facts.filter(({ type }) => type === 'refused_by_psa');
}

test('a refused record is recorded and audited once, until the PSA has taken it', async () => {
  const { organization, note, entry } = await makeRecords();
  const report = (result: 'refused' | 'taken', reason?: string) =>
    work.report(organization, 'note', note, result, reason);
  expect(await report('taken')).toEqual(UNCHANGED);
  expect(await report('refused', 'The ticket is closed.')).toEqual(RECORDED);
  expect(await report('refused', 'The ticket is closed.')).toEqual(UNCHANGED);
  expect(await work.report(organization, 'time_entry', entry, 'refused', 'No rate.')).toEqual(RECORDED);
  expect(await report('refused', 'The ticket is gone.')).toEqual(RECORDED);
  expect(resultOf(await work.status(organization))).toEqual({ refused: 2, refusedSince: expect.any(String) });
  const fact = { type: 'refused_by_psa', count: 1, level: 1 };
  expect(Map.groupBy(await factsOf(organization), ({ subject }) => subject)).toMatchObject(
    new Map(['note', 'time_entry'].map((subject) => [subject, [{ ...fact, subject }]])),
  );
  expect(await report('taken')).toEqual(RECORDED);
  expect(await report('taken')).toEqual(UNCHANGED);
  expect(resultOf(await work.status(organization))).toMatchObject({ refused: 1 });
  expect(await factsOf(organization)).toMatchObject([{ subject: 'time_entry' }]);
  expect(await actionsOf(organization)).toEqual([
    'note.refused: The ticket is closed.',
    'time_entry.refused: No rate.',
    'note.refused: The ticket is gone.',
    'note.taken: null',
  ]);
  expect((await allChanges(organization)).at(-1)).toMatchObject({ ticketId: '1001', note: { id: note } });
});

test('a refusal needs attention for 30 days, and its words contain no text of the PSA', async () => {
  const { organization, note } = await makeRecords();
  await work.report(organization, 'note', note, 'refused', 'ACME is closed.');
  const [fact] = await factsOf(organization, Date.now() + 29 * DAY_MS);
  if (!fact) throw new Error('there is no fact');
  expect(FACTS.refused_by_psa.sentence(fact)).toMatch(/^The PSA has refused 1 internal note\. Last at \d{4}-/);
  expect(FACTS.refused_by_psa.sentence({ ...fact, subject: 'time_entry', count: 2 })).toContain(
    'refused 2 time entries.',
  );
  expect(await factsOf(organization, Date.now() + 31 * DAY_MS)).toEqual([]);
});

test("the settings area shows a refusal on the record's entry, and as a tile", async () => {
  const { organization, api, get } = await makeSettings();
  const { value: key } = await makeKey(organization);
  const { note } = await (await api.postNote(key)).json<{ note: { id: string } }>();
  await work.report(organization, 'note', note.id, 'refused', 'The <b>ticket</b> is closed.');
  expect((await get('/audit?action=note.created')).text).toContain('The &lt;b&gt;ticket&lt;/b&gt; is closed.');
  const list = (await get('/keys')).text;
  expect(list).toContain('1 record refused by your PSA');
  expect(list).toContain('/audit?action=note.refused');
  expect((await get('/audit?action=note.refused')).text).toContain('Internal note refused by your PSA');
  await work.report(organization, 'note', note.id, 'taken');
  expect((await get('/audit?action=note.created')).text).not.toContain('is closed.');
  expect((await get('/keys')).text).not.toContain('refused by your PSA');
});

test('refusals are erased with their organization', async () => {
  const { organization, note } = await makeRecords();
  expect(await work.report(organization, 'note', note, 'refused', 'The ticket is closed.')).toEqual(RECORDED);
  await eraseOrganization(asOperator(), { organization, cursor: await lastCursor(organization), by: 'Ada' });
  expect(await rowsOf('psa_refusals', organization)).toEqual([]);
});

test('a record of another organization or kind is not found', async () => {
  const { organization, note } = await makeRecords();
  const other = await makeOrganization();
  const notFound = ['record_not_found'];
  for (const result of ['refused', 'taken'] as const) {
    expect(failureOf(await work.report(other, 'note', note, result, 'Closed.'))).toEqual(notFound);
    expect(failureOf(await work.report(organization, 'time_entry', note, result, 'Closed.'))).toEqual(notFound);
  }
  expect(await rowsOf('psa_refusals', other)).toEqual([]);
  // Of another kind, a record that the PSA refused is not taken.
  expect(await work.report(organization, 'note', note, 'refused', 'Closed.')).toEqual(RECORDED);
  expect(failureOf(await work.report(organization, 'time_entry', note, 'taken'))).toEqual(notFound);
  expect(await rowsOf('psa_refusals', organization)).toHaveLength(1);
});

test('invalid arguments are refused, and the errors list them', async () => {
  const id = crypto.randomUUID();
  expect(failureOf(await work.report('o', 'note', id, 'refused'))).toEqual(['invalid', '/reason required']);
  expect(failureOf(await work.report('o', untyped('ticket'), 'x', untyped('no'), ''))).toEqual([
    'invalid',
    '/kind invalid_value',
    '/id invalid_format',
    '/result invalid_value',
    '/reason too_short',
  ]);
});
