// npm run test:mcp-clients: installs MCP clients of other vendors, has each of them do what an agent
// does, and prints what its user sees.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import * as z from 'zod';
import { withLocalD1 } from '../../../src/ops/local.ts';
import { makeKey } from '../../reliability/restartable.ts';
import { serveProxy } from '../../support/proxy.ts';
import { startServer } from '../../support/server.ts';

const run = promisify(execFile);
const DIRECTORY = import.meta.dirname;
const TIMEOUT_MS = 60_000;

interface Call {
  name: string;
  arguments: Record<string, unknown>;
}
const outcome = z.union([z.object({ value: z.unknown() }), z.object({ error: z.string() })]);
const session = z.object({ tools: outcome, outcomes: z.array(outcome) });
/** What a session gives: the names of the tools, and the outcome of each call. */
type Session = z.output<typeof session>;
type Connect = (url: string, key: string, calls: readonly Call[]) => Promise<Session>;

const CLIENTS: Record<string, Connect> = {
  'AI SDK': async (url, key, calls) => {
    const { stdout } = await run('node', [join(DIRECTORY, 'ai-sdk.js'), JSON.stringify({ url, key, calls })], {
      timeout: TIMEOUT_MS,
    });
    return session.parse(JSON.parse(stdout));
  },
  'mcp-remote': async (url, key, calls) => {
    const config = await mkdtemp(join(tmpdir(), 'mcp-remote-'));
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: [join(DIRECTORY, 'node_modules/mcp-remote/dist/proxy.js'), url, '--header', `Authorization: Bearer ${key}`],
      env: { PATH: process.env['PATH'] ?? '', MCP_REMOTE_CONFIG_DIR: config },
      stderr: 'pipe',
    });
    let printed = '';
    transport.stderr?.on('data', (chunk) => {
      printed += chunk;
    });
    const client = new Client({ name: 'test', version: '1.0.0' });
    const outcomes: Session['outcomes'] = [];
    const tools = await outcomeOf(async () => {
      await client.connect(transport, { timeout: TIMEOUT_MS });
      const { tools } = await client.listTools();
      for (const call of calls) outcomes.push(await outcomeOf(() => client.callTool(call, { timeout: 15_000 })));
      return tools.map(({ name }) => name);
    });
    await client.close();
    await rm(config, { recursive: true });
    // What a user sees of a failure is in the log of the program that started it.
    return { tools: 'error' in tools ? { error: `${tools.error}\n${printed}` } : tools, outcomes };
  },
};

async function outcomeOf(act: () => Promise<unknown>): Promise<Session['tools']> {
  try {
    return { value: await act() };
  } catch (err) {
    return { error: String(err) };
  }
}

const result = z.object({
  isError: z.boolean().optional(),
  content: z.array(z.object({ text: z.string() })),
  structuredContent: z.looseObject({ message: z.string(), id: z.string().optional(), code: z.string().optional() }),
});
const valueIn = (given: Session['tools']) => ('value' in given ? given.value : assert.fail(given.error));
const resultIn = (given: Session['tools'] | undefined) => result.parse(valueIn(given ?? assert.fail('no outcome')));
const errorIn = (given: Session['tools'] | undefined) =>
  given && 'error' in given ? given.error : assert.fail('no error');

await run('npm', ['ci', '--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error'], { cwd: DIRECTORY });
const server = await startServer();
/** The requests that reached /mcp, and whether the next call of a tool is cut off. */
const state: { requests: string[]; cuts: boolean } = { requests: [], cuts: false };
const proxy = await serveProxy(server.url, async ({ method, body, path }, pass) => {
  const response = await pass();
  if (path === '/mcp') state.requests.push(`${/"method":"([^"]+)"/.exec(body)?.[1] ?? method} ${response.status}`);
  if (!state.cuts || !body.includes('"tools/call"')) return response;
  state.cuts = false;
  return undefined;
});
try {
  for (const [name, connect] of Object.entries(CLIENTS)) await check(name, connect);
} finally {
  await proxy.close();
  await server.close();
}

async function check(name: string, connect: Connect): Promise<void> {
  const url = `${proxy.url}/mcp`;
  const prefix = name.replace(' ', '-');
  const use = (key: string, ...calls: Call[]) => connect(url, key, calls);
  const tell = (what: string, seen: string) => console.log(`${name}, ${what}: ${seen.trim()}\n`);
  const note = (event: string): Call => ({
    name: 'add_internal_note',
    arguments: { ticketId: '1001', message: 'Cleared the print queue', idempotencyKey: `${prefix}:${event}` },
  });
  const { message, ticketId } = note('').arguments;

  state.requests = [];
  const listed = await use(server.key);
  assert.deepEqual(valueIn(listed.tools), ['add_internal_note', 'log_time']);
  tell('a connection', `${state.requests.length} requests: ${state.requests.join(', ')}`);

  const time = { ticketId, minutes: 30, description: 'Cleared it', billable: true, idempotencyKey: `${prefix}:1` };
  const written = await use(server.key, note('1'), { name: 'log_time', arguments: time });
  for (const each of written.outcomes) assert.match(resultIn(each).content[0]?.text ?? '', /^(Added|Logged)/);

  const [missing] = (await use(server.key, { name: 'add_internal_note', arguments: { ticketId, message } })).outcomes;
  assert.match(resultIn(missing).structuredContent.message, /^idempotencyKey is missing/);
  tell('no idempotencyKey', resultIn(missing).structuredContent.message);

  const wrong = errorIn((await use(`${server.key.slice(0, -6)}000000`)).tools);
  assert.match(wrong, /401|There is no OAuth here/);
  tell('a wrong key', wrong);

  const limited = await withLocalD1(server.persistTo, (db) => makeKey(db, 'northwind', `${name} at its limit`));
  const { outcomes } = await use(limited.value, ...Array.from({ length: 201 }, () => note('1')));
  const refused = resultIn(outcomes.at(-1));
  assert.equal(refused.structuredContent.code, 'rate_limited');
  tell('a call over the limit', refused.structuredContent.message);
  tell('a connection over the limit', errorIn((await use(limited.value)).tools));

  state.cuts = true;
  const [cut, again] = (await use(server.key, note('cut'), note('cut'))).outcomes;
  tell('a connection that is cut during a call', errorIn(cut));
  assert.equal(resultIn(again).structuredContent['idempotentReplay'], true);
}
