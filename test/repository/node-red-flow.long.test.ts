import { readFile } from 'node:fs/promises';
import { runInNewContext } from 'node:vm';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';

// Runs the published flow without Node-RED: its function nodes run unchanged, the other nodes are
// imitated. `npm run test:node-red` runs it in Node-RED.

const message = z.record(z.string(), z.unknown());
type Message = z.infer<typeof message>;

const node = z.object({
  id: z.string(),
  type: z.string(),
  name: z.string().default(''),
  func: z.string().default(''),
  wires: z.array(z.array(z.string())).default([]),
  scope: z.array(z.string()).default([]),
});
type FlowNode = z.infer<typeof node>;

const nodes = z.array(node).parse(JSON.parse(await readFile('src/assets/docs/recipes/node-red.json', 'utf8')));
const ofType = (type: string) => nodes.filter((candidate) => candidate.type === type);

/** What the request node makes of a response, or of an error such as ECONNREFUSED. */
type Outcome = { statusCode: number; headers?: Record<string, string>; payload?: unknown } | { statusCode: string };
const CREATED: Outcome = { statusCode: 201, payload: { entry: { id: 'entry-1' } } };
const ENVIRONMENT = { TICKETS_URL: 'https://tickets.example', TICKETS_API_KEY: 'twb_key', WEBHOOK_TOKEN: 'token' };

const TOKEN = { 'x-webhook-token': 'token' };

const request = z.object({ url: z.string(), headers: z.record(z.string(), z.string()), payload: z.unknown() });
const answer = z.object({ statusCode: z.number(), headers: z.record(z.string(), z.string()), payload: z.unknown() });

/**
 * Delivers an event, or triggers another node. The outcomes are of one request after another; the
 * last one repeats.
 */
function deliver(
  payload: unknown,
  outcomes: Outcome[] = [CREATED],
  environment: Record<string, string> = ENVIRONMENT,
  { trigger = 'http in', headers = TOKEN }: { trigger?: string; headers?: Record<string, string> } = {},
) {
  const sent: z.infer<typeof request>[] = [];
  const delays: number[] = [];
  const answers: z.infer<typeof answer>[] = [];
  const shown: unknown[] = [];
  const waiting: { at: FlowNode; msg: Message }[] = [];

  const pass = (from: FlowNode, outputs: unknown[]) => {
    for (const [output, msg] of outputs.entries()) {
      if (msg === null || msg === undefined) continue;
      for (const id of from.wires[output] ?? []) {
        const at = nodes.find((candidate) => candidate.id === id);
        if (!at) throw new Error(`no node ${id}`);
        waiting.push({ at, msg: message.parse(msg) });
      }
    }
  };
  const run = (at: FlowNode, msg: Message) => {
    if (at.type === 'function') {
      try {
        const env = { get: (name: string) => environment[name] };
        const result: unknown = runInNewContext(`(function () {${at.func}\n})()`, { msg, env });
        return pass(at, Array.isArray(result) ? result : [result]);
      } catch (err) {
        const catcher = ofType('catch').find(({ scope }) => scope.includes(at.id));
        if (!catcher) throw err;
        return pass(catcher, [{ ...msg, error: { message: String(err) } }]);
      }
    }
    if (at.type === 'http request') {
      sent.push(request.parse(structuredClone({ ...msg })));
      const outcome = outcomes.length > 1 ? outcomes.shift() : outcomes[0];
      return pass(at, [{ headers: {}, payload: 'RequestError: connect', ...msg, ...outcome }]);
    }
    if (at.type === 'delay') {
      delays.push(z.number().parse(msg['delay']));
      return pass(at, [msg]);
    }
    if (at.type === 'debug') return shown.push(msg['payload']);
    if (at.type === 'http response') return answers.push(answer.parse(msg));
    throw new Error(`a node of type ${at.type} is not imitated here`);
  };

  for (const entry of ofType(trigger)) pass(entry, [{ payload, req: { headers } }]);
  for (let next = waiting.shift(); next; next = waiting.shift()) run(next.at, next.msg);
  return { sent, delays, answers, shown };
}

const EVENT = { eventId: 'evt-1', ticketId: '1001', minutes: 5, description: 'Disk replaced', billable: true };

test('an event becomes one request, and its caller gets the response', () => {
  const { sent, answers } = deliver(EVENT);
  expect(sent).toEqual([
    {
      url: 'https://tickets.example/api/v1/tickets/1001/time-entries',
      headers: {
        Authorization: 'Bearer twb_key',
        'Content-Type': 'application/json',
        'Idempotency-Key': 'triage:evt-1',
      },
      payload: { minutes: 5, description: 'Disk replaced', billable: true },
    },
  ]);
  expect(answers).toEqual([
    { statusCode: 201, headers: { 'Content-Type': 'application/json' }, payload: { entry: { id: 'entry-1' } } },
  ]);
});

test('an event with a message becomes a note', () => {
  const { sent } = deliver({ eventId: 'evt-2', ticketId: '1001', message: 'Disk replaced' });
  expect(sent).toMatchObject([
    {
      url: 'https://tickets.example/api/v1/tickets/1001/notes',
      headers: { 'Idempotency-Key': 'triage:evt-2' },
      payload: { message: 'Disk replaced' },
    },
  ]);
});

test('an id that is a number identifies the event', () => {
  expect(deliver({ ...EVENT, eventId: 20418 }).sent[0]?.headers['Idempotency-Key']).toBe('triage:20418');
});

test.each([{}, { 'x-webhook-token': '' }, { 'x-webhook-token': 'another' }])(
  'a sender with the headers %j gets a 401, and nothing is sent',
  (headers) => {
    const { sent, answers } = deliver(EVENT, [CREATED], ENVIRONMENT, { headers });
    expect(sent).toEqual([]);
    expect(answers).toMatchObject([
      { statusCode: 401, payload: { error: expect.stringContaining('X-Webhook-Token') } },
    ]);
  },
);

test('the key test sends one ping and shows its result', () => {
  const outcome = { statusCode: 200, payload: { ok: true, keyName: 'n8n: triage' } };
  const { sent, shown } = deliver(undefined, [outcome], ENVIRONMENT, { trigger: 'inject' });
  expect(sent).toMatchObject([
    { url: 'https://tickets.example/api/v1/ping', headers: { Authorization: 'Bearer twb_key' } },
  ]);
  expect(shown).toEqual([outcome.payload]);
});

describe('an event without a usable id gets a 400, and nothing is sent:', () => {
  const { eventId: _, ...without } = EVENT;
  test.each([
    ['no id', without],
    ['an empty one', { ...EVENT, eventId: '' }],
    ['null', { ...EVENT, eventId: null }],
    ['an object', { ...EVENT, eventId: { id: 1 } }],
    ['a list', { ...EVENT, eventId: ['evt-1'] }],
    ['a line break at its end', { ...EVENT, eventId: 'evt-1\n' }],
    ['a line break in it', { ...EVENT, eventId: 'evt\r\n1' }],
    ['a space', { ...EVENT, eventId: 'evt 1' }],
    ['another script', { ...EVENT, eventId: 'évt' }],
    ['too long', { ...EVENT, eventId: 'x'.repeat(201) }],
    ['no body', undefined],
    ['null for a body', null],
    ['a text for a body', 'eventId=evt-1'],
    ['a list for a body', [EVENT]],
  ])('%s', (_, event) => {
    const { sent, delays, answers } = deliver(event);
    expect([sent, delays]).toEqual([[], []]);
    expect(answers).toEqual([
      {
        statusCode: 400,
        headers: { 'Content-Type': 'application/json' },
        payload: { error: expect.stringMatching(/^eventId must be .* Nothing was written\.$/) },
      },
    ]);
  });
});

describe('the response to every caller', () => {
  test.each([
    ['no description', { ...EVENT, description: undefined }, {}],
    ['null for a description', { ...EVENT, description: null }, { description: null }],
    ['a number for a description', { ...EVENT, description: 5 }, { description: 5 }],
  ])('an event with %s is sent unchanged, and the service reports the error', (_, event, expected) => {
    const refused: Outcome = { statusCode: 422, payload: { code: 'validation_failed', detail: 'description is …' } };
    const { sent, delays, answers } = deliver(event, [refused]);
    expect(sent.map(({ payload }) => JSON.parse(JSON.stringify(payload)))).toEqual([
      { minutes: 5, billable: true, ...expected },
    ]);
    expect(delays).toEqual([]);
    expect(answers).toMatchObject([{ statusCode: 422, payload: { detail: 'description is …' } }]);
  });

  test('a ticket id that cannot be encoded gets a 500 from the flow', () => {
    const { sent, answers } = deliver({ ...EVENT, ticketId: '\ud800' });
    expect(sent).toEqual([]);
    expect(answers).toMatchObject([{ statusCode: 500, payload: { error: expect.stringContaining('URI') } }]);
  });

  test.each([
    ['no address', { TICKETS_API_KEY: 'twb_key', WEBHOOK_TOKEN: 'token' }],
    ['an address without https://', { ...ENVIRONMENT, TICKETS_URL: 'tickets.example' }],
    ['no key', { TICKETS_URL: 'https://tickets.example', WEBHOOK_TOKEN: 'token' }],
    ['no token', { TICKETS_URL: 'https://tickets.example', TICKETS_API_KEY: 'twb_key' }],
    ['an empty token', { ...ENVIRONMENT, WEBHOOK_TOKEN: '' }],
    ['a key of white space', { ...ENVIRONMENT, TICKETS_API_KEY: ' \n' }],
  ])('the flow returns a 500 with %s in the environment', (_, environment) => {
    const { sent, answers } = deliver(EVENT, [CREATED], environment);
    expect(sent).toEqual([]);
    expect(answers).toMatchObject([{ statusCode: 500, payload: { error: expect.stringContaining('TICKETS_URL') } }]);
  });

  test('a line break after the key in the environment is omitted', () => {
    const { sent } = deliver(EVENT, [CREATED], { ...ENVIRONMENT, TICKETS_API_KEY: 'twb_key\n' });
    expect(sent[0]?.headers['Authorization']).toBe('Bearer twb_key');
  });
});

describe('repetitions', () => {
  test.each([400, 401, 403, 404, 405, 409, 413, 415, 422])(
    'a %i is not sent again: its caller gets it immediately',
    (statusCode) => {
      const { sent, delays, answers } = deliver(EVENT, [{ statusCode, payload: { code: 'some_code' } }]);
      expect([sent.length, delays.length]).toEqual([1, 0]);
      expect(answers).toMatchObject([{ statusCode, payload: { code: 'some_code' } }]);
    },
  );

  test.each<[string, Outcome]>([
    ['a 429', { statusCode: 429, headers: { 'retry-after': '7' } }],
    ['a 503', { statusCode: 503, headers: { 'retry-after': '7' } }],
    ['a 500', { statusCode: 500, headers: { 'retry-after': '7' } }],
  ])('%s is sent again, unchanged and not before Retry-After', (_, outcome) => {
    const { sent, delays, answers } = deliver(EVENT, [outcome, outcome, CREATED]);
    expect(sent).toHaveLength(3);
    expect(new Set(sent.map((each) => JSON.stringify(each))).size).toBe(1);
    expect(delays.every((delay) => delay >= 7_000 && delay < 9_000)).toBe(true);
    expect(answers).toMatchObject([{ statusCode: 201 }]);
  });

  test('a lost connection is repeated at most 20 times; then the caller gets a 503', () => {
    const { sent, delays, answers } = deliver(EVENT, [{ statusCode: 'ECONNREFUSED' }]);
    expect([sent.length, delays.length]).toEqual([20, 19]);
    expect(answers).toMatchObject([{ statusCode: 503 }]);
  });

  test('the same event is sent without userEmail if the technician is not eligible', () => {
    const refused: Outcome = { statusCode: 422, payload: { code: 'technician_not_eligible' } };
    const { sent, delays, answers } = deliver({ ...EVENT, userEmail: 'ivan@northwind.example' }, [refused, CREATED]);
    expect(sent.map(({ payload }) => message.parse(payload)['userEmail'])).toEqual([
      'ivan@northwind.example',
      undefined,
    ]);
    expect(new Set(sent.map(({ headers }) => headers['Idempotency-Key'])).size).toBe(1);
    expect(delays).toEqual([]);
    expect(answers).toMatchObject([{ statusCode: 201 }]);
  });
});

describe('a mismatch', () => {
  const replayed = { entry: { id: 'entry-1' }, idempotentReplay: true };
  const MISMATCH: Outcome = {
    statusCode: 200,
    headers: { 'idempotency-replayed': 'true', 'idempotency-mismatch': 'true' },
    payload: { ...replayed, idempotencyMismatch: true, ticketId: '1002' },
  };
  const REPLAY: Outcome = { statusCode: 200, headers: { 'idempotency-replayed': 'true' }, payload: replayed };

  test('a mismatch is a failure: the caller gets a 409 with the stored record', () => {
    const { sent, answers } = deliver(EVENT, [MISMATCH]);
    expect(sent).toHaveLength(1);
    expect(answers).toMatchObject([
      {
        statusCode: 409,
        payload: { error: expect.stringContaining('Nothing was written now'), found: { ticketId: '1002' } },
      },
    ]);
  });

  test('a mismatch is not reported if the first delivery credited the entry to the service account', () => {
    const event = { ...EVENT, userEmail: 'ivan@northwind.example' };
    expect(deliver(event, [MISMATCH, REPLAY]).answers).toMatchObject([{ statusCode: 200 }]);
    expect(deliver(event, [MISMATCH]).answers).toMatchObject([{ statusCode: 409 }]);
  });

  test('a mismatch is not reported for a replay', () => {
    expect(deliver(EVENT, [REPLAY]).answers).toMatchObject([{ statusCode: 200, payload: replayed }]);
  });
});
