import { describe, expect, test } from 'vitest';
import { definition } from '../../src/adapters/connectwise/definition.ts';
import type { PsaRecord } from '../../src/adapters/kit/psa.ts';
import { sender } from '../../src/adapters/kit/send.ts';
import { resultOf, work } from '../support/psa-calls.ts';
import { checksOf, testMapping } from './conformance.ts';
import type { FakeData } from './fake.ts';
import { fakeConnectWise } from './fake-connectwise.ts';
import {
  approve,
  connectionRow,
  isWrite,
  MINUTE_MS,
  makeAdapterWorld,
  makeReadyWorld,
  notesOf,
  reportsOf,
  time,
  timesOf,
} from './world.ts';

testMapping(fakeConnectWise);

test('time that ConnectWise has written off is approved', async () => {
  const world = await makeReadyWorld((clock) => {
    const fake = fakeConnectWise(clock);
    fake.settings.approved = 'WrittenOff';
    return fake;
  });
  await world.write(501, time('Called'), 'one');
  await world.pass(MINUTE_MS);
  approve(world, '1');
  await world.skip(10 * MINUTE_MS);
  expect((await world.write(501, time('Called'), 'one')).entryStatus).toBe('APPROVED');
});

test('seconds that ConnectWise does not keep hold no time back', async () => {
  const { world, connectWise } = await makeConnectWiseWorld();
  connectWise.habits.keepsSeconds = false;
  await world.write(501, time('Called'));
  await world.pass(MINUTE_MS);
  expect([timesOf(world), (await connectionRow(world))?.['failure']]).toEqual([['Called'], null]);
});

test('time that ConnectWise rounds waits, although its start and end are exact', async () => {
  const { world, connectWise } = await makeConnectWiseWorld();
  connectWise.habits.roundsTo = 15;
  await world.write(501, time('Called'));
  await world.pass(MINUTE_MS);
  expect(world.data.entries).toEqual([]);
  expect((await connectionRow(world))?.['failure']).toContain(
    'actual minutes is 15, not 1. Turn off the rounding of time.',
  );
});

/** A world whose fake can be changed. */
async function makeConnectWiseWorld(make: typeof makeReadyWorld = makeReadyWorld) {
  let connectWise = fakeConnectWise(Date.now);
  const world = await make((clock) => {
    connectWise = fakeConnectWise(clock);
    return connectWise;
  });
  return { world, connectWise };
}

describe('a project ticket', () => {
  const PROJECT = 510;
  const written = (calls: Record<string, number>) =>
    Object.keys(calls).filter((call) => /^(POST|PATCH|DELETE) /.test(call));

  test('is in the directory, and gets notes and time in its own collection', async () => {
    const { world } = await makeConnectWiseWorld();
    const { id } = await world.write(PROJECT, { message: 'Planned' });
    await world.write(PROJECT, time('Built'));
    await world.pass(MINUTE_MS);
    resultOf(await work.redactRecord(world.organization, 'note', id, 'Ada'));
    await world.pass(MINUTE_MS);
    expect(notesOf(world)).toEqual([[PROJECT, '[redacted]', true]]);
    expect(world.data.entries).toMatchObject([{ ticket: PROJECT, text: 'Built', minutes: 15 }]);
    expect(world.data.violations).toEqual([]);
    expect(written(world.data.calls)).toEqual([
      // The connection test is on a service ticket.
      'POST /service/tickets/{parentId}/notes',
      'DELETE /service/tickets/{parentId}/notes/{id}',
      'POST /project/tickets/{parentId}/notes',
      // The test of time, too.
      'POST /time/entries',
      'DELETE /time/entries/{id}',
      'PATCH /project/tickets/{parentId}/notes/{id}',
    ]);
  });

  test('can have the connection test, whose note is removed', async () => {
    const { world } = await makeConnectWiseWorld(async (makeFake) => {
      const made = makeAdapterWorld(makeFake, { TEST_TICKET: String(PROJECT) });
      await made.pass(MINUTE_MS);
      return made;
    });
    expect(world.data.removed.map(world.fake.plain)).toEqual(['Connection test']);
    expect(await world.read((kv) => kv.get('tested'))).toBeTypeOf('string');
  });

  test('is found by a mapping that has not listed it, for every request', async () => {
    const { psa, data, fetch, plain } = fakeConnectWise(Date.now);
    const send = sender(psa, { now: Date.now, sleep: async () => undefined, fetch });
    const createdAt = new Date().toISOString();
    const common = { ticketId: String(PROJECT), createdAt, text: 'Planned' };
    const entry: PsaRecord = {
      ...{ ...common, kind: 'time_entry', id: '2', mark: '[twb:2]', userId: '2', minutes: 15, workDate: createdAt },
      ...{ billable: true, awaitsDecision: true },
    };
    expect(await psa.find(send, entry)).toEqual([]);
    const entryId = await psa.create(send, entry);
    expect(await psa.find(send, entry)).toMatchObject([{ psaId: entryId }]);
    const fresh = fakeConnectWise(Date.now).psa;
    const note: PsaRecord = { ...common, kind: 'note', id: '1', mark: '[twb:1]' };
    const noteId = (await fresh.create(send, note)) ?? '';
    const mappings = () => fakeConnectWise(Date.now).psa;
    expect(await mappings().find(send, note)).toMatchObject([{ psaId: noteId }]);
    expect(await mappings().read(send, note, noteId)).toMatchObject({ isPrivate: true });
    await mappings().redact(send, { ...note, text: 'Hidden' }, noteId);
    expect(data.notes.map(({ text }) => plain(text))).toEqual(['Hidden']);
    await mappings().remove(send, note, noteId);
    expect([data.notes, data.violations]).toEqual([[], []]);
  });

  test('whose notes as a service ticket are an empty list gets its note once, whatever happened to the create', async () => {
    const { world, connectWise } = await makeConnectWiseWorld();
    connectWise.habits.lists404 = false;
    world.onRequest = (request) => (isWrite(request) && request.url.includes('/project/') ? 'killed' : undefined);
    await world.write(PROJECT, { message: 'Once' });
    await world.pass(10_000);
    world.onRequest = () => undefined;
    // A new mapping has listed no ticket.
    for (const ticket of world.data.tickets) ticket.updatedAt = 0;
    world.deploy(fakeConnectWise(world.clock).psa);
    await world.skip(5 * MINUTE_MS);
    expect(notesOf(world)).toEqual([[PROJECT, 'Once', true]]);
    expect(await world.waiting()).toBe(0);
  });

  test('that was a service ticket a moment ago gets its records once', async () => {
    const { world, connectWise } = await makeConnectWiseWorld();
    // No list of changes has it.
    Object.assign(world.data.tickets[0] ?? {}, { updatedAt: 0 });
    connectWise.projects.add(501);
    let writes = 0;
    world.onRequest = (request) =>
      isWrite(request) && request.url.includes('/project/') && writes++ === 0 ? 'unanswered' : undefined;
    await world.write(501, { message: 'Once' });
    await world.write(502, time('Called'));
    await world.pass(5 * MINUTE_MS);
    expect(notesOf(world)).toEqual([[501, 'Once', true]]);
    expect(timesOf(world)).toEqual(['Called']);
    expect(await reportsOf(world)).toEqual([]);
  });

  test('that is in neither collection is reported with the request that was tried first', async () => {
    const { world } = await makeConnectWiseWorld();
    world.data.dropTicket(PROJECT);
    await world.write(PROJECT, { message: 'Lost' });
    await world.pass(5 * MINUTE_MS);
    expect(await reportsOf(world)).toEqual([
      expect.stringContaining(`POST /project/tickets/${PROJECT}/notes got 404 NotFound`),
    ]);
    // It is a 404 of the API, so the codebase is right.
    expect(world.data.calls['GET /login/companyinfo/{company}']).toBe(1);
  });

  test('with the id of a service ticket is refused by the doctor', async () => {
    const fake = fakeConnectWise(Date.now);
    const { fetch } = fake;
    const both = async (request: Request) => {
      const conditions = new URL(request.url).searchParams.get('conditions');
      return conditions === 'id in (505,510)' ? Response.json([{ id: 505 }]) : fetch(request);
    };
    await expect(checksOf({ ...fake, fetch: both })).rejects.toThrow(
      'Ticket 505 is a service ticket and a project ticket: notes could mix them up.',
    );
  });
});

describe('the codebase', () => {
  const asked = ({ calls }: FakeData) => calls['GET /login/companyinfo/{company}'];

  test('is asked for once, and again when another version has changed it, and each record arrives once', async () => {
    const { world, connectWise } = await makeConnectWiseWorld();
    await world.write(501, { message: 'Before' });
    await world.pass(MINUTE_MS);
    expect(asked(world.data)).toBe(1);
    connectWise.settings.codebase = 'v2023_1/';
    await world.write(501, { message: 'After' });
    await world.write(502, time('Called'));
    await world.pass(MINUTE_MS);
    expect(notesOf(world).map(([, text]) => text)).toEqual(['Before', 'After']);
    expect(timesOf(world)).toEqual(['Called']);
    expect([asked(world.data), await reportsOf(world), world.data.violations]).toEqual([2, [], []]);
  });

  test('that cannot be read keeps records waiting, and refuses none', async () => {
    const { world, connectWise } = await makeConnectWiseWorld();
    connectWise.settings.codebase = 'v2023_1/';
    world.onRequest = ({ url }) => (url.includes('/companyinfo/') ? 'refused' : undefined);
    await world.write(501, { message: 'Waits' });
    await world.pass(5 * MINUTE_MS);
    expect((await connectionRow(world))?.['failure']).toBe('GET /login/companyinfo/northwind got 503');
    world.onRequest = () => undefined;
    await world.skip(15 * MINUTE_MS);
    expect(notesOf(world)).toEqual([[501, 'Waits', true]]);
    expect(await reportsOf(world)).toEqual([]);
  });

  test('of a site that does not tell it is the usual one', async () => {
    const fake = fakeConnectWise(Date.now);
    fake.settings.codebase = null;
    expect((await checksOf(fake))[0]).toBe('the keys work with codebase v4_6_release, and list 3 members');
  });

  test('of an unknown company is an error that names the variables', async () => {
    const fake = fakeConnectWise(Date.now);
    const psa = definition.psa({ ...fake.env, CW_COMPANY: 'a b' }, { TIME_ZONE: 'UTC' });
    await expect(checksOf({ ...fake, psa })).rejects.toThrow(
      'GET /login/companyinfo/a%20b knows no such company: check CW_COMPANY and CW_URL',
    );
  });
});

test('the doctor counts the time sheets of the member of automations that are not submitted', async () => {
  const fake = fakeConnectWise(Date.now);
  for (const [index, [member, status]] of [
    [9, 'Open'],
    [9, 'Rejected'],
    [9, 'PendingApproval'],
    [9, 'ApprovedByTierTwo'],
    [2, 'Open'],
  ].entries())
    fake.sheets.push({ id: index + 1, member: Number(member), status: String(status) });
  expect((await checksOf(fake)).at(-1)).toBe('time sheets of Automation that are not submitted: 2');
  expect(fake.data.violations).toEqual([]);
});

test('an API member is no technician, and cannot be the member of automations', async () => {
  const fake = fakeConnectWise(Date.now);
  fake.settings.apiMembers.push(2);
  const send = sender(fake.psa, { now: Date.now, sleep: async () => undefined, fetch: fake.fetch });
  const users = (await fake.psa.people(send)).filter(({ type }) => type === 'user');
  expect(users.map(({ id }) => id)).toEqual(['1', '9']);
  fake.settings.apiMembers.push(9);
  await expect(checksOf(fake)).rejects.toThrow(
    'Automation is an API member, which cannot submit time sheets. CW_AUTOMATION_MEMBER has to name a full member.',
  );
});

test('the checks of the doctor write nothing, and name a member that cannot have time', async () => {
  const fake = fakeConnectWise(Date.now);
  expect(await checksOf(fake)).toHaveLength(9);
  expect(Object.keys(fake.data.calls).filter((call) => !call.startsWith('GET '))).toEqual([]);
  for (const user of fake.data.users) user.email = '';
  await expect(checksOf(fake)).rejects.toThrow('There is no active member Automation with an email address.');
});
