import { expect, test } from 'vitest';
import { WriteBackClient } from '../../../src/connectors/client-typescript/src/index.ts';
import { WITH_EVENT_ID, WITHOUT_EVENT_ID } from '../../support/idempotency-keys.ts';
import { makeWorld, NOTE, problemOf, rowsOf, TIME } from '../../support/world.ts';

// test/domain/idempotency-key.test.ts and test/support/idempotency-keys.ts have the values that are found.
test.each([
  ['is empty', ''],
  ['is 256 characters long', 'x'.repeat(256)],
  ['contains a space or a character that is not visible ASCII, or was sent more than once', 'a b'],
  ['contains a space or a character that is not visible ASCII, or was sent more than once', 'ä'],
  ['contains a space or a character that is not visible ASCII, or was sent more than once', 'triage:1,triage:1'],
  ['begins with a quote but is not a single quoted string', '"abc'],
  ['was "triage:": the event id in it is empty or a placeholder; fill it from a field of the event', 'triage:'],
  [
    'was "{id}": the event id in it is empty or a placeholder; fill it from a field of the event that always has a value, ' +
      "or, if it is the event's real id, percent-encode it.",
    '{id}',
  ],
  ['was "\\"triage:None\\"": the event id in it is empty or a placeholder', '"triage:None"'],
  ['was "xxx', `${'x'.repeat(65_536)}:`],
])('an Idempotency-Key is refused, and the short error says that it %s', async (rule, value) => {
  const { organization, key, api } = await makeWorld();
  const headers = { 'Idempotency-Key': value };
  for (const response of [await api.postNote(key, undefined, headers), await api.postTime(key, TIME, headers)]) {
    expect(response.status).toBe(400);
    const { code, detail } = await response.json<{ code: string; detail: string }>();
    expect(code).toBe('invalid_idempotency_key');
    expect(detail.slice(0, `Idempotency-Key ${rule}`.length)).toBe(`Idempotency-Key ${rule}`);
    expect(detail.length).toBeLessThan(1_000);
  }
  for (const table of ['notes', 'time_entries'] as const) expect(await rowsOf(table, organization)).toEqual([]);
});

test('a note with each Idempotency-Key that has an event id is written, and none with another one', async () => {
  const { organization, key, api } = await makeWorld();
  const statusesOf = (keys: readonly string[]) =>
    Promise.all(keys.map(async (sent) => [sent, (await api.postNote(key, NOTE, { 'Idempotency-Key': sent })).status]));
  expect(await statusesOf(WITHOUT_EVENT_ID)).toEqual(WITHOUT_EVENT_ID.map((sent) => [sent, 400]));
  expect(await rowsOf('notes', organization)).toEqual([]);
  expect(await statusesOf(WITH_EVENT_ID)).toEqual(WITH_EVENT_ID.map((sent) => [sent, 201]));
});

test('the TypeScript client explains that an event id is empty or a placeholder', async () => {
  const { organization, key, api } = await makeWorld();
  const fetch = async (input: RequestInfo | URL, init?: RequestInit) => {
    const { url, method, headers, body } = new Request(input, init);
    return api.send(new URL(url).pathname, { method, headers: Object.fromEntries(headers), body });
  };
  const client = new WriteBackClient({ url: 'https://api.example', key, workflow: 'triage', fetch });
  for (const eventId of ['', ':2', 'undefined-note', '$EVENT_ID', '{event_id}', '%s', '<event-id>']) {
    const failed = await client.addInternalNote({ ticketId: '1001', eventId, ...NOTE }).catch((err: unknown) => err);
    expect(failed).toMatchObject({ code: 'invalid_idempotency_key', status: 400 });
    expect(String(failed)).toContain('is empty or a placeholder; fill it from a field of the event');
  }
  expect(await rowsOf('notes', organization)).toEqual([]);
});

test('X-Idempotency-Key alone is refused with the name of the right header, and next to that header it is ignored', async () => {
  const { organization, key, api } = await makeWorld();
  for (const write of [api.postNote, api.postTime]) {
    const refused = await write(key, undefined, { 'X-Idempotency-Key': 'triage:1' });
    const { detail } = await refused.clone().json<{ detail: string }>();
    expect(await problemOf(refused)).toBe('400 invalid_idempotency_key');
    expect(detail).toMatch(/^X-Idempotency-Key has no effect here; send its value as Idempotency-Key/);
  }
  expect(await rowsOf('notes', organization)).toEqual([]);
  const both = { 'X-Idempotency-Key': 'triage:1', 'Idempotency-Key': 'triage:2' };
  expect((await api.postNote(key, undefined, both)).status).toBe(201);
  expect((await api.postNote(key, undefined, both)).status).toBe(200);
});
