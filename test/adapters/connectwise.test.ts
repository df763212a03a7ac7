import { expect, test } from 'vitest';
import { checksOf, testMapping } from './conformance.ts';
import { fakeConnectWise } from './fake-connectwise.ts';
import { approve, MINUTE_MS, makeReadyWorld, time } from './world.ts';

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

test('the checks of the doctor write nothing, and name a member that cannot have time', async () => {
  const fake = fakeConnectWise(Date.now);
  expect(await checksOf(fake)).toHaveLength(7);
  expect(Object.keys(fake.data.calls).filter((call) => !call.startsWith('GET '))).toEqual([]);
  for (const user of fake.data.users) user.email = '';
  await expect(checksOf(fake)).rejects.toThrow('There is no active member Automation with an email address.');
});
