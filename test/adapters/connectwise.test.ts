import { expect, test } from 'vitest';
import { checksOf, testMapping } from './conformance.ts';
import { fakeConnectWise } from './fake-connectwise.ts';

testMapping(fakeConnectWise);

test('the checks of the doctor write nothing, and name a member that cannot have time', async () => {
  const fake = fakeConnectWise(Date.now);
  expect(await checksOf(fake)).toHaveLength(6);
  expect(Object.keys(fake.data.calls).filter((call) => !call.startsWith('GET '))).toEqual([]);
  for (const user of fake.data.users) user.email = '';
  await expect(checksOf(fake)).rejects.toThrow('There is no active member Automation with an email address.');
});
