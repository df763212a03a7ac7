import { expect, test } from 'vitest';
import { retryAfter503 } from '../../src/http/problems.ts';
import { makeApi, makeKey, makeOrganization, TIME } from '../support/world.ts';

test.each([
  ['notes', { message: 'Done' }, { message: 'Done again' }, ['note']],
  ['time-entries', TIME, { ...TIME, minutes: 31 }, ['entry', 'agreementSource']],
])(
  'for %s only a replay contains the replay fields, and only a mismatch contains all of them',
  async (path, body, other, fields) => {
    const { value: key } = await makeKey(await makeOrganization());
    const api = makeApi();
    const answer = async (sent: unknown, headers = {}) => {
      const response = await api.post(`/api/v1/tickets/1001/${path}`, key, sent, headers);
      const parsed = await response.json<Record<string, unknown>>();
      const { idempotentReplay, idempotencyMismatch, ticketId } = parsed;
      return [response.status, Object.keys(parsed), idempotentReplay, idempotencyMismatch, ticketId];
    };
    const headers = { 'Idempotency-Key': 'triage:evt-1' };
    const all = [...fields, 'idempotentReplay', 'idempotencyMismatch', 'ticketId'];
    expect(await answer(body)).toEqual([201, fields, undefined, undefined, undefined]);
    expect(await answer(body, headers)).toEqual([201, fields, undefined, undefined, undefined]);
    expect(await answer(body, headers)).toEqual([200, [...fields, 'idempotentReplay'], true, undefined, undefined]);
    expect(await answer(other, headers)).toEqual([200, all, true, true, '1001']);
  },
);

test('the Retry-After of a 503 takes each whole number from 4 to 8, equally often', () => {
  const values = Array.from({ length: 100 }, (_, index) => retryAfter503(() => index / 100)['Retry-After']);
  const counts = Map.groupBy(values, (value) => value);
  expect(Array.from(counts, ([value, { length }]) => [value, length])).toEqual(
    [4, 5, 6, 7, 8].map((s) => [`${s}`, 20]),
  );
});
