import { setTimeout } from 'node:timers/promises';
import { withLocalD1 } from '../../src/ops/local.ts';
import { compareWithAcknowledged, inconsistencies } from '../support/ledger.ts';
import { findExportProblems, leftOf, Operator, operationsWorker } from './operator.ts';
import { type LocalParts, ORGANIZATIONS, restartable, seed, UNLIMITED_VARS } from './restartable.ts';

/** Its records are redacted and reviewed, and at the end it is erased, while the server is killed. */
const ERASED = 'fabrikam';

/** For each of the organizations. */
const KEYS_EACH = 2;
const CLIENTS_OF_KEY = 3;
/** Of this many writes of a client, one has no Idempotency-Key and is never repeated. */
const ONCE_IN = 5;
/** The longest time between the moment when all clients have written again and the next kill. */
const LONGEST_CALM_MS = 800;
/** How often the server is killed during the erasure, and how long it runs at most before that. */
const ERASURE_KILLS = 3;
const LONGEST_ERASURE_MS = 300;
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1_000;
/** A run takes a few seconds for each kill. One that hangs is aborted. */
const SET_UP_LIMIT_MS = 60_000;
const KILL_LIMIT_MS = 15_000;

/** What the operator does at least once, however soon the clients stop. */
export const DONE_MEANWHILE = ['redact: redacted', 'review: APPROVED'];

/** The writes to one organization, as its clients saw them. */
interface Seen {
  /** id → text of the records in responses with 200 or 201. */
  acknowledged: Map<string, string>;
  /**
   * Texts of writes without an Idempotency-Key that got no response, or an unclear one: they may
   * have been written.
   */
  unanswered: Set<string>;
  /** Texts of requests that were sent once and got a 200: it must be another request's record. */
  wrongReplays: string[];
}

interface Client {
  organization: string;
  key: string;
  name: string;
}

export interface CrashRun {
  kills: number;
  /** Requests without a response at the moments of the kills. */
  cutOff: number;
  acknowledged: number;
  /** Responses with 200: the record of an earlier attempt was there. */
  replays: number;
  /**
   * Writes without an Idempotency-Key that got no response, and how many of them are in the
   * database.
   */
  unanswered: { sent: number; found: number };
  /** What was done beside the writes, and how often it was acknowledged. */
  operations: Readonly<Record<string, number>>;
  /** What is lost, duplicated or out of order, in words. */
  problems: string[];
  /** Opens the database again, with a function that searches for problems again. */
  use: <T>(use: (db: D1Database, problems: () => Promise<string[]>) => Promise<T>) => Promise<T>;
  remove: () => Promise<void>;
}

/**
 * Lets clients write to the production bundle in workerd, with its data on disk. Kills the server
 * with SIGKILL at random moments while requests are being processed, and starts it again on the
 * same data. Meanwhile records of one organization are redacted and reviewed.
 * At the end every client has finished its last write, and that organization is erased.
 */
export async function crash(kills: number, { database, bundle }: LocalParts): Promise<CrashRun> {
  const { persistTo, remove } = database;
  const beside = { script: await operationsWorker(persistTo) };
  const server = await restartable({ bundle, persistTo, vars: UNLIMITED_VARS, beside });
  const clients = await withLocalD1(persistTo, makeClients);
  const seen = new Map<string, Seen>(
    ORGANIZATIONS.map((id) => [id, { acknowledged: new Map(), unanswered: new Set(), wrongReplays: [] }] as const),
  );

  const over = new AbortController();
  const signal = AbortSignal.any([over.signal, AbortSignal.timeout(SET_UP_LIMIT_MS + kills * KILL_LIMIT_MS)]);
  const sleep = (ms: number) => setTimeout(ms, undefined, { signal });
  let stopping = false;
  let pending = 0;
  let cutOff = 0;
  let replays = 0;
  /** Clients that got a response since the last start. */
  const served = new Set<Client>();

  /** Sends one request. Returns undefined if there was no whole response. */
  const send = async ({ key, name }: Client, number: number, idempotencyKey: string | undefined, text: string) => {
    const [path, body] =
      number % 2 === 0
        ? ['notes', { message: text }]
        : ['time-entries', { minutes: 30, description: text, billable: true }];
    pending += 1;
    try {
      const response = await fetch(new URL(`/api/v1/tickets/1001/${path}`, server.url), {
        method: 'POST',
        headers: {
          Authorization: `Bearer ${key}`,
          'Content-Type': 'application/json',
          'CF-Connecting-IP': '192.0.2.1',
          'User-Agent': name,
          ...(idempotencyKey === undefined ? {} : { 'Idempotency-Key': idempotencyKey }),
        },
        body: JSON.stringify(body),
        signal,
      });
      return { status: response.status, retryAfter: response.headers.get('Retry-After'), text: await response.text() };
    } catch {
      // Refused, reset or cut off: the server was killed.
      return undefined;
    } finally {
      pending -= 1;
    }
  };

  /**
   * A write as the published client sends it: one with an Idempotency-Key is repeated unchanged
   * until it succeeds.
   */
  const write = async (client: Client, number: number) => {
    const ofOrganization = seen.get(client.organization);
    if (!ofOrganization) throw new Error(`unknown organization ${client.organization}`);
    const text = `${client.name}, write ${number}`;
    const isRepeatable = number % ONCE_IN !== ONCE_IN - 1;
    const idempotencyKey = isRepeatable ? `${client.name}:${number}`.replaceAll(' ', '-') : undefined;
    for (let attempt = 1; ; attempt++) {
      const answer = await send(client, number, idempotencyKey, text);
      if (answer?.status === 200 || answer?.status === 201) {
        const { note, entry }: { note?: { id: string }; entry?: { id: string } } = JSON.parse(answer.text);
        ofOrganization.acknowledged.set((note ?? entry)?.id ?? '', text);
        if (answer.status === 200) replays += 1;
        if (answer.status === 200 && attempt === 1) ofOrganization.wrongReplays.push(text);
        served.add(client);
        return;
      }
      if (answer && answer.status !== 429 && answer.status < 500)
        throw new Error(`answered ${answer.status}: ${answer.text}`);
      if (!isRepeatable) {
        ofOrganization.unanswered.add(text);
        return;
      }
      const retryAfterMs = 1_000 * Number(answer?.retryAfter ?? 0);
      const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** (attempt - 1), LONGEST_PAUSE_MS);
      await sleep(Math.max(retryAfterMs, pauseMs) + Math.random() * FIRST_PAUSE_MS);
    }
  };

  const work = async (client: Client) => {
    for (let number = 0; !stopping; number++) await write(client, number);
  };
  const killRepeatedly = async () => {
    for (let done = 0; done < kills; done++) {
      while (served.size < clients.length) await sleep(5);
      await sleep(Math.random() * LONGEST_CALM_MS);
      while (pending === 0) await sleep(1);
      cutOff += pending;
      await server.kill();
      served.clear();
      await server.start();
    }
    while (served.size < clients.length) await sleep(5);
    stopping = true;
  };
  const operator = new Operator(ERASED, server.besideUrl, sleep);
  const operateMeanwhile = async () => {
    const isDone = () => stopping && DONE_MEANWHILE.every((name) => operator.done[name] !== undefined);
    for (; !isDone(); signal.throwIfAborted())
      await operator.doNext([...(seen.get(ERASED)?.acknowledged.keys() ?? [])]);
  };
  await server.start();
  const all = [killRepeatedly(), operateMeanwhile(), ...clients.map(work)];
  try {
    await Promise.all(all);
  } finally {
    over.abort();
    await Promise.allSettled(all);
    await server.stop();
  }

  const ofErased = seen.get(ERASED);
  if (!ofErased) throw new Error(`unknown organization ${ERASED}`);
  const { acknowledged, unanswered } = ofErased;
  const exported = await withLocalD1(persistTo, (db) =>
    findExportProblems(db, ERASED, { acknowledged, unanswered, redacted: operator.redacted }),
  );
  const eraser = new Operator(ERASED, server.besideUrl, (ms) => setTimeout(ms));
  await server.start();
  try {
    const erased = eraser.erase();
    for (let kill = 0; kill < Math.min(kills, ERASURE_KILLS); kill++) {
      await setTimeout(Math.random() * LONGEST_ERASURE_MS);
      await server.kill();
      await server.start();
    }
    await erased;
  } finally {
    await server.stop();
  }
  seen.delete(ERASED);
  const left = await withLocalD1(persistTo, (db) => leftOf(db, ERASED));
  const ofOthers = await withLocalD1(persistTo, (db) => findProblems(db, seen));
  const problems = [...exported.problems, ...left, ...ofOthers.problems];
  const found = exported.found + ofOthers.found;
  const sum = (count: (ofOrganization: Seen) => number) =>
    [...seen.values()].reduce((total, ofOrganization) => total + count(ofOrganization), 0);
  return {
    kills,
    cutOff,
    acknowledged: sum(({ acknowledged }) => acknowledged.size) + acknowledged.size,
    replays,
    unanswered: { sent: sum(({ unanswered }) => unanswered.size) + unanswered.size, found },
    operations: { ...operator.done, ...eraser.done },
    problems,
    use: (run) => withLocalD1(persistTo, (db) => run(db, async () => (await findProblems(db, seen)).problems)),
    remove,
  };
}

async function makeClients(db: D1Database): Promise<Client[]> {
  const keys = await seed(db, KEYS_EACH);
  return keys.flatMap(({ organization, value: key }, index) =>
    Array.from({ length: CLIENTS_OF_KEY }, (_, n) => ({ organization, key, name: `client ${index + 1}.${n + 1}` })),
  );
}

/**
 * Compares the database with what the clients saw; `found` is the number of writes without a
 * response that are there.
 */
async function findProblems(
  db: D1Database,
  seen: ReadonlyMap<string, Seen>,
): Promise<{ problems: string[]; found: number }> {
  const problems: string[] = [];
  let found = 0;
  for (const [organization, { acknowledged, unanswered, wrongReplays }] of seen) {
    problems.push(...(await inconsistencies(db, organization)));
    const compared = await compareWithAcknowledged(db, organization, acknowledged);
    problems.push(...compared.missing.map((id) => `${organization}: ${id} was acknowledged and is missing`));
    problems.push(...wrongReplays.map((text) => `${organization}: "${text}" was sent once and answered as a replay`));
    for (const text of compared.unacknowledged) {
      if (unanswered.has(text)) found += 1;
      else problems.push(`${organization}: "${text}" was written and not acknowledged`);
    }
  }
  return { problems, found };
}

/** The result of a run in one sentence. */
export function summary({ kills, cutOff, acknowledged, replays, unanswered, operations }: CrashRun): string {
  return `${kills} crashes survived with ${cutOff} requests cut off: ${acknowledged} acknowledged writes are there once (${replays} of them answered by a replay); of ${unanswered.sent} without Idempotency-Key and without a response ${unanswered.found} are there, once each; meanwhile ${JSON.stringify(operations)}`;
}
