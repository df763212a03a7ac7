import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { type Item, n8nWorkflow, type Service } from '../support/n8n.ts';

const TEXT = await readFile('src/assets/docs/recipes/n8n.json', 'utf8');
const { nodes, next, deliver, ping } = n8nWorkflow(TEXT);

const EVENT = {
  eventId: 'evt-1',
  ticketId: '1001',
  minutes: 5,
  description: 'Disk replaced',
  billable: true,
  log: '09:30 disk replaced',
};
const ENTRY = { entry: { id: 'entry-1' }, agreementSource: 'company_default' };
const NOTE = { note: { id: 'note-1' } };
const isNote = (url: string) => url.endsWith('/notes');
const written: Service = ({ url }) => ({ status: 201, body: isNote(url) ? NOTE : ENTRY });

test('an event becomes an entry and a note, and its caller gets both', async () => {
  const { sent, answers, failure } = await deliver(EVENT, written);
  expect(sent).toEqual([
    {
      url: 'https://tickets.example/api/v1/tickets/1001/time-entries',
      method: 'POST',
      headers: { 'Idempotency-Key': 'triage:evt-1' },
      body: { minutes: 5, description: 'Disk replaced', billable: true },
    },
    {
      url: 'https://tickets.example/api/v1/tickets/1001/notes',
      method: 'POST',
      headers: { 'Idempotency-Key': 'triage:evt-1' },
      body: { message: '09:30 disk replaced' },
    },
  ]);
  expect(answers).toEqual([{ status: 201, body: { entry: ENTRY.entry, note: NOTE.note } }]);
  expect(failure).toBeUndefined();
});

test('ids that are numbers identify the event and the ticket', async () => {
  const { sent } = await deliver({ ...EVENT, eventId: 20418, ticketId: 7 }, written);
  expect(sent[0]).toMatchObject({
    url: 'https://tickets.example/api/v1/tickets/7/time-entries',
    headers: { 'Idempotency-Key': 'triage:20418' },
  });
});

describe('an incomplete event sends nothing, gets a 400 and fails the execution:', () => {
  const without = (field: string) => Object.fromEntries(Object.entries(EVENT).filter(([name]) => name !== field));
  test.each([
    ['no eventId', without('eventId')],
    ['an empty eventId', { ...EVENT, eventId: '' }],
    ['null for an eventId', { ...EVENT, eventId: null }],
    ['an object for an eventId', { ...EVENT, eventId: {} }],
    ['a list for an eventId', { ...EVENT, eventId: ['evt-1'] }],
    ['a line break in the eventId', { ...EVENT, eventId: 'evt\n1' }],
    ['a line break after the eventId', { ...EVENT, eventId: 'evt-1\n' }],
    ['a space in the eventId', { ...EVENT, eventId: 'evt 1' }],
    ['an eventId that is too long', { ...EVENT, eventId: 'x'.repeat(201) }],
    ['no ticketId', without('ticketId')],
    ['an empty ticketId', { ...EVENT, ticketId: '' }],
    ['no description', without('description')],
    ['null for a description', { ...EVENT, description: null }],
    ['a description of white space', { ...EVENT, description: ' \n' }],
    ['no log', without('log')],
    ['a list for a log', { ...EVENT, log: [] }],
    ['no body', undefined],
    ['null for a body', null],
    ['a text for a body', 'eventId=evt-1'],
    ['a list for a body', [EVENT]],
  ])('%s', async (_, event) => {
    const { sent, answers, failure } = await deliver(event, written);
    expect(sent).toEqual([]);
    expect(answers).toEqual([
      { status: 400, body: { error: expect.stringMatching(/^eventId must be .* written\.$/) } },
    ]);
    expect(failure).toMatch(/^eventId must be /);
  });
});

describe('a mismatch', () => {
  const mismatch = (body: Item) => ({
    status: 200,
    body: { ...body, idempotentReplay: true, idempotencyMismatch: true, ticketId: '1002' },
  });

  test('a mismatch of the entry returns a 409, fails the execution, and the note is not sent', async () => {
    const { sent, answers, failure } = await deliver(EVENT, () => mismatch(ENTRY));
    expect(sent).toHaveLength(1);
    expect(answers).toMatchObject([{ status: 409, body: { found: { ticketId: '1002', entry: ENTRY.entry } } }]);
    expect(failure).toBe('ticket 1002: Another event with this eventId was written before. Nothing was written now.');
  });

  test('a mismatch of the note returns a 409 and fails the execution', async () => {
    const { answers, failure } = await deliver(EVENT, (request) =>
      isNote(request.url) ? mismatch(NOTE) : written(request),
    );
    expect(answers).toMatchObject([{ status: 409, body: { found: { note: NOTE.note } } }]);
    expect(failure).toContain('ticket 1002');
  });
});

test('a replay is a success', async () => {
  const { answers, failure } = await deliver(EVENT, ({ url }) => ({
    status: 200,
    body: { ...(isNote(url) ? NOTE : ENTRY), idempotentReplay: true },
  }));
  expect(answers).toEqual([{ status: 200, body: { entry: ENTRY.entry, note: NOTE.note } }]);
  expect(failure).toBeUndefined();
});

test('a failed request is sent again unchanged, and after the last attempt the caller gets a 500', async () => {
  const { sent, answers, failure } = await deliver(EVENT, () => ({ status: 503, body: {} }));
  expect(sent).toHaveLength(5);
  expect(new Set(sent.map((request) => JSON.stringify(request))).size).toBe(1);
  expect(answers).toEqual([{ status: 500, body: { message: 'Error in workflow' } }]);
  expect(failure).toContain('503');
});

test('a text is cut between characters', async () => {
  const { sent } = await deliver({ ...EVENT, description: '😀'.repeat(32_001) }, written);
  expect(sent[0]?.body).toMatchObject({ description: '😀'.repeat(32_000) });
});

test('the key test sends one ping, and nothing else', async () => {
  const { sent, failure } = await ping(() => ({ status: 200, body: { ok: true } }));
  expect(sent).toEqual([{ method: 'GET', url: 'https://tickets.example/api/v1/ping', headers: {}, body: undefined }]);
  expect(failure).toBeUndefined();
});

test('the webhook requires a header, and each request uses a stored key', () => {
  const parameters = (type: string) => nodes.filter((node) => node.type.endsWith(type)).map((node) => node.parameters);
  expect(parameters('.webhook')).toMatchObject([{ authentication: 'headerAuth' }]);
  for (const request of parameters('.httpRequest'))
    expect(request).toMatchObject({ authentication: 'genericCredentialType', genericAuthType: 'httpBearerAuth' });
});

test('every path from the webhook ends in a response, and every node has a unique id', () => {
  expect(new Set(nodes.map(({ id }) => id)).size).toBe(nodes.length);
  const unanswered = (name: string): string[] => {
    if (nodes.find((node) => node.name === name)?.type.endsWith('.respondToWebhook')) return [];
    const after = [...next(name, 0), ...next(name, 1)];
    return after.length === 0 ? [name] : after.flatMap(unanswered);
  };
  expect(unanswered('Work done')).toEqual([]);
});

// Windows PowerShell 5.1 writes it as ASCII.
test('the file is ASCII', () => {
  expect(TEXT).toMatch(/^[\n -~]+$/);
});
