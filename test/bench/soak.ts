// npm run soak: ten minutes (-- --minutes 1: one) of mixed requests to the production bundle, on a socket of workerd's own. Fails if an
// answer is not the expected one, if memory goes on growing in a run of eight minutes or more, or if afterwards the database does not hold
// what was acknowledged.
//
// Between an answer and the next request each connection pauses for 30 ms on average (-- --pause 0: not at all). A workerd that always has
// something to do hardly ever asks which sockets are ready: at 800 requests a second without a pause up to 4.9 s went by between two calls
// of epoll_wait. Whose request waits meanwhile is closed as idle, for workerd's clock stands still until then.
import { rmSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { withLocalD1 } from '../../src/cli/local.ts';
import { generateKey } from '../../src/domain/api-key.ts';
import { revokeAsAdministrator } from '../../src/services/keys/revoke-key.ts';
import { localDatabase } from '../support/command.ts';
import { compareWithAcknowledged, inconsistencies } from '../support/ledger.ts';
import { asAdministrator, makeKey, ORGANIZATIONS, restartable, seed, UNLIMITED } from '../support/restartable.ts';
import { type Answer, Connection, renderRequest } from './connection.ts';
import { growth, workerdMiB } from './memory.ts';
import { median } from './statistics.ts';

const CONNECTIONS = 16;
const KEYS_EACH = 4;
const ADDRESSES = 64;
/** Writes that may still be asked for again. */
const REPEATABLE = 10_000;
const SAMPLE_MS = 1_000;
/** Until heaps and caches have the size at which they stay. A run of which they take the second half tells nothing about memory. */
const FULL_AFTER_MINUTES = 4;
/** For setting up and looking through the database afterwards. */
const BESIDE_THE_LOAD_MS = 3 * 60_000;

const { values: options } = parseArgs({
  options: { minutes: { type: 'string', default: '10' }, pause: { type: 'string', default: '30' } },
});
const minutes = Number(options.minutes);
if (!(minutes >= 0.1 && minutes <= 24 * 60)) throw new RangeError('--minutes takes a number from 0.1 to 1440');
const pauseMs = Number(options.pause);
if (!(pauseMs >= 0 && pauseMs <= 60_000)) throw new RangeError('--pause takes milliseconds, from 0 to 60000');
const tooLate = globalThis.setTimeout(
  () => {
    console.error(`not finished ${BESIDE_THE_LOAD_MS / 60_000} minutes after the load should have ended`);
    process.exit(1);
  },
  minutes * 60_000 + BESIDE_THE_LOAD_MS,
);
tooLate.unref();

// However it ends, nothing is left behind.
const { persistTo } = await localDatabase();
process.once('exit', () => rmSync(persistTo, { recursive: true, force: true }));
process.once('SIGINT', () => process.exit(130));
const server = await restartable(persistTo, { IP_LIMIT: UNLIMITED, KEY_LIMIT: UNLIMITED });
const { keys, narrow, revoked } = await withLocalD1(persistTo, async (db) => {
  const all = await seed(db, KEYS_EACH);
  const limited = await makeKey(db, 'northwind', 'Narrow', { limit: { quota: 5, windowMs: 10_000 } });
  const dead = await makeKey(db, 'northwind', 'Revoked');
  await revokeAsAdministrator(asAdministrator(db, 'northwind'), dead.id);
  return { keys: all, narrow: { organization: 'northwind', value: limited.value }, revoked: dead.value };
});

interface Key {
  organization: string;
  value: string;
}

interface Write {
  key: Key;
  kind: 'notes' | 'time-entries';
  idempotencyKey: string | undefined;
  text: string;
}

/** One request, the statuses that it may be answered with, and what is to be done with such an answer. */
interface Task {
  request: string;
  statuses: readonly number[];
  answered?: (answer: Answer) => void;
}

const problems: string[] = [];

const acknowledged = new Map(ORGANIZATIONS.map((organization) => [String(organization), new Map<string, string>()]));
/** The latest writes that had an Idempotency-Key, with the ids of their records. */
const repeatable: { write: Write; id: string }[] = [];
let remembered = 0;
let writes = 0;

const pick = <T>(values: readonly T[]): T => {
  const value = values[Math.floor(Math.random() * values.length)];
  if (value === undefined) throw new RangeError('nothing to pick from');
  return value;
};

function render(
  method: string,
  path: string,
  key: string,
  more: { body?: unknown; headers?: Record<string, string> } = {},
): string {
  const address = `192.0.2.${Math.floor(Math.random() * ADDRESSES)}`;
  const headers = {
    'CF-Connecting-IP': address,
    'User-Agent': 'soak',
    Authorization: `Bearer ${key}`,
    ...more.headers,
  };
  return renderRequest({ method, path: `/api/v1${path}`, headers, body: more.body });
}

const renderWrite = ({ key, kind, idempotencyKey, text }: Write) =>
  render('POST', `/tickets/1001/${kind}`, key.value, {
    headers: idempotencyKey === undefined ? {} : { 'Idempotency-Key': idempotencyKey },
    body: kind === 'notes' ? { message: text } : { minutes: 30, description: text, billable: true },
  });

const idIn = ({ body }: Answer) => /"id":"([0-9a-f-]{36})"/.exec(body)?.[1] ?? '';

function write(kind: Write['kind'], key: Key, statuses: readonly number[] = [201]): Task {
  const number = ++writes;
  const one: Write = {
    key,
    kind,
    idempotencyKey: number % 5 === 0 ? undefined : `soak:${number}`,
    text: `soak ${number}`,
  };
  return {
    request: renderWrite(one),
    statuses,
    answered: (answer) => {
      if (answer.status !== 201) return;
      const id = idIn(answer);
      acknowledged.get(key.organization)?.set(id, one.text);
      if (one.idempotencyKey !== undefined && key !== narrow)
        repeatable[remembered++ % REPEATABLE] = { write: one, id };
    },
  };
}

/** What is sent, and how often: the shares add up to 1. */
const MIX: { name: string; share: number; task: () => Task }[] = [
  { name: 'note', share: 0.3, task: () => write('notes', pick(keys)) },
  { name: 'time entry', share: 0.3, task: () => write('time-entries', pick(keys)) },
  { name: 'replay', share: 0.15, task: replay },
  { name: 'ping', share: 0.1, task: () => ({ request: render('GET', '/ping', pick(keys).value), statuses: [200] }) },
  { name: 'key of a low limit', share: 0.04, task: () => write('notes', narrow, [201, 429]) },
  {
    name: 'unknown key',
    share: 0.02,
    task: () => ({ request: render('GET', '/ping', generateKey('twb')), statuses: [401] }),
  },
  { name: 'malformed key', share: 0.01, task: () => ({ request: render('GET', '/ping', 'twb_0'), statuses: [401] }) },
  { name: 'revoked key', share: 0.02, task: () => ({ request: render('GET', '/ping', revoked), statuses: [401] }) },
  { name: 'invalid body', share: 0.03, task: () => misuse(422, '/tickets/1001/notes', { message: '', hourlyRate: 1 }) },
  { name: 'unknown ticket', share: 0.02, task: () => misuse(404, '/tickets/9999/notes', { message: 'x' }) },
  { name: 'unknown path', share: 0.01, task: () => misuse(404, '/nowhere', {}) },
];

function replay(): Task {
  if (repeatable.length === 0) return write('notes', pick(keys));
  const { write: one, id } = pick(repeatable);
  return {
    request: renderWrite(one),
    statuses: [200],
    answered: (answer) => {
      if (idIn(answer) !== id) problems.push(`a replay of ${one.idempotencyKey} named ${idIn(answer)}, not ${id}`);
    },
  };
}

function misuse(status: number, path: string, body: unknown): Task {
  return { request: render('POST', path, pick(keys).value, { body }), statuses: [status] };
}

function draw() {
  const drawn = Math.random();
  let reached = 0;
  for (const kind of MIX) {
    reached += kind.share;
    if (drawn < reached) return kind;
  }
  return pick(MIX);
}

// --- the load ------------------------------------------------------------------------------------------------------------------------

/** By kind of request, how often each status came, and how long the answers took (milliseconds). */
const answers = new Map(MIX.map(({ name }) => [name, { statuses: new Map<number, number>(), times: [] as number[] }]));

async function work(connection: Connection, until: number): Promise<void> {
  while (Date.now() < until) {
    const { name, task } = draw();
    const { request, statuses, answered } = task();
    const sent = performance.now();
    const answer = await connection.send(request).catch((err: unknown) => {
      const [at, waited] = [sent - begun, performance.now() - sent].map((ms) => (ms / 1000).toFixed(1));
      throw new Error(`${name}, sent after ${at} s, had waited ${waited} s: ${err}`, { cause: err });
    });
    const seen = answers.get(name);
    seen?.times.push(performance.now() - sent);
    seen?.statuses.set(answer.status, (seen.statuses.get(answer.status) ?? 0) + 1);
    if (statuses.includes(answer.status)) answered?.(answer);
    else problems.push(`${name} was answered ${answer.status}: ${answer.body.slice(0, 300)}`);
    if (pauseMs > 0) await setTimeout(2 * pauseMs * Math.random());
  }
}

const memory: number[] = [];

async function sample(until: number): Promise<void> {
  while (Date.now() < until) {
    memory.push(await workerdMiB(server.groupId()));
    await setTimeout(SAMPLE_MS);
  }
}

await server.start();
const begun = performance.now();
const until = Date.now() + minutes * 60_000;
const connections = await Promise.all(Array.from({ length: CONNECTIONS }, () => Connection.open(server.url)));
const ends = await Promise.allSettled([sample(until), ...connections.map((connection) => work(connection, until))]);
const seconds = (performance.now() - begun) / 1000;
for (const end of ends) if (end.status === 'rejected') problems.push(`not carried to the end: ${end.reason}`);
for (const connection of connections) connection.close();
await server.stop();

// --- what is left --------------------------------------------------------------------------------------------------------------------

await withLocalD1(persistTo, async (db) => {
  for (const [organization, there] of acknowledged) {
    problems.push(...(await inconsistencies(db, organization)));
    const { missing, unacknowledged } = await compareWithAcknowledged(db, organization, there);
    problems.push(...missing.map((id) => `${organization}: ${id} was acknowledged and is not there`));
    problems.push(...unacknowledged.map((text) => `${organization}: "${text}" is there, but was not acknowledged`));
  }
});

const { thirdQuarter, lastQuarter, rise, flat } = growth(memory);
if (minutes >= FULL_AFTER_MINUTES * 2 && !flat) problems.push('the resident memory of workerd went on growing');

const tenths = Array.from({ length: 10 }, (_, tenth) =>
  median(memory.slice(Math.floor((tenth * memory.length) / 10), Math.ceil(((tenth + 1) * memory.length) / 10))),
);
const rows = [...answers].map(([name, { statuses, times }]) => {
  const counts = [...statuses]
    .sort(([a], [b]) => a - b)
    .map(([status, count]) => `${status}: ${count.toLocaleString('en')}`);
  return [
    name,
    times.length.toLocaleString('en'),
    counts.join(', '),
    times.length === 0 ? '' : median(times).toFixed(1),
  ];
});
const total = [...answers.values()].reduce((sum, { times }) => sum + times.length, 0);
const written = [...acknowledged.values()].reduce((sum, there) => sum + there.size, 0);
for (const cells of [['request', 'sent', 'answers', 'p50 ms'], ['---', '--:', '---', '--:'], ...rows])
  console.log(`| ${cells.join(' | ')} |`);
console.log(`
${total.toLocaleString('en')} requests over ${CONNECTIONS} connections in ${seconds.toFixed(0)} s: ${Math.round(total / seconds)} a second
${written.toLocaleString('en')} writes acknowledged, and held against the database
resident memory of workerd, by tenths of the time: ${tenths.map((mib) => mib.toFixed(0)).join(', ')} MiB
median of the third quarter ${thirdQuarter.toFixed(0)} MiB, of the last ${lastQuarter.toFixed(0)} MiB; line of least squares over the second half ${rise >= 0 ? '+' : ''}${rise.toFixed(1)} MiB`);

for (const problem of problems.slice(0, 20)) console.error(problem);
console.log(problems.length === 0 ? 'All as it should be.' : `${problems.length} problems.`);
if (problems.length > 0) process.exitCode = 1;
