import { readFile } from 'node:fs/promises';
import { runInNewContext } from 'node:vm';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';

// Runs the published workflow without n8n: its expressions are evaluated unchanged, its nodes are
// imitated after n8n's documentation.

const PATH = 'src/assets/docs/recipes/n8n.json';

const item = z.record(z.string(), z.unknown());
type Item = z.infer<typeof item>;
const node = z.object({
  name: z.string(),
  type: z.string(),
  retryOnFail: z.boolean().default(false),
  maxTries: z.number().default(1),
  parameters: item,
});
type WorkflowNode = z.infer<typeof node>;
const workflow = z
  .object({
    nodes: z.array(node),
    connections: z.record(z.string(), z.object({ main: z.array(z.array(z.object({ node: z.string() }))) })),
  })
  .parse(JSON.parse(await readFile(PATH, 'utf8')));

const nodeNamed = (name: string): WorkflowNode => {
  const found = workflow.nodes.find((candidate) => candidate.name === name);
  if (!found) throw new Error(`no node ${name}`);
  return found;
};

const http = z.object({
  url: z.string(),
  headerParameters: z.object({ parameters: z.array(z.object({ name: z.string(), value: z.string() })) }),
  jsonBody: z.string(),
});
const condition = z.object({
  conditions: z.object({ conditions: z.tuple([z.object({ leftValue: z.string() })]) }),
});
const respond = z.object({ responseBody: z.string(), options: z.object({ responseCode: z.number() }) });
const stop = z.object({ errorMessage: z.string() });

/** What the service answers to a request. */
type Service = (request: { url: string; idempotencyKey: string; body: unknown }) => { status: number; body: Item };

/** Runs the workflow for one delivery of the webhook. */
function deliver(body: unknown, service: Service) {
  const sent: Parameters<Service>[0][] = [];
  const answers: { status: number; body: unknown }[] = [];
  const outputs = new Map<string, Item>();
  let failure: string | undefined;

  /** A value of a parameter: `=` begins an expression, with JavaScript between double braces. */
  const evaluate = (text: string, json: Item): unknown => {
    if (!text.startsWith('=')) return text;
    const context = { $json: json, $: (name: string) => ({ item: { json: outputs.get(name) } }) };
    const parts = text.slice(1).split(/\{\{(.*?)\}\}/s);
    const values = parts.map((part, index) => (index % 2 === 0 ? part : runInNewContext(`(${part})`, context)));
    return values.length === 3 && values[0] === '' && values[2] === '' ? values[1] : values.join('');
  };
  const textOf = (text: string, json: Item) => z.string().parse(evaluate(text, json));

  /** What a node hands to each of its outputs. */
  const run = ({ type, parameters }: WorkflowNode, json: Item): (Item | undefined)[] => {
    switch (type.replace('n8n-nodes-base.', '')) {
      case 'webhook':
        return [json];
      case 'if': {
        const [{ leftValue }] = condition.parse(parameters).conditions.conditions;
        const isTrue = z.boolean().parse(evaluate(leftValue, json));
        return isTrue ? [json, undefined] : [undefined, json];
      }
      case 'httpRequest': {
        const { url, headerParameters, jsonBody } = http.parse(parameters);
        const idempotencyKey = textOf(headerParameters.parameters[0]?.value ?? '', json);
        const request = { url: textOf(url, json), idempotencyKey, body: JSON.parse(textOf(jsonBody, json)) };
        sent.push(request);
        const response = service(request);
        if (response.status >= 400) throw new Error(`Request failed with status code ${response.status}`);
        return [response.body];
      }
      case 'respondToWebhook': {
        const { responseBody, options } = respond.parse(parameters);
        answers.push({ status: options.responseCode, body: JSON.parse(textOf(responseBody, json)) });
        return [json];
      }
      case 'stopAndError':
        throw new Error(textOf(stop.parse(parameters).errorMessage, json));
      default:
        throw new Error(`a node of type ${type} is not imitated here`);
    }
  };

  const waiting: { at: WorkflowNode; json: Item }[] = [{ at: nodeNamed('Work done'), json: { body } }];
  try {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const { at, json } = next;
      let results: (Item | undefined)[] = [];
      for (let tries = 1; ; tries++) {
        try {
          results = run(at, json);
          break;
        } catch (err) {
          if (!at.retryOnFail || tries === at.maxTries) throw err;
        }
      }
      for (const [output, result] of results.entries()) {
        if (!result) continue;
        outputs.set(at.name, result);
        for (const { node } of workflow.connections[at.name]?.main[output] ?? [])
          waiting.push({ at: nodeNamed(node), json: result });
      }
    }
  } catch (err) {
    failure = err instanceof Error ? err.message : String(err);
    // n8n's own answer, if the workflow has given none.
    if (answers.length === 0) answers.push({ status: 500, body: { message: 'Error in workflow' } });
  }
  return { sent, answers, failure };
}

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

test('an event becomes an entry and a note, and its caller gets both', () => {
  const { sent, answers, failure } = deliver(EVENT, written);
  expect(sent).toEqual([
    {
      url: 'https://tickets.example/api/v1/tickets/1001/time-entries',
      idempotencyKey: 'triage:evt-1',
      body: { minutes: 5, description: 'Disk replaced', billable: true },
    },
    {
      url: 'https://tickets.example/api/v1/tickets/1001/notes',
      idempotencyKey: 'triage:evt-1',
      body: { message: '09:30 disk replaced' },
    },
  ]);
  expect(answers).toEqual([{ status: 200, body: { entry: ENTRY.entry, note: NOTE.note } }]);
  expect(failure).toBeUndefined();
});

test('ids that are numbers name the event and the ticket too', () => {
  const { sent } = deliver({ ...EVENT, eventId: 20418, ticketId: 7 }, written);
  expect(sent[0]).toMatchObject({
    url: 'https://tickets.example/api/v1/tickets/7/time-entries',
    idempotencyKey: 'triage:20418',
  });
});

describe('an event that is not complete sends nothing, is answered 400 and fails the execution:', () => {
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
  ])('%s', (_, event) => {
    const { sent, answers, failure } = deliver(event, written);
    expect(sent).toEqual([]);
    expect(answers).toEqual([
      { status: 400, body: { error: expect.stringMatching(/^eventId must be .* written\.$/) } },
    ]);
    expect(failure).toMatch(/^eventId must be /);
  });
});

describe('a mismatch is a failure: the caller gets a 409, and the execution fails', () => {
  const mismatch = (body: Item) => ({
    status: 200,
    body: { ...body, idempotentReplay: true, idempotencyMismatch: true, ticketId: '1002' },
  });

  test('of the entry, and the note is not sent', () => {
    const { sent, answers, failure } = deliver(EVENT, () => mismatch(ENTRY));
    expect(sent).toHaveLength(1);
    expect(answers).toMatchObject([{ status: 409, body: { found: { ticketId: '1002', entry: ENTRY.entry } } }]);
    expect(failure).toBe('ticket 1002: Another event with this eventId was written before. Nothing was written now.');
  });

  test('of the note', () => {
    const { answers, failure } = deliver(EVENT, (request) => (isNote(request.url) ? mismatch(NOTE) : written(request)));
    expect(answers).toMatchObject([{ status: 409, body: { found: { note: NOTE.note } } }]);
    expect(failure).toContain('ticket 1002');
  });
});

test('a replay is a success', () => {
  const { answers, failure } = deliver(EVENT, ({ url }) => ({
    status: 200,
    body: { ...(isNote(url) ? NOTE : ENTRY), idempotentReplay: true },
  }));
  expect(answers).toEqual([{ status: 200, body: { entry: ENTRY.entry, note: NOTE.note } }]);
  expect(failure).toBeUndefined();
});

test('a failed request is sent again unchanged, and after the last attempt the caller gets a 500', () => {
  const { sent, answers, failure } = deliver(EVENT, () => ({ status: 503, body: {} }));
  expect(sent).toHaveLength(5);
  expect(new Set(sent.map((request) => JSON.stringify(request))).size).toBe(1);
  expect(answers).toEqual([{ status: 500, body: { message: 'Error in workflow' } }]);
  expect(failure).toContain('503');
});

test('a text is cut between characters', () => {
  const { sent } = deliver({ ...EVENT, description: '😀'.repeat(32_001) }, written);
  expect(sent[0]?.body).toMatchObject({ description: '😀'.repeat(32_000) });
});

test('every path from the webhook ends in a response, and every node has a unique id', async () => {
  const { nodes } = z
    .object({ nodes: z.array(z.object({ id: z.string() })) })
    .parse(JSON.parse(await readFile(PATH, 'utf8')));
  expect(new Set(nodes.map(({ id }) => id)).size).toBe(nodes.length);
  const unanswered = (name: string): string[] => {
    if (nodeNamed(name).type.endsWith('.respondToWebhook')) return [];
    const next = workflow.connections[name]?.main.flat() ?? [];
    return next.length === 0 ? [name] : next.flatMap(({ node }) => unanswered(node));
  };
  expect(unanswered('Work done')).toEqual([]);
});
