import { expect, test } from 'vitest';
import { DAY_MS } from '../../../src/domain/calendar.ts';
import { makeApi, makeKey, makeOrganization } from '../../support/world.ts';

test('every authenticated response of an expiring key contains Api-Key-Expires-At, and no 401 does', async () => {
  const organization = await makeOrganization();
  const api = makeApi();
  const expires = new Date(Date.now() + DAY_MS).toISOString();
  const key = await makeKey(organization, { expires, scopes: ['tickets:note:write'] });
  const header = async (response: Promise<Response>) => (await response).headers.get('Api-Key-Expires-At');
  expect(await header(api.send('/api/v1/ping', { key: key.value }))).toBe(expires);
  expect(await header(api.postNote(key.value))).toBe(expires);
  expect(await header(api.send('/api/v1/nowhere', { key: key.value }))).toBe(expires);
  // The key lacks this scope.
  expect(await header(api.postTime(key.value))).toBeNull();
  const endless = await makeKey(organization);
  expect(await header(api.send('/api/v1/ping', { key: endless.value }))).toBeNull();
});
