import { env } from 'cloudflare:workers';
import { describe, expect, test, vi } from 'vitest';
import * as z from 'zod';
import { blocksOf, codesIn } from '../../../src/docs/blocks.ts';
import agentsPage from '../../../src/modules/mcp/docs/agents.md?raw';
import { TOOLS } from '../../../src/modules/mcp/tools.ts';
import { aroundD1 } from '../../support/d1.ts';
import { WITH_EVENT_ID, WITHOUT_EVENT_ID } from '../../support/idempotency-keys.ts';
import { connectionOf } from '../../support/psa-calls.ts';
import type { ToolResult } from '../../support/tools.ts';
import { importRecords, makeCountedApi, makeKey, makeOrganization, rowsOf } from '../../support/world.ts';
import { callTool, makeMcpApi, NOTE_ARGUMENTS, post, resultOf, TIME_ARGUMENTS } from './support.ts';

const TABLES = { add_internal_note: 'notes', log_time: 'time_entries' } as const;
const ARGUMENTS = { add_internal_note: NOTE_ARGUMENTS, log_time: TIME_ARGUMENTS };

async function makeWorld() {
  const organization = await makeOrganization();
  const { value: key, id: keyId } = await makeKey(organization);
  return { organization, key, keyId, api: makeMcpApi() };
}

/** The first line of the text of a result: the second one is its JSON. */
const sentence = ({ content }: ToolResult) => content[0]?.text.split('\n')[0];

test("tools/list contains only the tools of the key's scopes, without patterns, as tools that write and can be repeated", async () => {
  const organization = await makeOrganization();
  const list = async (scopes?: ('tickets:note:write' | 'tickets:time:write')[]) => {
    const { value } = await makeKey(organization, scopes ? { scopes } : {});
    const response = await post(makeMcpApi(), value, 'tools/list');
    return (await response.json<{ result: { tools: Record<string, unknown>[] } }>()).result;
  };
  expect((await list(['tickets:note:write'])).tools.map(({ name }) => name)).toEqual(['add_internal_note']);
  expect((await list(['tickets:time:write'])).tools.map(({ name }) => name)).toEqual(['log_time']);
  const result = await list();
  const annotations = { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false };
  expect(result).toMatchObject({ cacheScope: 'private', tools: [{ annotations }, { annotations }] });
  expect(result.tools).toMatchObject([
    {
      inputSchema: { type: 'object', required: ['ticketId', 'message', 'idempotencyKey'], additionalProperties: false },
    },
    { inputSchema: { required: ['ticketId', 'minutes', 'description', 'billable', 'idempotencyKey'] } },
  ]);
  expect(JSON.stringify(result)).not.toMatch(/"pattern"|Unicode|surrogate/);
  expect(JSON.stringify(result)).toMatch(/given for this task.*ask for one.*told, ask/);
});

const toolList = z.object({
  result: z.object({ tools: z.array(z.object({ name: z.string(), inputSchema: z.record(z.string(), z.json()) })) }),
});

async function publishedTools() {
  const { key, api } = await makeWorld();
  return toolList.parse(await (await post(api, key, 'tools/list')).json()).result.tools;
}

/** The keywords of a schema, and those of its properties. */
const keywordsIn = (schema: Record<string, z.core.util.JSONType>): string[] =>
  Object.entries(schema).flatMap(([keyword, value]) =>
    keyword === 'properties'
      ? Object.values(z.record(z.string(), z.record(z.string(), z.json())).parse(value)).flatMap(keywordsIn)
      : [keyword],
  );

test('the schemas of all tools have only keywords that every known client accepts, and one type for each argument', async () => {
  const tools = await publishedTools();
  expect(tools).toHaveLength(2);
  const known = [
    'additionalProperties',
    'description',
    'maxLength',
    'maximum',
    'minLength',
    'minimum',
    'required',
    'type',
  ];
  expect([...new Set(tools.flatMap(({ inputSchema }) => keywordsIn(inputSchema)))].sort()).toEqual(known);
  for (const { inputSchema } of tools) {
    const properties = z.record(z.string(), z.object({ type: z.string() })).parse(inputSchema['properties']);
    expect(properties['dryRun']).toMatchObject({ type: 'boolean' });
    expect(properties).toMatchObject(Object.hasOwn(properties, 'minutes') ? { userEmail: { type: 'string' } } : {});
  }
});

test('the page for agents lists the arguments of each tool', async () => {
  for (const { name, inputSchema } of await publishedTools()) {
    const { properties, required } = z
      .object({ properties: z.record(z.string(), z.json()), required: z.array(z.string()) })
      .parse(inputSchema);
    const listed = Object.keys(properties).map((one) => `\`${one}\`${required.includes(one) ? '' : ' (optional)'}`);
    expect(agentsPage).toContain(`| \`${name}\` | ${listed.join(', ')} |`);
  }
});

test('the page for agents shows the fields of a result', async () => {
  const { key, api } = await makeWorld();
  const { structuredContent } = await resultOf(api, key, 'log_time', TIME_ARGUMENTS);
  const [example] = codesIn(blocksOf(agentsPage)).flatMap(({ versions }) => versions);
  const typesOf = (fields: object) => Object.entries(fields).map(([name, value]) => [name, typeof value]);
  expect(typesOf(JSON.parse(example?.text ?? ''))).toEqual(typesOf(structuredContent));
});

describe.each(['add_internal_note', 'log_time'] as const)('%s', (name) => {
  const table = TABLES[name];
  const args = ARGUMENTS[name];

  test('creates one record with its idempotencyKey, and marks its replay', async () => {
    const { organization, key, api } = await makeWorld();
    const first = await resultOf(api, key, name, args);
    const [row] = await rowsOf(table, organization);
    expect(first).toMatchObject({
      structuredContent: { id: row?.['id'], ticketId: '1001', idempotentReplay: false, idempotencyMismatch: false },
    });
    expect(first.isError).toBeUndefined();
    expect(sentence(first)).toContain(String(row?.['id']));
    expect((await rowsOf('audit_log', organization)).at(-1)).toMatchObject({
      target_id: row?.['id'],
      idempotency_key: args.idempotencyKey,
    });

    const replay = await callTool(api, key, name, args);
    expect(replay.headers.get('Idempotency-Replayed')).toBe('true');
    expect(replay.headers.get('RateLimit')).toMatch(/^"key";r=\d+;t=\d+, "key-day";/);
    expect(await resultOf(api, key, name, args)).toMatchObject({
      structuredContent: { id: row?.['id'], idempotentReplay: true, idempotencyMismatch: false },
    });
    expect(await rowsOf(table, organization)).toHaveLength(1);
  });

  test('a dry run gets the answer of the REST interface, writes nothing and leaves the idempotencyKey unused', async () => {
    const { organization, key, api } = await makeWorld();
    const { ticketId, idempotencyKey, ...body } = args;
    const overHttp = async () => {
      const path = `/api/v1/tickets/${ticketId}/${name === 'log_time' ? 'time-entries' : 'notes'}/dry-run`;
      return (await api.post(path, key, body, { 'Idempotency-Key': idempotencyKey })).json();
    };
    const dryRun = async () => {
      const result = await resultOf(api, key, name, { ...args, dryRun: true });
      expect(result.isError).toBeUndefined();
      const { message: text, ...fields } = result.structuredContent;
      expect([text, fields]).toEqual([sentence(result), await overHttp()]);
      return result.structuredContent;
    };
    expect(await dryRun()).toMatchObject({
      dryRun: true,
      message: 'Nothing was written. The call passed all checks: to write, send it without dryRun.',
    });
    expect(await rowsOf(table, organization)).toEqual([]);
    for (const no of [false, null]) {
      const written = await resultOf(api, key, name, { ...args, dryRun: no });
      expect(written.structuredContent).toMatchObject({ idempotentReplay: no === null });
    }
    expect(await dryRun()).toMatchObject({
      idempotentReplay: true,
      message: expect.stringMatching(
        /^Nothing was written\. An earlier call with this idempotencyKey wrote a record, .* That record may be on another ticket or from other arguments: the call without dryRun tells\.$/,
      ),
    });
    expect(await rowsOf(table, organization)).toHaveLength(1);
  });

  test.each(['dryrun', 'dry_run', 'DryRun', 'dry-run', 'test'])(
    'a misspelt dryRun is refused and writes nothing: %s',
    async (misspelt) => {
      const { organization, key, api } = await makeWorld();
      const result = await resultOf(api, key, name, { ...args, [misspelt]: true });
      expect(result).toMatchObject({ isError: true, structuredContent: { code: 'validation_failed' } });
      expect(sentence(result)).toMatch(
        new RegExp(`^${misspelt} is not accepted; remove it\\. .*idempotencyKey, dryRun`),
      );
      expect(await rowsOf(table, organization)).toEqual([]);
    },
  );

  test('a dry run gets the errors of a call', async () => {
    const { organization, key, api } = await makeWorld();
    for (const [change, code] of [
      [{ ticketId: '9999' }, 'ticket_not_found'],
      [{ dryRun: 'true' }, 'validation_failed'],
      [{ idempotencyKey: '' }, 'invalid_idempotency_key'],
    ] as const) {
      const result = await resultOf(api, key, name, { ...args, dryRun: true, ...change });
      expect(result).toMatchObject({ isError: true, structuredContent: { code } });
    }
    await api.settled();
    expect([await rowsOf(table, organization), await rowsOf('refused_uses', organization)]).toEqual([[], []]);
  });

  test('shares its records with the REST interface', async () => {
    const { organization, key, api } = await makeWorld();
    const { ticketId, idempotencyKey, ...body } = args;
    const headers = { 'Idempotency-Key': idempotencyKey };
    const write = name === 'log_time' ? api.postTime : api.postNote;
    expect((await write(key, body, headers, ticketId)).status).toBe(201);
    expect((await resultOf(api, key, name, args)).structuredContent).toMatchObject({
      idempotentReplay: true,
      idempotencyMismatch: false,
    });
    expect(await rowsOf(table, organization)).toHaveLength(1);
  });

  test("keeps an earlier call's record when the words differ, and reports that", async () => {
    const { organization, key, api } = await makeWorld();
    const { structuredContent } = await resultOf(api, key, name, args);
    const reworded = { ...args, ...(name === 'log_time' ? { minutes: 45 } : { message: 'Other words' }) };
    const { headers } = await callTool(api, key, name, reworded);
    expect([headers.get('Idempotency-Replayed'), headers.get('Idempotency-Mismatch')]).toEqual(['true', 'true']);
    const replay = await resultOf(api, key, name, reworded);
    expect(replay.isError).toBeUndefined();
    expect(replay.structuredContent).toEqual({
      ...structuredContent,
      message: sentence(replay),
      idempotentReplay: true,
      idempotencyMismatch: true,
    });
    expect(sentence(replay)).toMatch(/nothing was written now/);
    await api.settled();
    expect(await rowsOf('refused_uses', organization)).toMatchObject([
      {
        reason: 'idempotency_mismatch',
        lost_writes: expect.stringContaining(`"ticketId":"${args['ticketId']}"`),
      },
    ]);
  });

  test('reports a key that was used on another ticket as an error, with the existing record', async () => {
    const { organization, key, api } = await makeWorld();
    const { structuredContent } = await resultOf(api, key, name, args);
    const replay = await resultOf(api, key, name, { ...args, ticketId: '1002' });
    expect(replay).toMatchObject({
      isError: true,
      structuredContent: {
        code: 'idempotency_key_on_other_ticket',
        id: structuredContent['id'],
        ticketId: '1001',
        idempotentReplay: true,
        idempotencyMismatch: true,
      },
    });
    expect(sentence(replay)).toMatch(/^This idempotencyKey was used on ticket 1001; nothing was written\./);
    expect(await rowsOf(table, organization)).toHaveLength(1);
  });

  test('waits for a ticket that an adapter may be about to send, and then reports when to call again', async () => {
    const organization = await makeOrganization();
    const { value: key } = await makeKey(organization);
    await connectionOf(organization).reportConnection(crypto.randomUUID(), null);
    const slept: number[] = [];
    let onSleep = async (): Promise<unknown> => undefined;
    const api = makeMcpApi({
      sleep: async (ms) => {
        slept.push(ms);
        await onSleep();
      },
    });
    const unknown = { ...args, ticketId: '4711' };
    const refusal = await resultOf(api, key, name, unknown);
    expect(refusal.structuredContent).toMatchObject({ code: 'ticket_not_found', retryAfterSeconds: 10 });
    expect(slept).toEqual([2_000, 2_000, 2_000, 2_000]);
    onSleep = () => importRecords({ type: 'ticket', organization, id: '4711', company: 'acme' });
    expect(await resultOf(api, key, name, unknown)).toMatchObject({ structuredContent: { ticketId: '4711' } });
    expect(await rowsOf(table, organization)).toHaveLength(1);
  });

  test.each<[string, Record<string, unknown>, string, RegExp]>([
    [
      'an unknown ticket',
      { ticketId: '9999' },
      'ticket_not_found',
      /no ticket "9999" that this key may write to\. Check the ticket id; a new ticket may become known here within two minutes\. Nothing was/,
    ],
    [
      'a ticket id with a fraction',
      { ticketId: 1001.5 },
      'validation_failed',
      /^ticketId was 1001\.5; send the id of a ticket: a/,
    ],
    ['no ticket id', { ticketId: undefined }, 'validation_failed', /^ticketId is missing; send the id of a ticket/],
    [
      'no idempotencyKey',
      { idempotencyKey: undefined },
      'validation_failed',
      /^idempotencyKey is missing; send a string/,
    ],
    [
      'an empty event id',
      { idempotencyKey: 'triage:{{id}}' },
      'invalid_idempotency_key',
      /^idempotencyKey was "triage:\{\{id\}\}": the event id in it is empty or a placeholder; fill it/,
    ],
    [
      'a space in the key',
      { idempotencyKey: 'a b' },
      'invalid_idempotency_key',
      /^idempotencyKey contains a space.*; send/,
    ],
    [
      'an unknown argument',
      { public: true },
      'validation_failed',
      /^public is not accepted; remove it\. Accepted fields:/,
    ],
  ])('refuses %s with a result that says what to correct', async (_, change, code, text) => {
    const { organization, key, api } = await makeWorld();
    const result = await resultOf(api, key, name, { ...args, ...change });
    expect(result).toMatchObject({ isError: true, structuredContent: { code } });
    expect(sentence(result)).toMatch(text);
    expect(result.structuredContent['message']).toBe(sentence(result));
    expect(await rowsOf(table, organization)).toEqual([]);
    expect((await resultOf(api, key, name, args)).isError).toBeUndefined();
  });

  test('refuses an idempotencyKey without an event id, and accepts what looks like one but is not', () => {
    const tool = Object.values(TOOLS).find((each) => each.name === name);
    const codesOf = (keys: readonly string[]) =>
      keys.map((idempotencyKey) => {
        const parsed = tool?.parse({ ...args, idempotencyKey }, 'twb');
        return [idempotencyKey, parsed?.ok ? 'accepted' : parsed?.problem.code];
      });
    expect(codesOf(WITHOUT_EVENT_ID)).toEqual(WITHOUT_EVENT_ID.map((key) => [key, 'invalid_idempotency_key']));
    expect(codesOf(WITH_EVENT_ID)).toEqual(WITH_EVENT_ID.map((key) => [key, 'accepted']));
  });

  test('accepts a ticket id as an integer: it is the same request', async () => {
    const { key, api } = await makeWorld();
    const first = await resultOf(api, key, name, { ...args, ticketId: 1001 });
    expect(first.structuredContent).toMatchObject({ ticketId: '1001', idempotentReplay: false });
    expect((await resultOf(api, key, name, args)).structuredContent).toMatchObject({
      idempotentReplay: true,
      idempotencyMismatch: false,
    });
  });

  test('reports all wrong arguments together', async () => {
    const { key, api } = await makeWorld();
    for (const nothing of [{}, undefined]) {
      const { structuredContent } = await resultOf(api, key, name, nothing);
      const required = name === 'log_time' ? 5 : 3;
      expect(structuredContent['errors']).toHaveLength(required);
    }
  });

  test('reports a plan without PSA, and records the refused use', async () => {
    const organization = await makeOrganization({ psa: false });
    const { value: key } = await makeKey(organization);
    const api = makeMcpApi();
    const result = await resultOf(api, key, name, args);
    expect(result).toMatchObject({ isError: true, structuredContent: { code: 'psa_not_included' } });
    expect(sentence(result)).toMatch(/Ask the provider of your ticketing system/);
    await api.settled();
    expect(await rowsOf('refused_uses', organization)).toMatchObject([{ reason: 'psa_not_included' }]);
  });

  test('reports a daily limit with the time to wait, and records the refused use', async () => {
    const { organization, key } = await makeWorld();
    const api = makeMcpApi({ config: { dayLimits: { key: { records: 1, bytes: 1_000_000 }, organization: null } } });
    await resultOf(api, key, name, args);
    const result = await resultOf(api, key, name, { ...args, idempotencyKey: 'triage:evt-2' });
    expect(result).toMatchObject({
      isError: true,
      structuredContent: {
        code: 'daily_limit_reached',
        'violated-policies': ['key-day'],
        retryAfterSeconds: expect.any(Number),
      },
    });
    expect(sentence(result)).toMatch(/with the same idempotencyKey after midnight \(UTC\)/);
    await api.settled();
    expect(await rowsOf('refused_uses', organization)).toMatchObject([{ reason: 'daily_limit_reached' }]);
  });
});

test('log_time credits a technician, and reports an unknown address', async () => {
  const { organization, key, api } = await makeWorld();
  const userEmail = 'Tess@Northwind.example';
  expect((await resultOf(api, key, 'log_time', { ...TIME_ARGUMENTS, userEmail })).structuredContent).toMatchObject({
    userId: 'tess',
  });
  const ivan = { ...TIME_ARGUMENTS, idempotencyKey: 'b', userEmail: 'ivan@northwind.example' };
  expect(await resultOf(api, key, 'log_time', ivan)).toMatchObject({
    isError: true,
    structuredContent: { code: 'technician_not_eligible' },
  });
  expect(await rowsOf('time_entries', organization)).toHaveLength(1);
});

test('log_time without a technician, and with null as the technician, are the same request', async () => {
  const { key, api } = await makeWorld();
  const first = await resultOf(api, key, 'log_time', { ...TIME_ARGUMENTS, userEmail: null });
  expect(first.structuredContent).toMatchObject({ userId: 'automation', idempotentReplay: false });
  expect((await resultOf(api, key, 'log_time', TIME_ARGUMENTS)).structuredContent).toMatchObject({
    idempotentReplay: true,
    idempotencyMismatch: false,
  });
});

test('a call with a cached key costs one call to D1, and counts as one request', async () => {
  const { key } = await makeWorld();
  const { api, d1 } = makeCountedApi({ agents: true });
  const remaining = async (idempotencyKey: string) => {
    const response = await callTool(api, key, 'add_internal_note', { ...NOTE_ARGUMENTS, idempotencyKey });
    return Number(/"key";r=(\d+)/.exec(response.headers.get('RateLimit') ?? '')?.[1]);
  };
  const first = await remaining('a');
  expect(d1).toHaveLength(2);
  expect(await remaining('b')).toBe(first - 1);
  expect(d1).toHaveLength(3);
});

test('a call that the database refused asks to wait', async () => {
  vi.spyOn(console, 'error').mockImplementation(() => undefined);
  const DB = aroundD1(env.DB, (run, statements) =>
    statements === 1 ? run() : Promise.reject(new Error('D1 DB is overloaded. Too many requests queued.')),
  );
  const { key } = await makeWorld();
  vi.spyOn(Math, 'random').mockReturnValue(0.5);
  const tool = await resultOf(makeMcpApi({ bindings: { DB } }), key, 'add_internal_note', NOTE_ARGUMENTS);
  vi.restoreAllMocks();
  expect(tool.structuredContent).toMatchObject({ code: 'unavailable', retryAfterSeconds: 6 });
  expect(sentence(tool)).toMatch(/Call again after retryAfterSeconds\.$/);
});

test('a pasted key in a refused argument is not repeated, and none is accepted as an idempotencyKey', async () => {
  const { key, api } = await makeWorld();
  const pasted = [
    { ...NOTE_ARGUMENTS, idempotencyKey: key },
    { ...NOTE_ARGUMENTS, ticketId: key },
    { ...NOTE_ARGUMENTS, [key]: 1 },
  ];
  for (const args of pasted) {
    const response = await callTool(api, key, 'add_internal_note', args);
    const text = await response.text();
    expect(text).toContain('"isError":true');
    expect(text).not.toContain(key.slice(4));
  }
});

test('the log of refused requests has the ticket and the wrong fields of a refused call, which writes nothing', async () => {
  const { organization, key, api } = await makeWorld();
  const { idempotencyKey: _, ...withoutKey } = TIME_ARGUMENTS;
  for (const wrong of [
    withoutKey,
    { ...TIME_ARGUMENTS, minutes: 0 },
    { ...TIME_ARGUMENTS, ticketId: 'no id' },
    { ...TIME_ARGUMENTS, dryRun: 'yes' },
    { ...TIME_ARGUMENTS, idempotencyKey: 'triage:' },
  ])
    expect(await resultOf(api, key, 'log_time', wrong)).toMatchObject({ isError: true });
  await api.settled();
  const rows = await rowsOf('refused_requests', organization);
  expect(rows.map(({ reason, ticket_id, pointers }) => [reason, ticket_id, pointers])).toEqual([
    ['invalid_idempotency_key', '1001', null],
    ['validation_failed', '1001', '["/minutes"]'],
    ['validation_failed', '?', '["/?"]'],
    ['validation_failed', '1001', '["/?"]'],
    ['invalid_idempotency_key', '1001', null],
  ]);
  expect(await rowsOf('time_entries', organization)).toEqual([]);
});
