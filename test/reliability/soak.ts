import { setTimeout } from 'node:timers/promises';
import { generateKey } from '../../src/domain/api-key.ts';
import { withLocalD1 } from '../../src/ops/local.ts';
import { revokeAsAdministrator } from '../../src/services/keys/revoke-key.ts';
import { type Answer, Connection, renderRequest } from '../bench/connection.ts';
import { median } from '../bench/statistics.ts';
import { administratorContext } from '../support/administrator-context.ts';
import { compareWithAcknowledged, inconsistencies } from '../support/ledger.ts';
import { type Growth, growth, workerdMiB } from './memory.ts';
import { type LocalParts, makeKey, ORGANIZATIONS, restartable, seed, UNLIMITED_VARS } from './restartable.ts';

const CONNECTIONS = 16;
const KEYS_EACH = 4;
const ADDRESSES = 64;
/** The number of latest writes that may be repeated. */
const REPEATABLE = 10_000;
const SAMPLE_MS = 1_000;
/**
 * The average pause of each connection between a response and the next request. A workerd that is
 * always busy rarely asks which sockets are ready: with 800 requests a second and no pause, up to
 * 4.9 s passed between two calls of epoll_wait. A connection whose request waits meanwhile is
 * closed as idle, because workerd's clock does not advance until then.
 */
const PAUSE_MS = 30;
/**
 * Heaps and caches have reached their size by then. A shorter run tells nothing about the growth of
 * memory.
 */
const WARM_UP_MINUTES = 4;

interface SoakRun {
  seconds: number;
  /**
   * For each kind of request, the number of responses by status, and their times in milliseconds.
   */
  answers: ReadonlyMap<string, { statuses: ReadonlyMap<number, number>; times: readonly number[] }>;
  /** Acknowledged writes, all of which were compared with the database. */
  written: number;
  /** Resident memory of workerd, once a second, in MiB. */
  memory: readonly number[];
  growth: Growth;
  /**
   * Unexpected responses, differences between responses and database, and growing memory, in words.
   */
  problems: readonly string[];
}

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

/** One request, its expected statuses, and what to do with such a response. */
interface Task {
  request: string;
  statuses: readonly number[];
  answered?: (answer: Answer) => void;
}

/**
 * Sends mixed requests to the production bundle on a socket of workerd, and compares the database
 * with the responses afterwards.
 */
export async function soak(minutes: number, { database, bundle }: LocalParts): Promise<SoakRun> {
  const { persistTo } = database;
  const server = await restartable({ bundle, persistTo, vars: UNLIMITED_VARS });
  const { keys, narrow, revoked } = await withLocalD1(persistTo, async (db) => {
    const all = await seed(db, KEYS_EACH);
    const limited = await makeKey(db, 'northwind', 'Narrow', { dayLimitRecords: 50 });
    const ended = await makeKey(db, 'northwind', 'Revoked');
    await revokeAsAdministrator(administratorContext(db, 'northwind', 'ada'), ended.id);
    return { keys: all, narrow: { organization: 'northwind', value: limited.value }, revoked: ended.value };
  });

  const problems: string[] = [];
  const acknowledged = new Map(ORGANIZATIONS.map((organization) => [String(organization), new Map<string, string>()]));
  /** The latest writes that had an Idempotency-Key, with the ids of their records. */
  const repeatable: { write: Write; id: string }[] = [];
  let repeatableWrites = 0;
  let writes = 0;

  function write(kind: Write['kind'], key: Key, statuses: readonly number[] = [201]): Task {
    const number = ++writes;
    const idempotencyKey = number % 5 === 0 ? undefined : `soak:${number}`;
    const one: Write = { key, kind, idempotencyKey, text: `soak ${number}` };
    return {
      request: renderWrite(one),
      statuses,
      answered: (answer) => {
        if (answer.status !== 201) return;
        const id = idIn(answer);
        acknowledged.get(key.organization)?.set(id, one.text);
        if (one.idempotencyKey !== undefined && key !== narrow)
          repeatable[repeatableWrites++ % REPEATABLE] = { write: one, id };
      },
    };
  }

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

  const ping = (key: string, status: number): Task => ({ request: render('GET', '/ping', key), statuses: [status] });
  const refused = (status: number, path: string, body: unknown): Task => ({
    request: render('POST', path, pick(keys).value, { body }),
    statuses: [status],
  });

  /** The kinds of requests, with their shares, which add up to 1. */
  const mix: { name: string; share: number; task: () => Task }[] = [
    { name: 'note', share: 0.3, task: () => write('notes', pick(keys)) },
    { name: 'time entry', share: 0.3, task: () => write('time-entries', pick(keys)) },
    { name: 'replay', share: 0.15, task: replay },
    { name: 'ping', share: 0.1, task: () => ping(pick(keys).value, 200) },
    { name: 'key of a low daily limit', share: 0.04, task: () => write('notes', narrow, [201, 429]) },
    { name: 'unknown key', share: 0.02, task: () => ping(generateKey('twb'), 401) },
    { name: 'malformed key', share: 0.01, task: () => ping('twb_0', 401) },
    { name: 'revoked key', share: 0.02, task: () => ping(revoked, 401) },
    {
      name: 'invalid body',
      share: 0.03,
      task: () => refused(422, '/tickets/1001/notes', { message: '', hourlyRate: 1 }),
    },
    { name: 'unknown ticket', share: 0.02, task: () => refused(404, '/tickets/9999/notes', { message: 'x' }) },
    { name: 'unknown path', share: 0.01, task: () => refused(404, '/nowhere', {}) },
  ];
  const draw = () => {
    const drawn = Math.random();
    let reached = 0;
    for (const kind of mix) {
      reached += kind.share;
      if (drawn < reached) return kind;
    }
    return pick(mix);
  };

  const answers = new Map(
    mix.map(({ name }) => [name, { statuses: new Map<number, number>(), times: [] as number[] }]),
  );

  await server.start();
  const begun = performance.now();
  const until = Date.now() + minutes * 60_000;

  const work = async (connection: Connection) => {
    while (Date.now() < until) {
      const { name, task } = draw();
      const { request, statuses, answered } = task();
      const sent = performance.now();
      const answer = await connection.send(request).catch((err: unknown) => {
        const [at, waited] = [sent - begun, performance.now() - sent].map((ms) => (ms / 1000).toFixed(1));
        throw new Error(`${name}, sent after ${at} s, failed after ${waited} s: ${err}`, { cause: err });
      });
      const seen = answers.get(name);
      seen?.times.push(performance.now() - sent);
      seen?.statuses.set(answer.status, (seen.statuses.get(answer.status) ?? 0) + 1);
      if (statuses.includes(answer.status)) answered?.(answer);
      else problems.push(`${name} was answered ${answer.status}: ${answer.body.slice(0, 300)}`);
      await setTimeout(2 * PAUSE_MS * Math.random());
    }
  };
  const memory: number[] = [];
  const sampleMemory = async () => {
    while (Date.now() < until) {
      memory.push(await workerdMiB(server.groupId()));
      await setTimeout(SAMPLE_MS);
    }
  };

  const connections = await Promise.all(Array.from({ length: CONNECTIONS }, () => Connection.open(server.url)));
  const ends = await Promise.allSettled([sampleMemory(), ...connections.map(work)]);
  const seconds = (performance.now() - begun) / 1000;
  for (const end of ends) if (end.status === 'rejected') problems.push(`did not finish: ${end.reason}`);
  for (const connection of connections) connection.close();
  await server.stop();

  await withLocalD1(persistTo, async (db) => {
    for (const [organization, there] of acknowledged) {
      problems.push(...(await inconsistencies(db, organization)));
      const { missing, unacknowledged } = await compareWithAcknowledged(db, organization, there);
      problems.push(...missing.map((id) => `${organization}: ${id} was acknowledged and is missing`));
      problems.push(...unacknowledged.map((text) => `${organization}: "${text}" was written and not acknowledged`));
    }
  });
  const grown = growth(memory);
  if (minutes >= WARM_UP_MINUTES * 2 && !grown.flat) problems.push('the resident memory of workerd kept growing');
  const written = [...acknowledged.values()].reduce((sum, there) => sum + there.size, 0);
  return { seconds, answers, written, memory, growth: grown, problems };
}

function pick<T>(values: readonly T[]): T {
  const value = values[Math.floor(Math.random() * values.length)];
  if (value === undefined) throw new RangeError('nothing to pick from');
  return value;
}

function render(
  method: string,
  path: string,
  key: string,
  more: { body?: unknown; headers?: Record<string, string> } = {},
): string {
  const headers = {
    'CF-Connecting-IP': `192.0.2.${Math.floor(Math.random() * ADDRESSES)}`,
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

/** The result of a run as a Markdown table and a few lines. */
export function report({ seconds, answers, written, memory, growth: grown }: SoakRun): string {
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
  const tenths = Array.from({ length: 10 }, (_, tenth) =>
    memory.slice(Math.floor((tenth * memory.length) / 10), Math.ceil(((tenth + 1) * memory.length) / 10)),
  );
  const total = [...answers.values()].reduce((sum, { times }) => sum + times.length, 0);
  const { thirdQuarter, lastQuarter, rise } = grown;
  return `${[['request', 'sent', 'answers', 'p50 ms'], ['---', '--:', '---', '--:'], ...rows]
    .map((cells) => `| ${cells.join(' | ')} |`)
    .join('\n')}

${total.toLocaleString('en')} requests over ${CONNECTIONS} connections in ${seconds.toFixed(0)} s: ${Math.round(total / seconds)} a second
${written.toLocaleString('en')} acknowledged writes, compared with the database
resident memory of workerd, by tenths of the time: ${tenths.map((mib) => median(mib).toFixed(0)).join(', ')} MiB
median of the third quarter ${thirdQuarter.toFixed(0)} MiB, of the last ${lastQuarter.toFixed(0)} MiB; line of least squares over the second half ${rise >= 0 ? '+' : ''}${rise.toFixed(1)} MiB`;
}
