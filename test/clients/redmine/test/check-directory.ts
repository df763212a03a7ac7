import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { TESS } from './automation.ts';
import type { Check, World } from './world.ts';

/** The last of the issues, on the second page of their list. */
const LAST_ISSUE = '123';
/** The status of a user. */
const [ACTIVE, LOCKED] = [1, 3];

/** What changes in Redmine changes what automations may write. */
export async function checkDirectory(world: World, check: Check): Promise<void> {
  const { seed, people, automation, toService, send } = world;
  const { change, remove, note, timeEntry, setRole } = people;
  const { addNote, logTime, refusal } = automation;
  const setStatus = (status: number) => change(`/users/${seed.users.technician}.json`, { user: { status } });
  const setRate = (value: string) =>
    change('/projects/acme.json', { project: { custom_fields: [{ id: seed.rate, value }] } });

  await check('a locked technician is not eligible, and is again when unlocked', async () => {
    await timeEntry((await logTime('1', 5, TESS)).id);
    await setStatus(LOCKED);
    assert.equal(await send(), '');
    assert.equal(await refusal('1'), 'technician_not_eligible');
    await setStatus(ACTIVE);
    assert.equal(await send(), '');
    await timeEntry((await logTime('1', 5, TESS)).id);
  });

  await check('what Redmine refuses is kept, and the changes after it arrive', async () => {
    await setStatus(LOCKED);
    await logTime('1', 5, TESS);
    await remove('/issues/5.json');
    await addNote('5', 'On an issue that was just deleted');
    await note('1', await addNote('1', 'After them'));
    await setStatus(ACTIVE);
    assert.equal((await readdir(world.refused)).length, 2);
    assert.match(world.receiverErrors(), /time_entry\.created: POST \S+ got 422 .*User is invalid/);
    assert.match(world.receiverErrors(), /note\.created: GET \S+ got 404/);
  });

  await check('a deleted issue, a closed project and a technician without the role become inactive', async () => {
    assert.equal(await send(), '');
    assert.equal(await refusal('5'), 'ticket_not_found');
    assert.equal(await refusal(LAST_ISSUE), undefined);
    await change('/projects/globex/close.json', {});
    assert.equal(await send(), '');
    assert.equal(await refusal(LAST_ISSUE), 'ticket_not_found');
    await change('/projects/globex/reopen.json', {});
    for (const project of ['acme', 'globex']) await setRole(project, 'technician', 'customer');
    assert.equal(await send(), '');
    assert.equal(await refusal(LAST_ISSUE), 'technician_not_eligible');
    for (const project of ['acme', 'globex']) await setRole(project, 'technician', 'technician');
    assert.equal(await send(), '');
    assert.equal(await refusal(LAST_ISSUE), undefined);
  });

  await check('a rate applies from when it is sent, and one that is refused keeps nothing else away', async () => {
    assert.equal((await logTime('1', 5)).hourlyRate, 150);
    await setRate('-5');
    await change('/issues/1.json', { issue: { project_id: 2 } });
    assert.match(await send(), /agreement rate-1: .*hourlyRate/);
    assert.equal((await logTime('1', 5)).hourlyRate, 120);
    await setRate('');
    await change('/issues/1.json', { issue: { project_id: 1 } });
    assert.equal(await send(), '');
    assert.equal((await logTime('1', 5)).hourlyRate, 120);
    await setRate('99.5');
    assert.equal(await send(), '');
    assert.equal((await logTime('1', 5)).hourlyRate, 99.5);
  });

  await check('what a killed run has sent becomes inactive too', async () => {
    const issue = await people.addIssue();
    const run = world.spawnSend();
    await toService.interrupt(
      ({ body }) => body.includes('directory.upsert'),
      async () => {
        const closed = once(run, 'close');
        run.kill('SIGKILL');
        await closed;
      },
    );
    assert.equal(await refusal(issue), undefined);
    await remove(`/issues/${issue}.json`);
    assert.equal(await send(), '');
    assert.equal(await refusal(issue), 'ticket_not_found');
  });
}
