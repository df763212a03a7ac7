import assert from 'node:assert/strict';
import { TESS } from './automation.ts';
import type { TimeEntry } from './people.ts';
import type { Passed } from './relay.ts';
import { waitFor } from './wait-for.ts';
import type { Check, World } from './world.ts';

/** Redmine's longest comment on a time entry. */
const MAX_COMMENT = 1024;

const plain = (text: string, id: string) => `<pre>\n${text}\n</pre>\n[twb:${id}]`;
const isWrite = ({ method, status }: Passed) => method !== 'GET' && status < 300;
const isNote = (request: Passed) => isWrite(request) && request.path.startsWith('/issues/');
const isTimeEntry = (request: Passed) => isWrite(request) && request.path === '/time_entries.json';

/** What automations write arrives in Redmine, and reviews go back. */
export async function checkWork(world: World, check: Check): Promise<void> {
  const { toRedmine, toReceiver, seed, people, automation } = world;
  const { addNote, logTime } = automation;
  const { ask, change, notesOf, note, timeEntries, timeEntry, fieldOf, setRole } = people;

  /** Waits until pages with this text were confirmed `times` times, and the queue is written into Redmine. */
  const written = async (content: string, times: number) => {
    await waitFor('a confirmed page', async () => {
      const pages = toReceiver.passed.filter(({ body, status }) => status === 204 && body.includes(content));
      return pages.length >= times ? true : undefined;
    });
    await world.emptyQueue();
  };
  const receiverSays = (pattern: RegExp) =>
    waitFor(`${pattern}`, async () => (pattern.test(world.receiverErrors()) ? true : undefined));

  await check('a note is private plain text, and the customer does not see it', async () => {
    for (const text of ['Disk *full*, see #2 & <b>x</b>', 'Grüße 🖨️\r\n  {{toc}}\n', `${'long '.repeat(6_000)}end`]) {
      const id = await addNote('1', text);
      const { notes, private_notes, user } = await note('1', id);
      assert.deepEqual([notes, private_notes, user.id], [plain(text, id), true, Number(seed.users.service)]);
    }
    const id = await addNote('1', 'closes </pre> *it*');
    assert.equal((await note('1', id)).notes, plain('closes <\u200b/pre> *it*', id));
    assert.equal((await notesOf('1', 'technician')).length, 4);
    assert.deepEqual(await notesOf('1', 'customer'), []);
    for (const path of ['/search.json?q=Disk', '/issues.json?status_id=*&notes=~Disk'])
      assert.equal((await ask<{ total_count: number }>('customer', path))?.total_count, 0);
  });

  await check('a time entry has the exact person, date and minutes, and the customer does not see it', async () => {
    for (const [minutes, email] of [
      [1, TESS],
      [7, TESS],
      [59, TESS],
      [61, TESS],
      [1440, TESS],
      [30, undefined],
    ] as const) {
      const { id, workDate, description } = await logTime('2', minutes, email);
      const entry = await timeEntry(id);
      const person = email ? seed.users.technician : seed.users.service;
      assert.deepEqual([Math.round(entry.hours * 60), entry.user.id], [minutes, Number(person)]);
      assert.deepEqual([entry.spent_on, entry.comments], [workDate.slice(0, 10), description]);
      const fields = ['billable', 'rate', 'status'].map((name) => fieldOf(entry, name));
      assert.deepEqual(fields, [minutes === 7 ? '0' : '1', '150', 'SUBMITTED']);
    }
    assert.equal((await ask<{ total_count: number }>('customer', '/time_entries.json'))?.total_count, 0);
    assert.doesNotMatch(JSON.stringify(await ask('customer', '/issues/2.json')), /spent/);
  });

  await check('a private note has the whole of a description that is too long for a time entry', async () => {
    const { id, description } = await logTime('2', 90, TESS, `${'Step by step. '.repeat(100)}end`);
    assert.equal((await timeEntry(id)).comments, `${description.slice(0, MAX_COMMENT - 1)}…`);
    const { notes, private_notes } = await note('2', id);
    assert.deepEqual([notes, private_notes], [plain(description, id), true]);
  });

  await check('without the right to make notes private, nothing is published; with it, all arrives', async () => {
    const before = toRedmine.passed.length;
    const id = await addNote('4', 'The password was reset');
    const { id: entry } = await logTime('4', 20, TESS);
    await receiverSays(/automation lacks set_notes_private in project 2/);
    assert.deepEqual(toRedmine.passed.slice(before).filter(isWrite), []);
    for (const who of ['customer', 'admin'] as const) assert.deepEqual(await notesOf('4', who), []);
    // Anyone can write the mark of a note, and does not keep it away.
    const forged = `Thanks!\n[twb:${id}]`;
    await ask('customer', '/issues/4.json', 'PUT', { issue: { notes: forged } });
    await setRole('globex', 'service', 'write_back');
    assert.equal(fieldOf(await timeEntry(entry), 'rate'), '120');
    const [, written] = await notesOf('4');
    assert.deepEqual([written?.notes, written?.private_notes], [plain('The password was reset', id), true]);
    assert.deepEqual(
      (await notesOf('4', 'customer')).map(({ notes }) => notes),
      [forged],
    );
  });

  const kills = [
    ['Redmine', toRedmine, world.restartRedmine],
    ['the receiver', toRedmine, world.restartReceiver],
    ['the Worker', toReceiver, world.restartService],
  ] as const;
  for (const [name, relay, restart] of kills)
    await check(
      `${name} is killed right after a note and a time entry were stored, and they are there once`,
      async () => {
        // Only the Worker did not get the first confirmation, and delivers the page again.
        const deliveries = relay === toReceiver ? 2 : 1;
        const isStored = {
          note: relay === toReceiver ? isWrite : isNote,
          time: relay === toReceiver ? isWrite : isTimeEntry,
        };
        const noteStored = relay.interrupt(isStored.note, restart);
        const noteId = await addNote('3', `A note when ${name} is killed`);
        await noteStored;
        await written(noteId, deliveries);
        const timeStored = relay.interrupt(isStored.time, restart);
        const time = await logTime('3', 15, TESS);
        await timeStored;
        await written(time.id, deliveries);
        assert.equal((await notesOf('3')).filter(({ notes }) => notes.includes(noteId)).length, 1);
        const entries = (await timeEntries()).filter((entry) => fieldOf(entry, 'writeBackId') === time.id);
        assert.equal(entries.length, 1);
      },
    );

  await check('a redaction arrives, also after a right was missing, and the text is nowhere in Redmine', async () => {
    const noteId = await addNote('1', 'The alarm code is 4711');
    const { id: entry } = await logTime('2', 45, TESS, `${'Entered with 4711. '.repeat(100)}end`);
    await note('1', noteId);
    await timeEntry(entry);
    assert.equal(await world.call('work.redact', { kind: 'note', id: noteId, by: 'Ada, by phone' }), 200);
    await note('1', noteId, '[redacted]');
    // Without this right, the time entry is not found.
    await setRole('acme', 'service', 'blind');
    assert.equal(await world.call('work.redact', { kind: 'time_entry', id: entry, by: 'Ada, by phone' }), 200);
    await receiverSays(/automation lacks view_time_entries in project 1/);
    await setRole('acme', 'service', 'write_back');
    assert.equal((await note('1', noteId, '[redacted]')).notes, plain('[redacted]', noteId));
    await note('2', entry, '[redacted]');
    await timeEntry(entry, ({ comments }) => comments === '[redacted]');
    for (const issue of ['1', '2']) assert.doesNotMatch(JSON.stringify(await notesOf(issue, 'admin')), /4711/);
    assert.doesNotMatch(JSON.stringify(await timeEntries()), /4711/);
  });

  await check('a review in Redmine is reported back, unless the reviewer is not an administrator', async () => {
    const review = (entry: TimeEntry, decision: string, reviewer: string) => {
      const values = { review: decision, reviewer };
      const custom_fields = Object.entries(values).map(([name, value]) => ({ id: seed.ids[name], value }));
      return change(`/time_entries/${entry.id}.json`, { time_entry: { custom_fields } });
    };
    for (const decision of ['APPROVED', 'REJECTED']) {
      const logged = await logTime('2', 25, TESS);
      const entry = await timeEntry(logged.id);
      await review(entry, decision, seed.users.technician);
      assert.match(await world.send(), new RegExp(`time entry ${entry.id}: .*reviewer_not_eligible`));
      assert.equal(await logged.repeat(), 'SUBMITTED');
      await review(entry, decision, seed.users.admin);
      assert.equal(await world.send(), '');
      assert.equal(await logged.repeat(), decision);
      await timeEntry(logged.id, (found) => fieldOf(found, 'status') === decision);
      assert.equal(await world.send(), '');
    }
  });

  await check('delivered three times more, nothing is written or changed', async () => {
    const allNotes = async () => (await Promise.all(['1', '2', '3', '4'].map((issue) => notesOf(issue)))).flat();
    const before = [await allNotes(), await timeEntries()];
    const pages = toReceiver.passed.filter(({ status }) => status === 204).map(({ body }) => body);
    for (let time = 1; time <= 3; time++)
      for (const page of new Set(pages)) assert.equal(await world.redeliver(page), 204);
    await world.emptyQueue();
    assert.deepEqual([await allNotes(), await timeEntries()], before);
    const ours = (await allNotes()).filter(({ user }) => user.id === Number(seed.users.service));
    const ids = [
      ...ours.map(({ notes }) => notes.slice(notes.lastIndexOf('[twb:'))),
      ...(await timeEntries()).map((entry) => fieldOf(entry, 'writeBackId')),
    ];
    assert.equal(new Set(ids).size, ids.length);
  });
}
