import { expect, test } from 'vitest';
import { makeApi, makeKey, makeOrganization, TIME } from '../support/world.ts';

test.each([
  ['notes', { message: 'Done' }, { message: 'Done again' }, ['note']],
  ['time-entries', TIME, { ...TIME, minutes: 31 }, ['entry', 'agreementSource']],
])(
  'of %s only a replay has the replay fields, and only a mismatch has all of them',
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
