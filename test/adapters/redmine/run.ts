// npm run test:redmine: runs the adapter between a real Redmine, which it installs first, and a local service. What
// arrives in Redmine is checked through its own API.

import assert from 'node:assert/strict';
import { TESS } from './automation.ts';
import { install } from './instance.ts';
import { waitFor } from './wait-for.ts';
import { type Check, makeWorld, type World } from './world.ts';

/** The status of a user. */
const [ACTIVE, LOCKED] = [1, 3];
const RECORDS = 40;
const KILLS = 6;

const plain = (text: string, id: string) => `<pre>\n${text}\n</pre>\n[twb:${id}]`;
const comment = (text: string, id: string) => `${text} [twb:${id}]`;

async function checkAll({ people, automation, seed, ...world }: World, check: Check): Promise<void> {
  const { ask, change, remove, notesOf, note, timeEntries, timeEntry, fieldOf, setRole } = people;
  const { addNote, logTime, refusal } = automation;
  const becomes = (issue: string, code: string | undefined) =>
    waitFor(`${code} on issue ${issue}`, async () => ((await refusal(issue)) === code ? true : undefined));
  const failure = async () =>
    (await world.read<{ failure: string | null }>('select failure from connections'))[0]?.failure;

  await check(
    'the connection test is removed, and a note is private plain text that the customer does not see',
    async () => {
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
    },
  );

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
      assert.deepEqual([entry.spent_on, entry.comments], [workDate.slice(0, 10), comment(description, id)]);
      assert.equal(fieldOf(entry, 'billable'), minutes === 7 ? '0' : '1');
    }
    assert.equal((await ask<{ total_count: number }>('customer', '/time_entries.json'))?.total_count, 0);
    assert.doesNotMatch(JSON.stringify(await ask('customer', '/issues/2.json')), /spent/);
  });

  await check('without the right to make notes private, nothing is published; with it, all arrives', async () => {
    const id = await addNote('4', 'The password was reset');
    const { id: entry } = await logTime('4', 20, TESS);
    await waitFor('the report', async () =>
      /lacks set_notes_private in project 2/.test((await failure()) ?? '') ? true : undefined,
    );
    assert.deepEqual(await notesOf('4', 'admin'), []);
    // Anyone can write the mark of a note, and does not keep it away.
    const forged = `Thanks!\n[twb:${id}]`;
    await ask('customer', '/issues/4.json', 'PUT', { issue: { notes: forged } });
    await setRole('globex', 'service', 'write_back');
    await timeEntry(entry);
    const [, written] = await notesOf('4');
    assert.deepEqual([written?.notes, written?.private_notes], [plain('The password was reset', id), true]);
    assert.deepEqual(
      (await notesOf('4', 'customer')).map(({ notes }) => notes),
      [forged],
    );
  });

  await check(
    `${RECORDS} records are there once, after both Workers and Redmine were killed ${KILLS} times`,
    async () => {
      const ids: string[] = [];
      const writing = (async () => {
        for (let number = 0; number < RECORDS; number++)
          ids.push(
            number % 2 === 0
              ? await addNote('3', `Note ${number}`)
              : (await logTime('3', 15, TESS, `Work ${number}`)).id,
          );
      })();
      await writing;
      for (let kill = 0; kill < KILLS; kill++) {
        await new Promise((resolve) => setTimeout(resolve, 400 + 1_600 * Math.random()));
        await (kill % 2 === 0 ? world.restart() : world.restartRedmine());
      }
      const found = async () => {
        const texts = [
          ...(await notesOf('3')).map(({ notes }) => notes),
          ...(await timeEntries()).map(({ comments }) => comments),
        ];
        return texts.filter((text) => ids.some((id) => text.endsWith(`[twb:${id}]`)));
      };
      await waitFor('all records', async () => ((await found()).length >= RECORDS ? true : undefined));
      await new Promise((resolve) => setTimeout(resolve, 5_000));
      assert.deepEqual([(await found()).length, new Set(await found()).size], [RECORDS, RECORDS]);
      assert.deepEqual(await notesOf('3', 'customer'), []);
    },
  );

  await check(
    'a review in Redmine comes back, in the name of Redmine if the reviewer is no administrator',
    async () => {
      for (const [decision, reviewer] of [
        ['APPROVED', seed.users.admin],
        ['REJECTED', seed.users.technician],
      ] as const) {
        const logged = await logTime('2', 25, TESS);
        const { id } = await timeEntry(logged.id);
        const custom_fields = Object.entries({ review: decision, reviewer }).map(([name, value]) => ({
          id: seed.ids[name],
          value,
        }));
        await change(`/time_entries/${id}.json`, { time_entry: { custom_fields } });
        await waitFor(decision, async () => ((await logged.repeat()) === decision ? true : undefined));
      }
      const decided = "action in ('time_entry.approved', 'time_entry.rejected')";
      const actors = await world.read<{ actor_type: string }>(
        `select actor_type from audit_log where ${decided} order by seq`,
      );
      assert.deepEqual(
        actors.map(({ actor_type }) => actor_type),
        ['user', 'system'],
      );
    },
  );

  await check('what Redmine refuses is reported, and written when the adapter is resumed', async () => {
    const setStatus = (status: number) => change(`/users/${seed.users.technician}.json`, { user: { status } });
    await setStatus(LOCKED);
    const { id } = await logTime('1', 5, TESS, 'By a locked technician');
    await remove('/issues/5.json');
    await addNote('5', 'On an issue that was just deleted');
    await note('1', await addNote('1', 'After them'));
    const reasons = await world.read<{ reason: string }>('select reason from psa_refusals order by reason');
    assert.deepEqual(
      reasons.map(({ reason }) => reason),
      ['GET /issues/5.json got 404', 'POST /time_entries.json got 422'],
    );
    await setStatus(ACTIVE);
    await world.resume('the technician is back');
    await timeEntry(id);
    await becomes('5', 'ticket_not_found');
  });

  await check('a closed project and a technician without the role become inactive, and a rate applies', async () => {
    await change('/projects/globex/close.json', {});
    await becomes('123', 'ticket_not_found');
    await change('/projects/globex/reopen.json', {});
    await becomes('123', undefined);
    for (const project of ['acme', 'globex']) await setRole(project, 'technician', 'customer');
    await becomes('123', 'technician_not_eligible');
    for (const project of ['acme', 'globex']) await setRole(project, 'technician', 'technician');
    await becomes('123', undefined);
    assert.equal((await logTime('1', 5)).hourlyRate, 150);
  });

  await check(
    'without the field Review, time arrives when the settings area approves it, and never otherwise',
    async () => {
      await world.leaveTimeToSettings();
      const [approved, rejected, undecided] = [
        await logTime('1', 11, TESS),
        await logTime('1', 12, TESS),
        await logTime('1', 13, TESS),
      ];
      await world.decide('REJECTED', rejected.id);
      await world.decide('APPROVED', approved.id);
      await timeEntry(approved.id);
      await world.restart();
      await new Promise((resolve) => setTimeout(resolve, 10_000));
      const texts = (await timeEntries()).map(({ comments }) => comments);
      const found = [approved, rejected, undecided].map(({ id }) => texts.filter((one) => one.includes(id)).length);
      assert.deepEqual(found, [1, 0, 0]);
    },
  );
}

const missing = await install();
if (missing === undefined) {
  const world = await makeWorld();
  try {
    const start = performance.now();
    await checkAll(world, async (title, run) => {
      await run();
      console.log(`${((performance.now() - start) / 1000).toFixed(0).padStart(4)} s  ${title}`);
    });
  } finally {
    await world.close();
  }
} else console.log(`Skipped: ${missing}`);
