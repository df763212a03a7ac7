import { describe, expect, test } from 'vitest';
import { sender } from '../../src/adapters/kit/send.ts';
import { derivedId } from '../../src/domain/record-id.ts';
import { handTimeToSettings } from '../../src/services/work/hand-to-settings.ts';
import { inLongRuns } from '../support/property.ts';
import { allChanges, connectionOf, resultOf, work } from '../support/psa-calls.ts';
import { asOperator, rowsOf } from '../support/world.ts';
import type { Fake, FakeEntry, FakeNote, MakeFake } from './fake.ts';
import {
  ADA,
  type AdapterWorld,
  approve,
  connectionRow,
  DAY_MS,
  decide,
  enter,
  FAULTS,
  HOUR_MS,
  isWrite,
  MINUTE_MS,
  makeAdapterWorld,
  makeReadyWorld,
  notesOf,
  proveTime,
  refuseAda,
  reportsOf,
  resume,
  SECOND_MS,
  statusOf,
  TESS,
  time,
  timesOf,
  withoutReviews,
} from './world.ts';

// What every mapping has to do, through the kit, the entry point `Connection` and a fake of its PSA. kit.test.ts has what
// does not depend on the mapping.

/** Of the largest pages, three. */
const TICKETS = inLongRuns(5_000, 2_500);

/** What `adapter:doctor` prints about a fake. */
export async function checksOf({ psa, fetch }: Fake): Promise<string[]> {
  const lines: string[] = [];
  const send = sender(psa, { now: Date.now, sleep: async () => undefined, fetch });
  for await (const line of psa.checks(send)) lines.push(line);
  return lines;
}

/** The tests of a mapping. Each mapping has them in a file of its own, so that they run at the same time. */
export function testMapping(makeFake: MakeFake): void {
  describe('the directory', () => {
    test('contains the people, companies and tickets, and an administrator only if the binding says so', async () => {
      const { organization } = await makeReadyWorld(makeFake);
      const connection = connectionOf(organization);
      const users = resultOf(await connection.list('user', null)).records;
      expect(
        users
          .filter(({ active }) => active)
          .map(({ id, admin, technician, service }) => [id, admin, technician, service]),
      ).toMatchObject([['1', true, expect.any(Boolean), false], ['2', false, true, false], expect.anything()]);
      expect(resultOf(await connection.list('company', null)).records).toHaveLength(2);
      expect(resultOf(await connection.list('ticket', null)).records).toHaveLength(10);
    });

    test('a request for a ticket that was created a moment ago gets 201, and a ticket that moves belongs to its new company', async () => {
      const world = await makeReadyWorld(makeFake);
      world.onApiSleep = world.pass;
      // The adapter may have asked for changed tickets at any time before.
      for (let second = 0; second < 7; second++) {
        await world.pass(second * SECOND_MS);
        world.data.addTicket(600 + second);
        expect(await world.write(600 + second, { message: 'New' })).toMatchObject({ status: 201, retryAfter: null });
      }
      world.data.tickets[0] = { id: 501, company: 12, closedAt: null, updatedAt: world.data.now() };
      await world.pass(20 * SECOND_MS);
      const tickets = resultOf(await connectionOf(world.organization).list('ticket', null)).records;
      expect(tickets.find(({ id }) => id === '501')?.['company']).toBe('12');
    });

    test('a person without an address is left out, and of two with the same address one', async () => {
      const world = makeAdapterWorld(makeFake);
      world.data.users.push({ id: 20, email: '', name: 'No Address' }, { id: 21, email: TESS, name: 'Same Address' });
      await world.pass(MINUTE_MS);
      const users = resultOf(await connectionOf(world.organization).list('user', null)).records;
      expect(users.filter(({ email }) => email === TESS)).toHaveLength(1);
      expect(users.map(({ id }) => id)).not.toContain('20');
    });

    test('what the PSA no longer has becomes inactive: people soon, tickets within a day', async () => {
      const world = await makeReadyWorld(makeFake);
      world.data.users.splice(1, 1);
      world.data.dropTicket(505);
      Object.assign(world.data.tickets[1] ?? {}, { closedAt: world.data.now(), updatedAt: world.data.now() });
      await world.skip(20 * MINUTE_MS);
      expect((await world.write(503, time('Called'))).code).toBe('technician_not_eligible');
      await world.skip(DAY_MS);
      expect(await statusOf(world, 505)).toBe('ticket_not_found');
      expect(await statusOf(world, 502)).toBe('written');
      await world.skip(31 * DAY_MS);
      expect(await statusOf(world, 502)).toBe('ticket_not_found');
    });

    test(`contains all of ${TICKETS} tickets, although the list changes while it is read`, {
      timeout: 180_000,
    }, async () => {
      const world = makeAdapterWorld(makeFake);
      world.data.tickets = [];
      for (let id = 1; id <= TICKETS; id++) world.data.addTicket(id, { updatedAt: 0 });
      let pages = 0;
      world.onRequest = ({ method, url }) => {
        // A ticket of a page that was read is deleted: all later ones move up.
        if (method === 'GET' && /issues\.json|(api|service)\/tickets\?/i.test(url) && ++pages === 3)
          world.data.dropTicket(7);
        return undefined;
      };
      world.settings.TEST_TICKET = '1';
      await world.pass(2 * MINUTE_MS);
      await world.makeKey();
      const rows = await rowsOf('tickets', world.organization);
      expect(rows.filter(({ id }) => id !== '7')).toHaveLength(TICKETS - 1);
    });
  });

  describe('records', () => {
    test('a note is private, and a time entry has the exact person, date and minutes', async () => {
      const world = await makeReadyWorld(
        makeFake,
        { TIME_ZONE: 'Pacific/Kiritimati' },
        Date.parse('2027-03-01T09:58:00Z'),
      );
      expect(world.data.removed.map(world.fake.plain)).toEqual(['Connection test']);
      await world.write(501, { message: 'Disk cleaned up' });
      for (const minutes of [1, 7, 1440]) await world.write(502, time(`Called ${minutes}`, minutes));
      await world.pass(2 * MINUTE_MS);
      await world.write(503, { minutes: 5, description: 'By itself', billable: false });
      await world.pass(2 * MINUTE_MS);
      expect(notesOf(world)).toEqual([[501, 'Disk cleaned up', true]]);
      expect(world.data.entries).toMatchObject([
        ...[1, 7, 1440].map((minutes) => ({ ticket: 502, user: 2, minutes, billable: true, date: '2027-03-01' })),
        // Two minutes later, it is the next day there.
        { ticket: 503, user: 9, minutes: 5, billable: false, date: '2027-03-02' },
      ]);
      expect(world.data.violations).toEqual([]);
    });

    test('the minutes and the day are exact when daylight saving changes', async () => {
      const world = await makeReadyWorld(makeFake, { TIME_ZONE: 'Europe/Berlin' }, Date.parse('2027-03-28T00:30:00Z'));
      await world.write(501, time('Across the change', 240));
      await world.skip(HOUR_MS);
      await world.write(501, time('After it', 90));
      await world.pass(MINUTE_MS);
      expect(world.data.entries.map(({ date, minutes }) => [date, minutes])).toEqual([
        ['2027-03-28', 240],
        ['2027-03-28', 90],
      ]);
    });

    test('a text arrives exactly, whatever it contains', async () => {
      const world = await makeReadyWorld(makeFake);
      const texts = [
        'a\r\nb\n',
        'Grüße 🖨️ \u202eשלום',
        '*bold* <b>&amp;</b> #2',
        'A mark: [twb:01a3b2c4-5d6e-8f80-9a1b-2c3d4e5f6072]',
        'x'.repeat(32_000),
      ];
      for (const message of texts) await world.write(501, { message });
      await world.pass(MINUTE_MS);
      expect(world.data.notes.map(({ text }) => world.fake.plain(text))).toEqual(texts);
    });

    const textsOf = ({ data, fake }: AdapterWorld) => data.entries.map(({ text }) => fake.plain(text));

    test('a text that is too long for a time entry is cut, the whole of it is a private note, and both are redacted', async () => {
      const world = await makeReadyWorld(makeFake);
      const text = `${'Step by step 🖨️. '.repeat(400)}end`;
      const { id } = await world.write(501, time(text));
      await world.pass(MINUTE_MS);
      if (world.fake.psa.maxTimeText < text.length) {
        expect(textsOf(world)[0]).toMatch(/^Step by step .*…$/);
        expect(textsOf(world)[0]?.isWellFormed()).toBe(true);
        expect(notesOf(world)).toEqual([[501, text, true]]);
      } else expect(textsOf(world)).toEqual([text]);
      resultOf(await work.redactRecord(world.organization, 'time_entry', id, 'Ada'));
      await world.pass(MINUTE_MS);
      expect(textsOf(world)).toEqual(['[redacted]']);
      expect(notesOf(world).map(([, plain]) => plain)).toEqual(world.data.notes.map(() => '[redacted]'));
    });

    test('a redacted note is replaced, and a note that is redacted before it is written never arrives with its text', async () => {
      const world = await makeReadyWorld(makeFake);
      const { id: written } = await world.write(501, { message: 'The code is 4711' });
      await world.pass(MINUTE_MS);
      world.onRequest = (request) => (isWrite(request) ? 'refused' : undefined);
      const { id: pending } = await world.write(502, { message: 'The code is 4712' });
      await world.pass(MINUTE_MS);
      world.onRequest = () => undefined;
      for (const id of [written, pending]) resultOf(await work.redactRecord(world.organization, 'note', id, 'Ada'));
      await world.skip(30 * MINUTE_MS);
      expect(notesOf(world)).toEqual([
        [501, '[redacted]', true],
        [502, '[redacted]', true],
      ]);
    });
  });

  describe('privacy', () => {
    test('if customers can see the connection test, it is removed, no record is written, and the administrator is told', async () => {
      const world = makeAdapterWorld(makeFake);
      world.data.showsNotes = true;
      await world.pass(MINUTE_MS);
      await world.makeKey();
      await world.write(502, { message: 'Secret' });
      await world.skip(DAY_MS);
      expect([world.data.notes, world.data.removed.length]).toEqual([[], 1]);
      expect(await connectionRow(world)).toMatchObject({
        failure: expect.stringMatching(/^Customers could see note [\d/]+ on ticket 501\. It is removed/),
        stopped_at: expect.any(Number),
      });
      world.data.showsNotes = false;
      resume(world, 'the board is repaired');
      await world.pass(5 * MINUTE_MS);
      expect(notesOf(world)).toEqual([[502, 'Secret', true]]);
      expect(await connectionRow(world)).toMatchObject({ failure: null, stopped_at: null });
    });

    if (makeFake(Date.now).createsWithId)
      test('a note that a person deletes before it is read back is not written again', async () => {
        const world = await makeReadyWorld(makeFake);
        let deleted = 0;
        world.onRequest = (request) => {
          if (!isWrite(request)) deleted += world.data.notes.splice(0).length;
          return undefined;
        };
        await world.write(502, { message: 'Deleted' });
        await world.pass(5 * MINUTE_MS);
        expect([deleted, world.data.notes, await reportsOf(world)]).toEqual([1, [], []]);
        expect(await world.waiting()).toBe(0);
      });
  });

  describe('the test of time', () => {
    const isTest = (world: AdapterWorld) => (entry: FakeEntry) => world.fake.plain(entry.text) === 'Time test';

    /** Collects what each new time entry is when it is created. */
    function watchTime(world: AdapterWorld) {
      const created: [number, string, number, number, boolean][] = [];
      world.data.onTime = ({ ticket, text, user, minutes, billable }) =>
        created.push([ticket, world.fake.plain(text), user, minutes, billable]);
      return created;
    }

    test('writes a minute that is not billable and a billable one before the first time, and leaves neither; notes alone cause none', async () => {
      const world = await makeReadyWorld(makeFake);
      const created = watchTime(world);
      await world.write(502, { message: 'Only a note' });
      await world.skip(DAY_MS);
      expect([notesOf(world).length, created]).toEqual([1, []]);
      await world.write(502, time('First'));
      await world.write(502, time('Second'));
      await world.pass(MINUTE_MS);
      const tests = [false, true].map((billable) => [501, 'Time test', 2, 1, billable]);
      expect(created).toEqual([...tests, [502, 'First', 2, 15, true], [502, 'Second', 2, 15, true]]);
      expect([timesOf(world), world.data.removedTime.map(world.fake.plain), world.data.violations]).toEqual([
        ['First', 'Second'],
        ['Time test', 'Time test'],
        [],
      ]);
      // Crediting others can need more rights.
      await world.write(502, { minutes: 5, description: 'By itself', billable: true });
      await world.pass(MINUTE_MS);
      expect(created.slice(4).map(([, text, user]) => [text, user])).toEqual([
        ['Time test', 9],
        ['Time test', 9],
        ['By itself', 9],
      ]);
      world.deploy({ ...world.fake.psa, time: { ...world.fake.psa.time, settings: ['another work role'] } });
      await world.write(502, time('Third'));
      await world.pass(MINUTE_MS);
      expect(created.slice(7).map(([, text]) => text)).toEqual(['Time test', 'Time test', 'Third']);
    });

    test('comes before time that was approved in the settings area, if the PSA has no approval', async () => {
      const world = await makeReadyWorld(withoutReviews(makeFake));
      const created = watchTime(world);
      const { id } = await world.write(502, time('Called'));
      await world.pass(MINUTE_MS);
      expect(created).toEqual([]);
      await decide(world, 'APPROVED', [id]);
      await world.pass(MINUTE_MS);
      expect(created.map(([, text]) => text)).toEqual(['Time test', 'Time test', 'Called']);
      expect(timesOf(world)).toEqual(['Called']);
    });

    test.each<[string, RegExp, Partial<FakeEntry>]>([
      ['the technician', /technician is 1, not 2\. \w/, { user: 1 }],
      ['the minutes', /minutes is 15, not 1\. \w/, { minutes: 15 }],
      ['billable time', /Of billable time, (billing|charge type|billable) is \w+, not \w+\. \w/, { billable: false }],
      ['other time', /not billable, (billing|charge type|billable) is \w+, not \w+\. \w/, { billable: true }],
      [
        'the status',
        /(status|reviewed|review) is \w+, not \w[^.]*\. \w/,
        { decision: { status: 'APPROVED', reviewer: '1' } },
      ],
    ])(
      'keeps time back while the PSA changes %s, names the field and the repair, and notes arrive',
      async (_, reason, changes) => {
        const world = await makeReadyWorld(makeFake);
        world.data.onTime = (entry) => Object.assign(entry, changes);
        await world.write(502, time('Called'));
        await world.write(502, { message: 'Does not wait' });
        await world.pass(MINUTE_MS);
        expect(notesOf(world)).toEqual([[502, 'Does not wait', true]]);
        expect((await connectionRow(world))?.['failure']).toMatch(
          /^Time entries wait for their test on ticket 501 for technician 2: /,
        );
        expect(await connectionRow(world)).toMatchObject({ failure: expect.stringMatching(reason), stopped_at: null });
        for (let hour = 0; hour < 3; hour++) await world.skip(HOUR_MS);
        await world.write(503, { message: 'Nor do others' });
        await world.skip(DAY_MS);
        expect([notesOf(world).length, world.data.entries, await reportsOf(world)]).toEqual([2, [], []]);
        expect((await connectionRow(world))?.['failure']).toMatch(reason);
        world.data.onTime = () => undefined;
        await world.skip(11 * MINUTE_MS);
        await world.pass(MINUTE_MS);
        expect(timesOf(world)).toEqual(['Called']);
        expect(await connectionRow(world)).toMatchObject({ failure: null, stopped_at: null });
      },
    );

    test.each(['create', 'remove'] as const)(
      'names the right to %s time if it is missing, and leaves one entry at most',
      async (step) => {
        const world = await makeReadyWorld(makeFake);
        const isStep = ({ method, url }: Request) =>
          step === 'create' ? method === 'POST' && /time.entries|Actions/.test(url) : method === 'DELETE';
        world.onRequest = (request) => (isStep(request) ? new Response('{}', { status: 403 }) : undefined);
        await world.write(502, time('Called'));
        for (let wait = 0; wait < 4; wait++) await world.skip(10 * MINUTE_MS);
        expect((await connectionRow(world))?.['failure']).toContain(world.fake.psa.time.rights[step]);
        expect(world.data.entries.map(({ text }) => world.fake.plain(text))).toEqual(
          step === 'create' ? [] : ['Time test'],
        );
        world.onRequest = () => undefined;
        await world.skip(11 * MINUTE_MS);
        await world.pass(MINUTE_MS);
        expect(timesOf(world)).toEqual(['Called']);
        expect(await connectionRow(world)).toMatchObject({ failure: null });
      },
    );

    test('a technician whose test is refused is named, and holds up no time of others', async () => {
      const world = await makeReadyWorld(makeFake);
      world.onRequest = refuseAda;
      for (const ticket of [502, 503, 504]) await world.write(ticket, time(`Ada ${ticket}`, 15, ADA));
      await world.pass(MINUTE_MS);
      const failure = String((await connectionRow(world))?.['failure']);
      expect(failure).toMatch(/^Time entries wait for their test on ticket 501 for technician 1: POST \S+ got 400/);
      expect(failure).toContain(world.fake.psa.time.rights.create);
      await world.write(505, { minutes: 5, description: 'Automation', billable: true });
      await world.pass(MINUTE_MS);
      expect(timesOf(world)).toEqual(['Automation']);
      expect((await connectionRow(world))?.['failure']).toBe(failure);
      await world.write(506, time('Tess'));
      await world.pass(MINUTE_MS);
      expect(timesOf(world)).toEqual(['Automation', 'Tess']);
      // Her time is tried then.
      await world.skip(11 * MINUTE_MS);
      expect(await reportsOf(world)).toEqual(Array(3).fill(expect.stringContaining('time_entry.refused')));
      expect(await connectionRow(world)).toMatchObject({ failure: null });
    });

    test('survives every fault and kill, and there is never a second entry of it', async () => {
      const world = await makeReadyWorld(makeFake);
      let most = 0;
      world.data.onTime = () => {
        most = Math.max(most, world.data.entries.filter(isTest(world)).length);
      };
      // Each write fails in every way, one after the other, and then each read.
      let [count, writes] = [0, 0];
      world.onRequest = (request) => {
        if (isWrite(request)) writes += 1;
        const isHit = count < 2 * FAULTS.length ? isWrite(request) : count < 3 * FAULTS.length;
        return isHit ? FAULTS[count++ % FAULTS.length] : undefined;
      };
      await world.write(502, time('Called'));
      for (let wait = 0; wait < 60 && timesOf(world).join() !== 'Called'; wait++) await world.skip(11 * MINUTE_MS);
      expect([timesOf(world), most, count]).toEqual([['Called'], 1, 3 * FAULTS.length]);
      expect(world.data.removedTime.every((text) => world.fake.plain(text) === 'Time test')).toBe(true);
      expect(writes).toBeGreaterThan(2 * FAULTS.length);
    });
  });

  describe('look-ups', () => {
    test.each(['at the start', 'after an unclear create'])(
      'marks that others wrote are not taken for ours, and nothing of others is removed, %s',
      async (when) => {
        const world = await makeReadyWorld(makeFake);
        await proveTime(world);
        if (when !== 'at the start') await world.skip(10 * MINUTE_MS);
        const createdAt = new Date(world.clock()).toISOString();
        const id = (kind: 'note' | 'time_entry') => derivedId(world.organization, kind, 'triage:evt-1');
        const recordOf = async (kind: 'note' | 'time_entry', text: string) => ({
          ...{ id: await id(kind), ticketId: '501', createdAt, text, mark: `[twb:${await id(kind)}]` },
        });
        const send = sender(world.fake.psa, {
          now: world.clock,
          sleep: async () => undefined,
          fetch: world.fake.fetch,
        });
        const plantNote = async (text: string, changes: Partial<FakeNote>, of: 'note' | 'time_entry' = 'note') => {
          await world.fake.psa.create(send, { kind: 'note', ...(await recordOf(of, text)) });
          Object.assign(world.data.notes.at(-1) ?? {}, changes);
        };
        await plantNote('of a customer', { isPrivate: false, author: 99 });
        await plantNote('of a customer', { isPrivate: false, author: 99 }, 'time_entry');
        await plantNote('of a technician', { author: 2 });
        if (when === 'at the start') await plantNote('that was published', { isPrivate: false });
        let writes = 0;
        world.onRequest = (request) =>
          isWrite(request) && when !== 'at the start' && writes++ % 2 === 0 ? 'lost' : undefined;
        const planted = [world.data.notes.length, world.data.entries.length];
        await world.write(501, { message: 'Ours' }, 'triage:evt-1');
        await world.write(501, time('Ours'), 'triage:evt-1');
        for (let wait = 0; wait < 3; wait++) await world.skip(5 * MINUTE_MS);
        const isOurs = ({ text }: { text: string }) => world.fake.plain(text) === 'Ours';
        expect([world.data.notes.filter(isOurs).length, world.data.entries.filter(isOurs).length]).toEqual([1, 1]);
        expect([world.data.notes.length - 1, world.data.entries.length - 1]).toEqual(planted);
        expect(world.data.removed.map(world.fake.plain)).toEqual(['Connection test']);
        expect(await connectionRow(world)).toMatchObject({ failure: null, stopped_at: null });
        expect(await world.waiting()).toBe(0);
      },
    );

    test.each(['by an adapter without its storage', 'after an unclear create'])(
      'time that a person has corrected in the PSA is not written again %s, and is reported for a person to decide',
      async (when) => {
        const world = await makeReadyWorld(makeFake);
        await proveTime(world);
        if (when === 'after an unclear create')
          world.onRequest = (request) => (isWrite(request) ? 'unanswered' : undefined);
        const corrections: Partial<FakeEntry>[] = [{ minutes: 30 }, { user: 1 }];
        const corrected = ['minutes', 'technician'];
        const ids = [];
        for (const [index, name] of corrected.entries()) ids.push((await world.write(502 + index, time(name))).id);
        while (timesOf(world).length < corrected.length) await world.pass(5 * SECOND_MS);
        for (const entry of world.data.entries) Object.assign(entry, corrections[entry.ticket - 502]);
        world.onRequest = () => undefined;
        if (when !== 'after an unclear create') {
          world.objectName = 'two';
          await world.pass(MINUTE_MS);
          resume(world, 'take over');
        }
        for (let wait = 0; wait < 3; wait++) await world.skip(10 * MINUTE_MS);
        await world.write(505, time('Follows'));
        await world.pass(MINUTE_MS);
        expect(timesOf(world)).toEqual([...corrected, 'Follows'].sort());
        expect((await reportsOf(world)).sort()).toEqual([
          expect.stringMatching(
            /^time_entry.refused Time entry \S+ has its mark, but its minutes is 30, not 15\. The PSA may have it: /,
          ),
          expect.stringMatching(
            /^time_entry.refused Time entry \S+ has its mark, but its technician is 1, not 2\. The PSA may have it: /,
          ),
        ]);
        expect(await connectionRow(world)).toMatchObject({ failure: null, stopped_at: null });
        expect(await enter(world, ids[0] ?? '')).toBe(true);
        resume(world, 'again');
        await world.pass(5 * MINUTE_MS);
        expect(timesOf(world)).toHaveLength(corrected.length + 1);
      },
    );

    test('a note of ours is found again after the keys of the account were replaced', async () => {
      const world = await makeReadyWorld(makeFake);
      await world.skip(10 * MINUTE_MS);
      world.onRequest = (request) => (isWrite(request) ? 'unanswered' : undefined);
      await world.write(502, { message: 'Once' });
      await world.pass(10 * SECOND_MS);
      world.onRequest = () => undefined;
      world.data.account = 10;
      world.deploy({ ...world.fake.psa, account: 'another' });
      await world.skip(10 * MINUTE_MS);
      expect(notesOf(world)).toEqual([[502, 'Once', true]]);
      expect(world.data.removed).toHaveLength(2);
    });
  });

  describe('refusals', () => {
    test('a record on a deleted ticket is reported without a text of the PSA, and the others follow', async () => {
      const world = await makeReadyWorld(makeFake);
      for (const ticket of [503, 504, 505, 506, 507, 508]) {
        world.data.dropTicket(ticket);
        await world.write(ticket, { message: 'On a deleted ticket' });
      }
      await world.write(502, { message: 'After them' });
      await world.pass(MINUTE_MS);
      expect(notesOf(world)).toEqual([[502, 'After them', true]]);
      const reports = await reportsOf(world);
      expect(reports).toHaveLength(6);
      expect(reports[0]).toMatch(/^note\.refused \w+ \S+ got 404( [\w.]+)*$/);
      expect(world.fake.psa.codesIn({ message: 'Text of the PSA', errors: ['Geheim'] }).join('')).toBe('');
    });
  });

  describe('approvals', () => {
    test('time that the settings area decides reaches the PSA once when it is approved, and never otherwise, whatever is killed', async () => {
      const world = await makeReadyWorld(withoutReviews(makeFake));
      await proveTime(world);
      const kills = ['killed', 'killed_before', undefined] as const;
      let writes = 0;
      world.onRequest = (request) => (isWrite(request) ? kills[writes++ % kills.length] : undefined);
      const ids: string[] = [];
      for (let index = 0; index < 9; index++) ids.push((await world.write(501 + index, time(`Work ${index}`))).id);
      await world.pass(2 * MINUTE_MS);
      expect(world.data.entries).toEqual([]);
      await decide(world, 'APPROVED', ids.slice(0, 2));
      // One is being written when the next decisions are made.
      await world.pass(SECOND_MS);
      await decide(world, 'REJECTED', ids.slice(3, 6));
      await decide(world, 'APPROVED', ids.slice(2, 4));
      for (let wait = 0; wait < 5; wait++) await world.skip(5 * MINUTE_MS);
      expect(timesOf(world)).toEqual(['Work 0', 'Work 1', 'Work 2']);
      expect(await reportsOf(world)).toEqual([]);
      expect(writes).toBeGreaterThan(3);
    });

    test('a redaction before the approval keeps the text from the PSA', async () => {
      const world = await makeReadyWorld(withoutReviews(makeFake));
      const [first, second] = [await world.write(501, time('Secret 1')), await world.write(502, time('Secret 2'))];
      world.onRequest = () => 'refused';
      await world.pass(MINUTE_MS);
      for (const { id } of [first, second])
        resultOf(await work.redactRecord(world.organization, 'time_entry', id, 'Ada'));
      await decide(world, 'APPROVED', [first.id]);
      await decide(world, 'REJECTED', [second.id]);
      world.onRequest = () => undefined;
      await world.skip(30 * MINUTE_MS);
      expect(timesOf(world)).toEqual(['[redacted]']);
    });

    test('an entry that waits for the settings area stays there when the PSA begins to approve time', async () => {
      const world = await makeReadyWorld(withoutReviews(makeFake));
      const before = await world.write(501, time('Before'), 'before');
      await world.pass(MINUTE_MS);
      world.deploy(makeFake(world.clock).psa);
      await world.skip(20 * MINUTE_MS);
      const after = await world.write(502, time('After'), 'after');
      await world.pass(MINUTE_MS);
      expect(timesOf(world)).toEqual(['After']);
      expect((await decide(world, 'APPROVED', [before.id, after.id])).done).toEqual([before.id]);
      await world.skip(5 * MINUTE_MS);
      approve(world, '1');
      await world.skip(20 * MINUTE_MS);
      expect(timesOf(world)).toEqual(['After', 'Before']);
      for (const [ticket, text] of [
        [501, 'Before'],
        [502, 'After'],
      ] as const)
        expect((await world.write(ticket, time(text), text.toLowerCase())).entryStatus).toBe('APPROVED');
    });

    test('what waits for a PSA that leaves is decided in the settings area, and is in the PSA once', async () => {
      const world = await makeReadyWorld(makeFake);
      const { id } = await world.write(501, time('Before'));
      await world.pass(MINUTE_MS);
      world.deploy(withoutReviews(makeFake)(world.clock).psa);
      await world.skip(20 * MINUTE_MS);
      const after = await world.write(502, time('After'));
      expect(
        await handTimeToSettings(asOperator(), { organization: world.organization, by: 'Olga', adapterStays: true }),
      ).toBe(1);
      expect((await decide(world, 'APPROVED', [id, after.id])).done.toSorted()).toEqual([id, after.id].toSorted());
      await world.skip(5 * MINUTE_MS);
      expect(timesOf(world)).toEqual(['After', 'Before']);
      expect(await world.read((kv) => Array.from(kv.list({ prefix: 'entry/' })))).toEqual([]);
    });

    test('an approval is shown by the replay, also one that was made during an outage', async () => {
      const world = await makeReadyWorld(makeFake);
      await world.write(501, time('Called'), 'one');
      await world.pass(MINUTE_MS);
      world.onRequest = () => 'lost';
      await world.pass(2 * MINUTE_MS);
      approve(world, '1');
      await world.skip(20 * MINUTE_MS);
      expect((await world.write(501, time('Called'), 'one')).entryStatus).toBe('SUBMITTED');
      world.onRequest = () => undefined;
      await world.skip(30 * MINUTE_MS);
      expect((await world.write(501, time('Called'), 'one')).entryStatus).toBe('APPROVED');
    });

    test('a decision that the PSA made before the adapter knew the entry there comes back', async () => {
      const world = await makeReadyWorld(makeFake);
      await proveTime(world);
      await world.write(501, time('Called'), 'one');
      world.onRequest = (request) => {
        if (world.data.entries.length > 0) return 'lost';
        return isWrite(request) ? 'killed' : undefined;
      };
      await world.pass(MINUTE_MS);
      expect(timesOf(world)).toEqual(['Called']);
      approve(world, '1');
      await world.skip(20 * MINUTE_MS);
      expect(await world.read((kv) => Array.from(kv.list({ prefix: 'entry/' })))).toEqual([]);
      world.onRequest = () => undefined;
      await world.skip(30 * MINUTE_MS);
      await world.skip(10 * MINUTE_MS);
      expect(timesOf(world)).toEqual(['Called']);
      expect((await world.write(501, time('Called'), 'one')).entryStatus).toBe('APPROVED');
    });

    test('a decision of the PSA comes back once, whatever is killed, and an entry that waits is there once', async () => {
      const world = await makeReadyWorld(makeFake);
      await proveTime(world);
      const kills = ['killed', 'killed_before', undefined] as const;
      let [writes, reads] = [0, 0];
      const killSome = () => {
        [writes, reads] = [0, 0];
        world.onRequest = (request) => {
          if (isWrite(request)) return kills[writes++ % kills.length];
          return reads++ < 3 ? 'killed' : undefined;
        };
      };
      killSome();
      const decisions = world.fake.rejects ? (['APPROVED', 'REJECTED', undefined] as const) : (['APPROVED'] as const);
      for (const index of decisions.keys()) await world.write(501 + index, time(`Work ${index}`), `event:${index}`);
      for (let wait = 0; wait < 5; wait++) await world.skip(5 * MINUTE_MS);
      // The settings area decides nothing about them.
      const ids = (await rowsOf('time_entries', world.organization)).map(({ id }) => String(id));
      expect((await decide(world, 'REJECTED', ids)).done).toEqual([]);
      for (const entry of world.data.entries) {
        const status = decisions[entry.ticket - 501];
        if (status) Object.assign(entry, { decision: { status, reviewer: '2' }, updatedAt: world.data.now() });
      }
      killSome();
      for (let wait = 0; wait < 5; wait++) await world.skip(10 * MINUTE_MS);
      expect(timesOf(world)).toEqual(decisions.map((_, index) => `Work ${index}`));
      for (const [index, decision] of decisions.entries())
        expect((await world.write(501 + index, time(`Work ${index}`), `event:${index}`)).entryStatus).toBe(
          decision ?? 'SUBMITTED',
        );
      const decided = (await allChanges(world.organization)).filter(({ action }) => /approved|rejected/.test(action));
      expect(decided.map(({ actor }) => [actor.type, actor.name.text])).toEqual(
        decisions.flatMap((decision) => (decision ? [['system', world.fake.psa.name]] : [])),
      );
    });

    test.each([-1, 1])('a clock of the PSA that is %s day off hides no ticket, record or approval', async (days) => {
      const world = makeAdapterWorld(makeFake);
      world.data.skewMs = days * DAY_MS;
      for (const ticket of world.data.tickets) ticket.updatedAt += days * DAY_MS;
      await world.pass(MINUTE_MS);
      await world.makeKey();
      world.data.addTicket(600);
      await world.pass(MINUTE_MS);
      world.onRequest = (request) => (isWrite(request) ? 'unanswered' : undefined);
      await world.write(600, time('Called'), 'one');
      await world.pass(2 * MINUTE_MS);
      world.onRequest = () => undefined;
      await world.skip(10 * MINUTE_MS);
      expect(world.data.entries).toHaveLength(1);
      approve(world, '1');
      await world.skip(20 * MINUTE_MS);
      expect((await world.write(600, time('Called'), 'one')).entryStatus).toBe('APPROVED');
    });
  });
}
