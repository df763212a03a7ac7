import { execFile, spawn } from 'node:child_process';
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { isInstalled } from '../support/command.ts';
import { n8nWorkflow, type SentRequest } from '../support/n8n.ts';
import { bashCommandsOf, bashUpTo, codesOf, snippetOf } from '../support/recipes.ts';
import { startServer } from '../support/server.ts';

// What the recipes give to copy, run as it is, against a server whose limit it runs into.

const run = promisify(execFile);
const CLIENTS = join(import.meta.dirname, '../clients');

let server: Awaited<ReturnType<typeof startServer>>;
let directory: string;
/** Compiles the TypeScript client while the first tests wait for the limit. */
let compiled: Promise<void>;

beforeAll(async () => {
  server = await startServer('--var', 'KEY_LIMIT:10/2s');
  directory = await mkdtemp(join(CLIENTS, '.client-'));
  compiled = compileClient();
  compiled.catch(() => undefined);
});
afterAll(async () => {
  await compiled.catch(() => undefined);
  await rm(directory, { recursive: true });
  await server.close();
});

let cwd: string;
beforeEach(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'twb-recipe-'));
  return () => rm(cwd, { recursive: true });
});

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
async function repeat(idempotencyKey: string, minutes = 30) {
  const body = { minutes, description: 'Cleared the print queue', billable: true };
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

test('curl: the commands, copied one after the other, wait for the limit and write once', async () => {
  const script = bashUpTo('curl', server.url, 'Log time');
  const beforeWrite = script.lastIndexOf('\ncurl ');
  // The ping is not retried, so the limit is used up after it.
  const flood = `for i in 1 2 3 4 5 6 7 8 9 10; do
    curl -s -o /dev/null "$TICKETS_URL/api/v1/ping" -H "Authorization: Bearer $TICKETS_API_KEY" &
  done; wait`;
  const { stdout, code } = await inBash(`${script.slice(0, beforeWrite)}\n${flood}${script.slice(beforeWrite)}`);
  expect(code).toBe(0);
  expect(stdout).toContain('"keyName":"Local demo"');
  expect(stdout).toMatch(/201\n\{"entry":\{"id":"[0-9a-f-]{36}"/);
  expect((await repeat('triage:evt-curl-1')).body).toMatchObject({ idempotentReplay: true });
});

test('curl: an event without an id is refused, and nothing is written', async () => {
  const script = bashUpTo('curl', server.url, 'Log time').replace("EVENT_ID='evt-curl-1'", "EVENT_ID=''");
  const { stdout, code } = await inBash(script.replace('set -e', ''));
  expect(code).toBe(0);
  expect(stdout).toMatch(/400\n.*"code":"invalid_idempotency_key".*the event id in it came out empty/);
});

describe.runIf(isInstalled('python3'))('Python', () => {
  const python = async (eventId: string) => {
    await writeFile(join(cwd, 'log_time.py'), snippetOf('python', server.url, 'log_time.py'));
    const script = bashUpTo('python', server.url, 'Run the script');
    // The ping of the recipe is not retried.
    return inBash(script.replace(/^curl .*$/m, '').replace('evt-python-1', eventId));
  };

  test('the script waits for the limit and writes once', async () => {
    await burst();
    const { stdout, stderr, code } = await python('evt-python');
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^201 [0-9a-f-]{36}\n$/);
    expect((await repeat('triage:evt-python')).body).toMatchObject({ idempotentReplay: true });
    expect((await python('evt-python')).stdout).toMatch(/^200 /);
  });

  test('the script ends with the problem if the event has no id, or another event had it', async () => {
    const empty = await python("''");
    expect([empty.code, empty.stdout]).toEqual([1, '']);
    expect(empty.stderr).toMatch(/^400 .*"code":"invalid_idempotency_key"/);
    await repeat('triage:evt-other', 5);
    expect((await python('evt-other')).stderr).toMatch(/^Another event used triage:evt-other before/);
  });
});

test.each(['pwsh'].filter(isInstalled))(
  'PowerShell: the commands, copied one after the other, write once',
  async (shell) => {
    const commands = codesOf('powershell', server.url).flatMap(({ versions }) => versions);
    const script = commands.filter(({ language }) => language === 'powershell').map(({ text }) => text);
    await writeFile(join(cwd, 'recipe.ps1'), script.join('\n'));
    const { stdout, code } = await inShell(shell, ['-NoProfile', '-File', 'recipe.ps1']);
    expect([code, stdout]).toEqual([0, expect.stringMatching(/\n201 [0-9a-f-]{36}\s*$/)]);
    expect((await repeat('triage:evt-powershell-1')).body).toMatchObject({ idempotentReplay: true });
  },
);

test('n8n: the workflow, downloaded with the command, pings and writes an entry and a note', async () => {
  const { code } = await inBash(bashUpTo('n8n', server.url, 'Download the workflow'));
  expect(code).toBe(0);
  const file = await readFile(join(cwd, 'n8n.json'), 'utf8');
  expect(file).not.toContain('tickets.example');
  const workflow = n8nWorkflow(file);
  const pinged = await workflow.ping(send);
  expect(pinged.outputs.get('Ping')).toMatchObject({ ok: true, keyName: 'Local demo' });

  const event: unknown = JSON.parse(eventOf('n8n', 'Send the event'));
  const created = { entry: { id: expect.any(String) }, note: { id: expect.any(String) } };
  expect((await workflow.deliver(event, send)).answers).toMatchObject([{ status: 201, body: created }]);
  expect((await workflow.deliver(event, send)).answers).toMatchObject([{ status: 200, body: created }]);
});

describe('Zapier', () => {
  /** Runs the code of the Code step. Zapier passes every value as a text. */
  const codeStep = async (inputData: Record<string, string>) => {
    const code = snippetOf('zapier', server.url, 'Code');
    const output: unknown = await runInNewContext(`(async () => {${code}})()`, { inputData });
    return z.object({ url: z.string(), idempotencyKey: z.string(), body: z.string() }).parse(output);
  };
  const INPUT = {
    eventId: 'evt-zapier',
    ticketId: '1001',
    minutes: '30',
    description: 'He said "done",\nand left 🖨️',
    billable: 'true',
  };

  test('the code makes a request that the service accepts, whatever the text has in it', async () => {
    const { url, idempotencyKey, body } = await codeStep(INPUT);
    const headers = { 'Idempotency-Key': idempotencyKey };
    const sent = { method: 'POST' as const, url, headers, body: JSON.parse(body) };
    expect(sent.body).toEqual({ minutes: 30, description: INPUT.description, billable: true });
    expect(await send(sent)).toMatchObject({ status: 201, body: { entry: { minutes: 30, billable: true } } });
    expect(await send(sent)).toMatchObject({ status: 200, body: { idempotentReplay: true } });
  });

  test('the code refuses an event without an id or a ticket, and names its input', async () => {
    for (const missing of ['eventId', 'ticketId']) {
      await expect(codeStep({ ...INPUT, [missing]: '' })).rejects.toThrow(`${missing} is empty`);
      const { [missing]: _, ...rest }: Record<string, string> = INPUT;
      await expect(codeStep(rest)).rejects.toThrow(`${missing} is empty`);
    }
    const names = snippetOf('zapier', server.url, 'Names of the input data').split('\n');
    expect(names).toEqual(Object.keys(INPUT));
  });
});

test('Make: the address, the header and the sample of the body make a request that the service accepts', async () => {
  const event: Record<string, unknown> = JSON.parse(eventOf('make', 'Send the event'));
  const mapped = (value: string) => value.replace(/\{\{1\.(\w+)\}\}/g, (_, name: string) => String(event[name]));
  const sent = {
    method: 'POST' as const,
    url: mapped(snippetOf('make', server.url, 'URL')),
    headers: { 'Idempotency-Key': `${mapped(snippetOf('make', server.url, 'Value of Idempotency-Key'))}-make` },
    body: JSON.parse(snippetOf('make', server.url, 'Sample of the body')),
  };
  expect(sent.headers).toEqual({ 'Idempotency-Key': 'triage:evt-make-1-make' });
  expect((await send(sent)).status).toBe(201);
});

test('Power Automate: the expressions make a request that the service accepts, with the types of the event', async () => {
  const event: Record<string, unknown> = JSON.parse(snippetOf('power-automate', server.url, 'Sample payload'));
  const payload = { ...event, eventId: 'evt-flow', description: 'He said "done",\nand left' };
  /** The functions of the workflow definition language that the recipe uses. */
  const functions = {
    triggerBody: () => payload,
    json: (value: string) => JSON.parse(value),
    setProperty: (object: object, name: string, value: unknown) => ({ ...object, [name]: value }),
  };
  const evaluate = (expression: string): unknown => runInNewContext(expression.replaceAll('?[', '?.['), functions);
  const filled = (label: string) =>
    snippetOf('power-automate', server.url, label).replace(/@\{(.+?)\}/g, (_, inner: string) =>
      String(evaluate(inner)),
    );
  const sent = {
    method: 'POST' as const,
    url: filled('URI'),
    headers: { 'Idempotency-Key': filled('Value of Idempotency-Key') },
    body: evaluate(snippetOf('power-automate', server.url, 'Expression for Body')),
  };
  expect(sent).toMatchObject({
    headers: { 'Idempotency-Key': 'triage:evt-flow' },
    body: { minutes: 30, description: payload.description, billable: true },
  });
  expect((await send(sent)).status).toBe(201);
});

/** The event in a command of a recipe that sends it. */
function eventOf(slug: string, label: string): string {
  const [, event] = /-d '(\{[^']+\})'/.exec(bashCommandsOf(slug, server.url).get(label) ?? '') ?? [];
  if (event === undefined) throw new Error(`no event in ${label} of ${slug}`);
  return event;
}

describe('TypeScript', () => {
  test('the program compiles strictly with the client and types made from the document, and writes once', async () => {
    await compiled;
    const env = { ...process.env, TICKETS_URL: server.url, TICKETS_API_KEY: server.key };
    const main = async () => (await run('node', [join(directory, 'main.ts'), 'evt-typescript'], { env })).stdout;
    expect(await main()).toMatch(/^201 [0-9a-f-]{36}\n$/);
    expect(await main()).toMatch(/^200 [0-9a-f-]{36}\n$/);
    await expect(run('node', [join(directory, 'main.ts')], { env })).rejects.toThrow('Name the event');
  });

  test('the client writes 30 entries at once', async () => {
    await compiled;
    const env = { ...process.env, TICKETS_URL: `${server.url}/api/v1`, TICKETS_API_KEY: server.key };
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
    // Another entry with the same Idempotency-Key was not written, and the caller learns it.
    expect(mismatch).toContain('Idempotency-Key');
  });
});

/**
 * Makes types from the document and compiles the client and two programs with them. @throws if one
 * does not compile
 */
async function compileClient(): Promise<void> {
  const bin = join(CLIENTS, 'node_modules/.bin');
  await run('openapi-typescript', [`${server.url}/api/v1/openapi.json`, '-o', join(directory, 'api.d.ts')], {
    env: { ...process.env, PATH: `${bin}:${process.env['PATH']}` },
  });
  await copyFile('src/assets/docs/recipes/client.ts', join(directory, 'client.ts'));
  await writeFile(join(directory, 'main.ts'), snippetOf('typescript', server.url, 'main.ts'));
  await writeFile(join(directory, 'many.ts'), MANY);
  await writeFile(join(directory, 'tsconfig.json'), JSON.stringify(STRICT));
  await run(join(bin, 'tsc'), ['-p', directory]);
}

const STRICT = {
  compilerOptions: {
    target: 'ES2022',
    lib: ['ES2022', 'DOM'],
    module: 'nodenext',
    strict: true,
    noUncheckedIndexedAccess: true,
    exactOptionalPropertyTypes: true,
    allowImportingTsExtensions: true,
    noEmit: true,
    types: ['node'],
  },
};

/**
 * Writes 30 entries at once with a limit of 10 in 2 seconds, one for a technician who cannot be
 * credited, and then uses the Idempotency-Key of the first one twice more.
 */
const MANY = `import { logTime, ticketClient } from './client.ts';

const client = ticketClient(process.env['TICKETS_URL'] ?? '', process.env['TICKETS_API_KEY'] ?? '');
const entry = { minutes: 5, description: 'Cleared the print queue', billable: true };
const written = await Promise.all(Array.from({ length: 30 }, (_, n) => logTime(client, '1001', \`client:evt-\${n}\`, entry)));
const resent = await logTime(client, '1001', 'client:evt-ivan', { ...entry, userEmail: 'ivan@northwind.example' });
const again = await logTime(client, '1001', 'client:evt-0', { ...entry, userEmail: 'tess@northwind.example' });
const mismatch = await logTime(client, '1001', 'client:evt-0', { ...entry, minutes: 6 }).catch((err: Error) => err.message);
console.log(
  JSON.stringify({
    ids: written.map(({ entry }) => entry.id),
    replays: written.filter((answer) => 'idempotentReplay' in answer).length,
    credited: resent.entry.userId,
    again: again.entry.id,
    mismatch,
  }),
);
`;
