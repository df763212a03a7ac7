import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { DatabaseSync } from 'node:sqlite';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, test } from 'vitest';
import * as z from 'zod';
import { generateKey, keyHint } from '../../src/domain/api-key.ts';
import { writeDeployments } from '../support/deployments.ts';
import { runCli } from '../support/run-cli.ts';

// The real wrangler, with a stand-in for Cloudflare's API that has some Workers.
const MAIN = 'ticket-write-back-api';
const AGENTS = 'ticket-write-back-api-agents';
const KEY_ID = '01a2b3c4-0000-7000-8000-000000000001';
const SECRETS = /^\/accounts\/0+acc\/workers\/scripts\/([^/]+)\/secrets$/;

let deployed: Set<string>;
/** Workers whose secrets the API refuses to change. */
let refused: Set<string>;
let secrets: string[];
/** Undefined while it does not respond. */
let database: DatabaseSync | undefined;
const query = z.object({ batch: z.tuple([z.object({ sql: z.string(), params: z.tuple([z.string()]) })]) });
const api = createServer(async (request, response) => {
  const name = SECRETS.exec(request.url ?? '')?.[1] ?? '';
  const fail = (status: number, code: number, message: string) =>
    response.writeHead(status).end(JSON.stringify({ success: false, errors: [{ code, message }], result: null }));
  if (request.url?.endsWith('/query')) {
    const [{ sql, params }] = query.parse(JSON.parse(await text(request))).batch;
    if (!database) return void fail(503, 7500, 'The database does not respond.');
    const results = database.prepare(sql).all(...params);
    return void response.end(JSON.stringify({ success: true, result: [{ success: true, meta: {}, results }] }));
  }
  if (!deployed.has(name)) return void fail(404, 10007, 'This Worker does not exist on your account.');
  if (request.method === 'PUT') {
    if (refused.has(name)) return void fail(400, 10215, 'Secret edit failed.');
    secrets.push(`${name} ${await text(request)}`);
  }
  response.end(JSON.stringify({ success: true, errors: [], result: [] }));
});

beforeEach(async () => {
  [deployed, refused, secrets, database] = [new Set([MAIN, AGENTS]), new Set(), [], new DatabaseSync(':memory:')];
  database.exec('create table api_keys (id, hint)');
  database.exec(`insert into api_keys values ('${KEY_ID}', 'twb_Ab12…x9Yz'), (2, 'twb_Cd34…w8Xy')`);
  await new Promise<void>((resolve) => api.listen(0, '127.0.0.1', resolve));
});
afterEach(async () => {
  api.closeAllConnections();
  await new Promise((resolve) => api.close(resolve));
});

async function runSwitch(args: string[], input: string[] = []) {
  const { port } = api.address() as AddressInfo;
  const env = {
    CLOUDFLARE_API_BASE_URL: `http://127.0.0.1:${port}`,
    CLOUDFLARE_API_TOKEN: 'good',
    ...(await writeDeployments({ production: {} })),
  };
  return runCli('switch', args, { env, input });
}

const secret = (worker: string, name: string, value: string) =>
  `${worker} ${JSON.stringify({ name, text: value, type: 'secret_text' })}`;

test('a switch changes both Workers, the main one first', async () => {
  expect(await runSwitch(['MODE', 'paused'])).toEqual({
    code: 0,
    stdout: `MODE is set on ${MAIN}.\nMODE is set on ${AGENTS}.\n`,
    stderr: '',
  });
  expect(secrets).toEqual([secret(MAIN, 'MODE', 'paused'), secret(AGENTS, 'MODE', 'paused')]);
});

test('a switch does not create a Worker for AI agents that is not deployed', async () => {
  deployed.delete(AGENTS);
  const entries = ['twb_Ab12…x9Yz', 'twb_Cd34...w8Xy'];
  const { code, stdout } = await runSwitch(['BLOCKED_KEYS', ...entries]);
  expect([code, stdout]).toEqual([0, `BLOCKED_KEYS is set on ${MAIN}.\n${AGENTS} is not deployed.\n`]);
  expect(secrets).toEqual([secret(MAIN, 'BLOCKED_KEYS', entries.join(' '))]);
});

test('an error shows the Worker that could not be changed', async () => {
  refused.add(AGENTS);
  const { code, stdout, stderr } = await runSwitch(['MODE', 'open']);
  expect([code, stdout]).toEqual([1, `MODE is set on ${MAIN}.\n`]);
  expect(stderr).toMatch(new RegExp(`^MODE was not set on ${AGENTS}:`));
});

test('a wrong value is refused, because it would stop both Workers', async () => {
  for (const [args, says] of [
    [['MODE', 'off'], 'MODE: its value is not a mode; write open or paused.'],
    [['BLOCKED_KEYS', 'twb_Ab12'], 'BLOCKED_KEYS: entry 1 of 1 is neither a key id nor a hint'],
    [['BLOCKED_KEYS'], 'Write the value of BLOCKED_KEYS.'],
    [['MODE', 'open', '--key-stdin'], '--key-stdin is for BLOCKED_KEYS.'],
  ] as const) {
    const { code, stderr } = await runSwitch([...args]);
    expect([code, stderr]).toEqual([2, expect.stringContaining(says)]);
  }
  expect(secrets).toEqual([]);
});

test('a key on standard input is blocked by its hint, together with the other entries', async () => {
  const key = generateKey('twb');
  database?.prepare('insert into api_keys values (3, ?)').run(keyHint(key));
  const { code, stdout, stderr } = await runSwitch(['BLOCKED_KEYS', KEY_ID, '--key-stdin'], [`${key}\n`]);
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).not.toContain('not compared');
  expect(secrets[0]).toBe(secret(MAIN, 'BLOCKED_KEYS', `${KEY_ID} ${keyHint(key)}`));
});

test('a key that the database does not know is refused', async () => {
  // The last characters of the value instead of those before the checksum.
  const { code, stderr } = await runSwitch(['BLOCKED_KEYS', 'twb_Ab12…x9Yz', 'twb_Ab12…rong']);
  expect([code, stderr]).toEqual([1, expect.stringContaining('The database has no key twb_Ab12…rong. Nothing was')]);
  expect(secrets).toEqual([]);
});

test('while the database does not respond, a key is blocked and the message says that it was not compared', async () => {
  database = undefined;
  const { code, stdout } = await runSwitch(['BLOCKED_KEYS', 'twb_Ab12…rong']);
  expect([code, stdout]).toEqual([0, expect.stringContaining('The keys were not compared with the database: D1 ')]);
  expect(secrets).toHaveLength(2);
});
