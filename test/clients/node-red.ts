// npm run test:node-red: imports the published flow into a real Node-RED, which it installs first,
// and delivers events to it.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import * as z from 'zod';
import { freePort, startServer } from '../support/server.ts';

const VERSION = '5.0.7';
const EVENTS = 20;
const TOKEN = 'a token of this run';
const READY_TIMEOUT_MS = 60_000;
/**
 * Every caller is answered: with a limit of 10 in 10 s, the last of the first events after some 30
 * s.
 */
const ANSWER_TIMEOUT_MS = 120_000;

const answer = z.object({ entry: z.object({ id: z.string() }), idempotentReplay: z.boolean().optional() });

const cache = 'node_modules/.cache/node-red';
await mkdir(cache, { recursive: true });
await writeFile(join(cache, 'package.json'), '{"private": true}');
await promisify(execFile)('npm', ['install', '--no-audit', '--no-fund', '--loglevel=error', `node-red@${VERSION}`], {
  cwd: cache,
});

const userDir = await mkdtemp(join(tmpdir(), 'node-red-'));
await cp('src/assets/docs/recipes/node-red.json', join(userDir, 'flows.json'));
const server = await startServer('--var', 'KEY_LIMIT:10/10s');
const port = await freePort();
const nodeRed = spawn(
  join(cache, 'node_modules/.bin/node-red'),
  ['--userDir', userDir, '--port', String(port), 'flows.json'],
  {
    env: { ...process.env, TICKETS_URL: server.url, TICKETS_API_KEY: server.key, WEBHOOK_TOKEN: TOKEN },
    stdio: ['ignore', 'pipe', 'inherit'],
  },
);
const closed = once(nodeRed, 'close');
try {
  await ready();
  const first = await deliver();
  assert.equal(new Set(first.map(({ entry }) => entry.id)).size, EVENTS, 'every event makes an entry of its own');
  assert.ok(
    first.every(({ idempotentReplay }) => idempotentReplay === undefined),
    'each entry is written once',
  );
  const again = await deliver();
  assert.deepEqual(
    again.map(({ entry }) => entry.id),
    first.map(({ entry }) => entry.id),
  );
  assert.ok(
    again.every(({ idempotentReplay }) => idempotentReplay),
    'delivered again, all are replays',
  );
  console.log(
    `Node-RED ${VERSION}: ${EVENTS} events at once, limit 10 in 10 s: ${EVENTS} entries; delivered again: ${EVENTS} replays.`,
  );
  assert.equal((await post(eventOf(EVENTS), 'another token')).status, 401, 'a wrong token');
  const refused: [what: string, changes: Record<string, unknown>, status: number, told: RegExp][] = [
    ['no eventId', { eventId: undefined }, 400, /eventId must be/],
    ['a line break in eventId', { eventId: 'evt\n1' }, 400, /eventId must be/],
    ['an eventId that says undefined', { eventId: 'undefined' }, 400, /event id in it came out empty/],
    ['no description', { eventId: 'evt-new', description: undefined }, 422, /description is missing/],
    ['a ticketId that cannot be encoded', { eventId: 'evt-new', ticketId: '\ud800' }, 500, /URI malformed/],
    ['another event of the same eventId', { minutes: 6 }, 409, /Nothing was written now/],
    ['an ineligible technician', { eventId: 'evt-ivan', userEmail: 'ivan@northwind.example' }, 201, /"automation"/],
    ['the same again', { eventId: 'evt-ivan', userEmail: 'ivan@northwind.example' }, 200, /"automation"/],
  ];
  for (const [what, changes, status, told] of refused) {
    const response = await post({ ...eventOf(0), ...changes });
    assert.equal(response.status, status, what);
    assert.match(await response.text(), told, what);
  }
  console.log(`Node-RED ${VERSION}: ${refused.length} events with something wrong, each answered as it should be.`);
} finally {
  nodeRed.kill('SIGTERM');
  await closed;
  await server.close();
  await rm(userDir, { recursive: true });
}

async function ready(): Promise<void> {
  let output = '';
  nodeRed.stdout?.on('data', (chunk) => (output += chunk));
  const until = Date.now() + READY_TIMEOUT_MS;
  while (!output.includes('Started flows')) {
    if (Date.now() > until || nodeRed.exitCode !== null) throw new Error(`Node-RED did not start:\n${output}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

function eventOf(n: number) {
  return { eventId: `evt-${n}`, ticketId: '1001', minutes: 5, description: `Event ${n}`, billable: true };
}

function post(event: unknown, token = TOKEN): Promise<Response> {
  return fetch(`http://localhost:${port}/work-done`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'X-Webhook-Token': token },
    body: JSON.stringify(event),
    signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS),
  });
}

/** All events at once, as webhooks come; the answers in the order of the events. */
function deliver() {
  return Promise.all(
    Array.from({ length: EVENTS }, async (_, n) => answer.parse(await (await post(eventOf(n))).json())),
  );
}
