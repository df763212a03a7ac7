import { execFile, spawn } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { withIncludes } from '../../src/docs/blocks.ts';
import home from '../../src/docs/pages/home.md?raw';
import loop from '../../src/docs/pages/loop.md?raw';
import { makeKey } from '../reliability/restartable.ts';
import { isInstalled } from '../support/command.ts';
import { bashCommandsOf, bashUpTo, codesOf, codesOfPage, RANDOM, snippetOf } from '../support/recipes.ts';
import { startProduction } from '../support/shared.ts';

// What the recipes give to copy, run as it is, against a server whose limit it runs into.

const run = promisify(execFile);

let server: Omit<Awaited<ReturnType<typeof startProduction>>, 'url'> & { url: string };
let directory: string;
/** Installs the TypeScript client while the first tests run. */
let installed: Promise<void>;

beforeAll(async () => {
  const { url, ...worker } = await startProduction({ KEY_LIMIT: '10/2s' });
  server = { ...worker, url: url.origin };
  directory = await mkdtemp(join(tmpdir(), 'twb-client-'));
  installed = installClient();
  installed.catch(() => undefined);
});
afterAll(async () => {
  await installed.catch(() => undefined);
  await rm(directory, { recursive: true });
  await server.close();
});

let cwd: string;
beforeEach(async () => {
  // Each test has a key of its own, and waits only for the limit that it uses up itself.
  server.key = (await makeKey(server.db, 'northwind', `Recipe ${crypto.randomUUID()}`)).value;
  cwd = await mkdtemp(join(tmpdir(), 'twb-recipe-'));
  return () => rm(cwd, { recursive: true });
});

interface SentRequest {
  method: 'GET' | 'POST';
  url: string;
  headers: Record<string, string>;
  body: unknown;
}

/** Sends a request with the key, again while the limit refuses it. */
async function send({ method, url, headers, body }: SentRequest) {
  for (;;) {
    const response = await fetch(url, {
      method,
      headers: { Authorization: `Bearer ${server.key}`, 'Content-Type': 'application/json', ...headers },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    if (response.status !== 429)
      return { status: response.status, body: z.looseObject({}).parse(await response.json()) };
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

/** The status of one more request with this Idempotency-Key: 200 if the record exists. */
async function repeat(idempotencyKey: string, minutes = 30, description = 'Cleared the print queue') {
  const body = { minutes, description, billable: true };
  const url = `${server.url}/api/v1/tickets/1001/time-entries`;
  return send({ method: 'POST', url, headers: { 'Idempotency-Key': idempotencyKey }, body });
}

/** Uses up the limit of the key. */
async function burst() {
  const headers = { Authorization: `Bearer ${server.key}` };
  await Promise.all(
    Array.from({ length: 10 }, async () => (await fetch(`${server.url}/api/v1/ping`, { headers })).text()),
  );
}

/** Runs a script in a shell, which types the key when it is asked for it. */
async function inShell(command: string, args: string[]) {
  // The variables that the recipe sets must not come from here.
  const { TICKETS_URL: _url, TICKETS_API_KEY: _key, ...env } = process.env;
  const shell = spawn(command, args, { cwd, env, stdio: ['pipe', 'pipe', 'pipe'] });
  shell.stdin.end(`${server.key}\n`);
  const ended = new Promise<number | null>((resolve) => shell.once('close', resolve));
  const [stdout, stderr, code] = await Promise.all([text(shell.stdout), text(shell.stderr), ended]);
  return { stdout, stderr, code };
}
const inBash = (script: string) => inShell('bash', ['-c', script]);

/** The response that the command of the recipe for curl stored. */
const writtenResponse = async (): Promise<unknown> => JSON.parse(await readFile(join(cwd, 'response.json'), 'utf8'));

/** The commands of a recipe for the ticket of the demo, with this event instead of a random one. */
const withEvent = (script: string, eventId: string) => script.replace(/^EVENT_ID=.*$/m, `EVENT_ID='${eventId}'`);

test('curl: the first note is written once, and its repetition is a replay', async () => {
  const script = withEvent(bashUpTo('curl', server.url, 'First note'), 'evt-curl-first');
  const last = script.slice(script.lastIndexOf('\ncurl '));
  const { stdout, code } = await inBash(script + last);
  expect(code).toBe(0);
  expect(stdout).toMatch(
    /^\n?\{"dryRun":true,"ticketId":"1001"\}\n200\n\{"note":\{"id":"[0-9a-f-]{36}".*\n201\n.*"idempotentReplay":true.*\n200\n/s,
  );
});

test.each([
  ['Add a note', 'note', ['Dry run', 'First note', 'Event of the script']],
  ['Log time', 'entry', ['Dry run', 'First note', 'Event of the script', 'Add a note']],
])('curl: %s waits for the limit and writes once', async (label, field, without) => {
  const script = withEvent(bashUpTo('curl', server.url, label, without), `evt-curl-${field}`);
  const beforeWrite = script.lastIndexOf('\ncurl ');
  const flood = `for i in 1 2 3 4 5 6 7 8 9 10; do
    curl -s -o /dev/null "$TICKETS_URL/api/v1/ping" -H "Authorization: Bearer $TICKETS_API_KEY" &
  done; wait`;
  const { stdout, code } = await inBash(`${script.slice(0, beforeWrite)}\n${flood}${script.slice(beforeWrite)}`);
  expect([code, stdout]).toEqual([0, expect.stringMatching(/201\n$/)]);
  expect(await writtenResponse()).toMatchObject({ [field]: { id: expect.any(String) } });
  // The same event id for a different text.
  const mismatch = await inBash(script.replace(/Disk was full|Cleared the/, 'Another'));
  expect([mismatch.code, mismatch.stdout]).toEqual([22, expect.stringMatching(/409\n$/)]);
  expect(await writtenResponse()).toMatchObject({ code: 'idempotency_mismatch' });
});

test.each([
  ['an event without an id', /^EVENT_ID=.*$/m, "EVENT_ID=''", '400'],
  ['a wrong key', /^read .*$/m, 'export TICKETS_API_KEY=twb_wrong', '401'],
  ['an unknown ticket', "TICKET_ID='1001'", "TICKET_ID='9'", '404'],
  ['no connection', /^export TICKETS_URL=.*$/m, "export TICKETS_URL='http://127.0.0.1:1'", '000'],
])('curl: a script ends with an error after %s, and leaves no earlier response', async (_, line, change, status) => {
  for (const label of ['Add a note', 'Log time']) {
    await writeFile(join(cwd, 'response.json'), 'an earlier response');
    const others = ['Dry run', 'First note', 'Event of the script', ...(label === 'Log time' ? ['Add a note'] : [])];
    const script = withEvent(bashUpTo('curl', server.url, label, others), `evt-${crypto.randomUUID()}`);
    const once = script.replace('set -e\n', '').replace(line, change).replace('--retry 5', '--retry 0');
    const { code, stdout } = await inBash(`${once}\necho next`);
    expect([code, stdout.trim().slice(-3)]).toEqual([status === '000' ? 7 : 22, status]);
    const response = await readFile(join(cwd, 'response.json'), 'utf8').catch(() => '');
    expect(response).toMatch(status === '000' ? /^$/ : new RegExp(`"status":${status}`));
  }
});

test('the loop: its command writes once for an event, with the ids of the event', async () => {
  const [event, command] = codesOfPage(loop, server.url);
  const { event_id, data } = JSON.parse(event?.versions[0]?.text ?? '');
  const text = command?.versions[0]?.text ?? '';
  expect(text).toMatch(new RegExp(`^TICKET_ID='${data.ticket_id}'\nEVENT_ID='${event_id}'\n`));
  const script = `export TICKETS_API_KEY='${server.key}'\n${text.replace(data.ticket_id, '1001')}\n`;
  const { stdout } = await inBash(script + script);
  expect(stdout).toMatch(/^\{"entry":.*"SUBMITTED".*\{"entry":.*"idempotentReplay":true/);
});

test('start page: its commands, copied one after the other, write once', async () => {
  const commands = codesOfPage(withIncludes(home, { readers: '' }), server.url).flatMap(({ versions }) => versions);
  const script = commands.filter(({ language }) => language === 'bash').map(({ text }) => text);
  const { stdout } = await inBash([...script, script.at(-1)].join('\n'));
  expect(stdout).toMatch(/\{"note":\{"id".*\{"note":.*"idempotentReplay":true/s);
});

describe.runIf(isInstalled('python3'))('Python', () => {
  const scriptFor = (eventId: string, kind = 'time') =>
    withEvent(bashUpTo('python', server.url, 'First note', ['Dry run']).replace('" note', `" ${kind}`), eventId);
  const python = async (eventId: string, kind?: string) => {
    await writeFile(join(cwd, 'write_back.py'), snippetOf('python', server.url, 'write_back.py'));
    return inBash(scriptFor(eventId, kind));
  };

  test('the script waits for the limit and writes once', async () => {
    await burst();
    const { stdout, stderr, code } = await python('evt-python');
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/201 \{"entry": \{"id": "[0-9a-f-]{36}".*\}\n$/);
    expect((await repeat('triage:evt-python', 30, 'Disk was full, old logs removed.')).body).toMatchObject({
      idempotentReplay: true,
    });
    expect((await python('evt-python')).stdout).toMatch(/200 \{.*"idempotentReplay": true\}\n$/);
    expect((await python('evt-python-note', 'note')).stdout).toMatch(/201 \{"note": /);
  });

  test('the script ends with the problem if the event has no id, or an id that was used before', async () => {
    const empty = await python('');
    expect([empty.code, empty.stdout.trim()]).toEqual([1, '']);
    expect(empty.stderr).toMatch(/^400 .*"code":"invalid_idempotency_key"/);
    await repeat('triage:evt-other', 5);
    expect((await python('evt-other')).stderr).toMatch(/^409 .*"code":"idempotency_mismatch"/);
  });

  test.each([
    ['a wrong key', /^read .*$/m, 'export TICKETS_API_KEY=twb_wrong', /^401 .*"status":401/],
    ['an unknown ticket', "TICKET_ID='1001'", "TICKET_ID='9'", /^404 .*"code":"ticket_not_found"/],
    ['no connection', /^export TICKETS_URL=.*$/m, "export TICKETS_URL='http://127.0.0.1:1'", /^No response: /],
    ['no arguments', /^python3 .*$/m, 'python3 write_back.py', /^Writes to a ticket: .* EVENT_ID note\|time$/m],
    ['an unknown kind', '" time', '" notes', /^Writes to a ticket: /],
    ['no address', /^export TICKETS_URL=.*$/m, '', /KeyError: 'TICKETS_URL'/],
  ])('the script ends with an error after %s', async (_, line, change, expected) => {
    const once = snippetOf('python', server.url, 'write_back.py').replace('MAX_ATTEMPTS = 10', 'MAX_ATTEMPTS = 1');
    await writeFile(join(cwd, 'write_back.py'), once);
    const script = scriptFor(`evt-${crypto.randomUUID()}`).replace(line, change);
    expect(await inBash(script)).toMatchObject({ code: 1, stderr: expect.stringMatching(expected) });
  });
});

test.each(['pwsh'].filter(isInstalled))(
  'PowerShell: the commands, copied one after the other, write once',
  async (shell) => {
    const commands = codesOf('powershell', server.url).flatMap(({ versions }) => versions);
    const script = commands.filter(({ language }) => language === 'powershell').map(({ text }) => text);
    await writeFile(join(cwd, 'recipe.ps1'), script.join('\n'));
    const { stdout, code } = await inShell(shell, ['-NoProfile', '-File', 'recipe.ps1', 'evt-powershell']);
    expect([code, stdout]).toEqual([0, expect.stringMatching(/\n201 \{.*\}\s*$/)]);
    expect((await repeat('triage:evt-powershell')).body).toMatchObject({ idempotentReplay: true });
  },
);

test('n8n: the command to import checks the first note, and writes it without the end of its address', async () => {
  const command = snippetOf('n8n', server.url, 'Command to import').replace(
    /$/,
    ` -H 'Authorization: Bearer ${server.key}'`,
  );
  const respond = async (script: string): Promise<unknown> => JSON.parse((await run('bash', ['-c', script])).stdout);
  expect(await respond(command)).toEqual({ dryRun: true, ticketId: '1001' });
  expect(await respond(command.replace('/dry-run', ''))).toMatchObject({ note: { id: expect.any(String) } });
});

/** What a recipe without a terminal writes for each kind of record. */
const KINDS = [
  ['note', 'Disk was full, old logs removed.'],
  ['time entry', 'Cleared the print queue'],
] as const;
type Kind = (typeof KINDS)[number][0];

/** Expects that a request writes a record, and that its repetition is a replay. */
async function writesOnce(kind: Kind, { url, headers, body }: Omit<SentRequest, 'method'>) {
  const sent = { method: 'POST' as const, url, headers, body };
  const record = { [kind === 'note' ? 'note' : 'entry']: { id: expect.any(String) } };
  expect(await send(sent)).toMatchObject({ status: 201, body: record });
  expect(await send(sent)).toMatchObject({ status: 200, body: { idempotentReplay: true } });
}

test.each([
  ['make', 'URL of the first note', 'Sample of a note'],
  ['zapier', 'URL of the first note', 'Body of the first note'],
  ['power-automate', 'URI of the first note', 'Body of the first note'],
])('%s: the first note is checked, and then written once', async (slug, url, body) => {
  const idempotencyKey = snippetOf(slug, server.url, 'First Idempotency-Key');
  expect(idempotencyKey).toBe(`triage:first-${RANDOM}`);
  const headers = { 'Idempotency-Key': `${idempotencyKey}-${slug}` };
  const sent = { headers, body: JSON.parse(snippetOf(slug, server.url, body)) };
  const dryRun = snippetOf(slug, server.url, url);
  expect((await send({ ...sent, method: 'POST', url: dryRun })).body).toEqual({ dryRun: true, ticketId: '1001' });
  await writesOnce('note', { ...sent, url: dryRun.replace(/\/dry-run$/, '') });
});

describe('Zapier', () => {
  const event = (kind: Kind) =>
    z.record(z.string(), z.unknown()).parse(JSON.parse(snippetOf('zapier', server.url, `Event for a ${kind}`)));

  /** Runs the code of a Code step. Zapier passes every value as a text. */
  const codeStep = (label: string, inputData: Record<string, string>): unknown =>
    runInNewContext(`(async () => {${snippetOf('zapier', server.url, label)}})()`, { inputData });
  const inputOf = (kind: Kind, change: Record<string, string> = {}) => {
    const names = snippetOf('zapier', server.url, `Input data of a ${kind}`).split('\n');
    const values: Record<string, unknown> = { ...event(kind), eventId: `evt-zapier-${kind.length}`, ...change };
    return Object.fromEntries(names.map((name) => [name, String(values[name])]));
  };
  const output = z.object({ url: z.string(), idempotencyKey: z.string(), body: z.string() });

  test.each(KINDS)('the code makes a request for a %s that the service accepts', async (kind, text) => {
    expect(Object.values(event(kind))).toContain(text);
    const hostile = 'He said "done",\nand left 🖨️';
    const input = inputOf(kind, { [kind === 'note' ? 'message' : 'description']: hostile });
    const { url, idempotencyKey, body } = output.parse(await codeStep(`Code for a ${kind}`, input));
    const sent = JSON.parse(body);
    expect(sent).toEqual(
      kind === 'note' ? { message: hostile } : { minutes: 30, description: hostile, billable: true },
    );
    await writesOnce(kind, { url, headers: { 'Idempotency-Key': idempotencyKey }, body: sent });
  });

  test.each(KINDS)('the code for a %s refuses an event without an id or a ticket', async (kind) => {
    for (const missing of ['eventId', 'ticketId'])
      await expect(codeStep(`Code for a ${kind}`, inputOf(kind, { [missing]: '' }))).rejects.toThrow(
        `${missing} is empty`,
      );
  });
});

test.each(KINDS)('Make: addresses, header and sample of a %s make a request that the service accepts', async (kind) => {
  const event: Record<string, unknown> = JSON.parse(snippetOf('make', server.url, `Event for a ${kind}`));
  const mapped = (value: string) => value.replace(/\{\{2\.(\w+)\}\}/g, (_, name: string) => String(event[name]));
  const body = JSON.parse(snippetOf('make', server.url, `Sample of a ${kind}`));
  const idempotencyKey = mapped(snippetOf('make', server.url, 'Value of Idempotency-Key'));
  expect(idempotencyKey).toBe(`triage:evt-${RANDOM}`);
  const url = mapped(snippetOf('make', server.url, `URL of a ${kind}`));
  await writesOnce(kind, { url, headers: { 'Idempotency-Key': `${idempotencyKey}-make-${kind.length}` }, body });
});

/** A file of a recipe for this server. */
const fileOf = async (name: string): Promise<unknown> =>
  JSON.parse(
    (await readFile(`build/static/docs/recipes/${name}`, 'utf8')).replaceAll('https://tickets.example', server.url),
  );

test('n8n: the expressions of the workflow make a request for an entry and one for a note', async () => {
  const parameters = z.object({
    url: z.string(),
    headerParameters: z.object({ parameters: z.array(z.object({ name: z.string(), value: z.string() })) }),
    jsonBody: z.string(),
  });
  const workflow = z.object({
    nodes: z.array(z.object({ name: z.string(), onError: z.string().optional(), parameters: z.unknown() })),
    connections: z.record(z.string(), z.object({ main: z.array(z.array(z.object({ node: z.string() }))) })),
  });
  const { nodes, connections } = workflow.parse(await fileOf('n8n.json'));
  // Either of the two nodes may be deleted.
  expect(new Set(JSON.stringify(nodes).match(/\$\('[^']+'\)/g))).toEqual(new Set(["$('Work done')"]));
  const event: unknown = JSON.parse(snippetOf('n8n', server.url, 'Event'));
  const context = { $: () => ({ item: { json: { body: event } } }) };
  const evaluate = (text: string) =>
    text.slice(1).replace(/\{\{(.*?)\}\}/gs, (_, code: string) => String(runInNewContext(code, context)));
  for (const [kind, name] of [
    ['time entry', 'Log time'],
    ['note', 'Add note'],
  ] as const) {
    const node = nodes.find((candidate) => candidate.name === name);
    // Otherwise n8n responds to a failed event with 200.
    expect(node?.onError).toBe('continueErrorOutput');
    expect(connections[name]?.main[1]).toMatchObject([{ node: 'Respond: failed' }, { node: 'Stop: failed' }]);
    const { url, headerParameters, jsonBody } = parameters.parse(node?.parameters);
    const given = Object.fromEntries(headerParameters.parameters.map(({ name, value }) => [name, value]));
    const { 'Idempotency-Key': expression = '', ...others } = given;
    expect(others).toEqual({ Prefer: 'handling=strict' });
    const headers = { ...others, 'Idempotency-Key': `${evaluate(expression)}-n8n` };
    await writesOnce(kind, { url: evaluate(url), headers, body: JSON.parse(evaluate(jsonBody)) });
  }
});

test.each(KINDS)(
  'Node-RED: the functions of the flow make a request for a %s, and retry only a 429',
  async (kind, text) => {
    const flow = z.array(z.object({ name: z.string().default(''), func: z.string().default('') }));
    const nodes = flow.parse(await fileOf('node-red.json'));
    const variables = { TICKETS_URL: server.url, TICKETS_API_KEY: server.key, WEBHOOK_TOKEN: 'token' };
    const env = { get: (name: keyof typeof variables) => variables[name] };
    const call = (name: string, msg: object): unknown =>
      runInNewContext(`(function () {${nodes.find((node) => node.name === name)?.func}\n})()`, { msg, env });
    const event = { eventId: `evt-node-red-${kind.length}`, ticketId: '1001' };
    const fields = kind === 'note' ? { message: text } : { minutes: 30, description: text, billable: true };
    const deliver = (payload: object, token = 'token') =>
      call('Build request', { payload, req: { headers: { 'x-webhook-token': token } } });

    expect(await deliver({ ...event, ...fields }, 'another')).toEqual([
      null,
      expect.objectContaining({ statusCode: 401 }),
    ]);
    expect(await deliver({ ...fields, ticketId: '1001' })).toEqual([
      null,
      expect.objectContaining({ statusCode: 400 }),
    ]);
    const [msg] = z.tuple([z.looseObject({}), z.null()]).parse(deliver({ ...event, ...fields }));
    const request = z.looseObject({ url: z.string(), headers: z.record(z.string(), z.string()), payload: z.unknown() });
    const { url, headers, payload, ...rest } = request.parse(call('Set the request', msg));
    await writesOnce(kind, { url, headers, body: payload });
    const outputs = (statusCode: number, answer: Record<string, string>, code?: string) =>
      z.array(z.unknown()).parse(call('Check response', { ...rest, statusCode, headers: answer, payload: { code } }));
    expect(outputs(429, { 'retry-after': '7' })).toEqual([null, expect.anything(), null]);
    expect(outputs(422, {})).toEqual([expect.objectContaining({ statusCode: 422 }), null, null]);
    expect(headers['Prefer']).toBe('handling=strict');
    const mismatch = outputs(409, {}, 'idempotency_mismatch');
    expect(mismatch).toEqual([expect.objectContaining({ statusCode: 409 }), null, null]);
  },
);

describe('TypeScript', () => {
  test('the program compiles strictly with the package that the service offers, and writes once', async () => {
    await installed;
    const env = { ...process.env, TICKETS_URL: server.url, TICKETS_API_KEY: server.key, TICKET_ID: '1001' };
    const main = async (...args: string[]) =>
      (await run('node', [join(directory, 'main.ts'), ...args], { env })).stdout;
    for (const kind of ['note', 'time']) {
      expect(await main(`evt-typescript-${kind}`, kind)).not.toContain('idempotentReplay');
      expect(await main(`evt-typescript-${kind}`, kind)).toContain('idempotentReplay: true');
    }
    await expect(main('', 'note')).rejects.toThrow(/code: 'invalid_idempotency_key'/);
    await expect(main('evt-typescript-kind', 'notes')).rejects.toThrow('Usage: ');
  });

  test('the client writes 30 entries simultaneously', async () => {
    await installed;
    const env = { ...process.env, TICKETS_URL: server.url, TICKETS_API_KEY: server.key };
    const { stdout } = await run('node', [join(directory, 'many.ts')], { env });
    const { ids, replays, credited, again, mismatch } = z
      .object({
        ids: z.array(z.string()),
        replays: z.number(),
        credited: z.string(),
        again: z.string(),
        mismatch: z.string(),
      })
      .parse(JSON.parse(stdout));
    expect(new Set(ids).size).toBe(30);
    expect(replays).toBe(0);
    expect(credited).toBe('automation');
    // The same entry, now for a technician, is the one that was written for the service account.
    expect(again).toBe(ids[0]);
    // Another entry with the same event id was not written, and the caller learns it.
    expect(mismatch).toBe('idempotency_mismatch');
  });
});

/** Installs the package as the recipe does, and compiles two programs with it. @throws if one does not compile */
async function installClient(): Promise<void> {
  const name = 'ticket-write-back-client-1.0.0.tgz';
  await cp(`build/static/docs/connectors/${name}`, join(directory, name));
  const install = bashCommandsOf('typescript', server.url).get('Install the client') ?? '';
  await run('bash', ['-c', install], { cwd: directory });
  await writeFile(join(directory, 'main.ts'), snippetOf('typescript', server.url, 'main.ts'));
  await writeFile(join(directory, 'many.ts'), MANY);
  await writeFile(join(directory, 'tsconfig.json'), JSON.stringify(STRICT));
  await run(join(import.meta.dirname, '../clients/node_modules/.bin/tsc'), ['-p', directory]);
}

const STRICT = {
  compilerOptions: {
    target: 'ES2022',
    lib: ['ES2022', 'DOM'],
    module: 'nodenext',
    strict: true,
    noUncheckedIndexedAccess: true,
    exactOptionalPropertyTypes: true,
    noEmit: true,
    types: ['node'],
    typeRoots: [resolve('node_modules/@types')],
  },
};

/**
 * Writes 30 entries at once with a limit of 10 in 2 seconds, one for a technician who cannot be
 * credited, and then uses the event id of the first one twice more.
 */
const MANY = `import { WriteBackClient, WriteBackError } from 'ticket-write-back-client';

const { TICKETS_URL: url = '', TICKETS_API_KEY: key = '' } = process.env;
const tickets = new WriteBackClient({ url, key, workflow: 'client' });
const entry = { ticketId: '1001', minutes: 5, description: 'Cleared the print queue', billable: true };
const written = await Promise.all(Array.from({ length: 30 }, (_, n) => tickets.logTime({ ...entry, eventId: \`evt-\${n}\` })));
const forIvan = { userEmail: 'ivan@northwind.example', orServiceAccount: true };
const resent = await tickets.logTime({ ...entry, ...forIvan, eventId: 'evt-ivan' });
const again = await tickets.logTime({ ...entry, ...forIvan, eventId: 'evt-0' });
const mismatch = await tickets.logTime({ ...entry, eventId: 'evt-0', minutes: 6 }).catch((err) => err);
console.log(
  JSON.stringify({
    ids: written.map(({ entry }) => entry.id),
    replays: written.filter((answer) => answer.idempotentReplay).length,
    credited: resent.entry.userId,
    again: again.entry.id,
    mismatch: mismatch instanceof WriteBackError ? mismatch.code : '',
  }),
);
`;
