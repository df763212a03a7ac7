import { setTimeout } from 'node:timers/promises';
import { withLocalD1 } from '../../src/cli/local.ts';
import { localDatabase } from './command.ts';
import { compareWithAcknowledged, inconsistencies } from './ledger.ts';
import { ORGANIZATIONS, restartable, seed, UNLIMITED } from './restartable.ts';

/** For each of the organizations. */
const KEYS_EACH = 2;
const CLIENTS_OF_KEY = 3;
/** Of so many writes of a client, the last goes without Idempotency-Key and is never sent again. */
const ONCE_IN = 5;
/** Between the moment when all clients have written again and the next kill, at most. */
const LONGEST_CALM_MS = 800;
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1_000;
/** A run takes a few seconds for each kill. One that hangs is ended. */
const SET_UP_LIMIT_MS = 60_000;
const KILL_LIMIT_MS = 15_000;

/** What became of the writes to one organization, as its clients saw it. */
interface Seen {
  /** id → text of what was answered 200 or 201. */
  acknowledged: Map<string, string>;
  /** Texts of writes without an Idempotency-Key that got no answer, or none that tells: they may be there. */
  unanswered: Set<string>;
  /** A 200 to what was sent once only: somebody else's record. */
  wrong: string[];
}

interface Client {
  organization: string;
  key: string;
  name: string;
}

export interface CrashRun {
  kills: number;
  /** Requests that were on their way at the kills, all together. */
  cutOff: number;
  acknowledged: number;
  /** Answers that a repeat after a crash got: the record was there already. */
  replays: number;
  /** Writes without an Idempotency-Key that got no answer, and how many of them are there. */
  unanswered: { sent: number; found: number };
  /** What is lost, doubled or out of order, in words; nothing, if all is well. */
  problems: string[];
  /** Opens the database once more, with a function that looks for problems again. */
  use: <T>(use: (db: D1Database, problems: () => Promise<string[]>) => Promise<T>) => Promise<T>;
  remove: () => Promise<void>;
}

/**
 * Lets clients write to the production bundle in workerd, with its data on disk, and kills it by SIGKILL so many times at random moments
 * while writes are on their way; each time it is started again on the same data. In the end every client has finished its last write.
 */
export async function crash(kills: number): Promise<CrashRun> {
  const { persistTo, remove } = await localDatabase();
  const server = await restartable(persistTo, { IP_LIMIT: UNLIMITED, KEY_LIMIT: UNLIMITED });
  const clients = await withLocalD1(persistTo, makeClients);
  const seen = new Map<string, Seen>(
    ORGANIZATIONS.map((id) => [id, { acknowledged: new Map(), unanswered: new Set(), wrong: [] }] as const),
  );

  const over = new AbortController();
  const signal = AbortSignal.any([over.signal, AbortSignal.timeout(SET_UP_LIMIT_MS + kills * KILL_LIMIT_MS)]);
  const sleep = (ms: number) => setTimeout(ms, undefined, { signal });
  let stopping = false;
  let onTheirWay = 0;
  let cutOff = 0;
  let replays = 0;
  /** Clients that have had an answer since the last start. */
  const served = new Set<Client>();

  /** One request and its whole answer, or undefined if there was none. */
  const ask = async ({ key, name }: Client, number: number, idempotencyKey: string | undefined, text: string) => {
    const [path, body] =
      number % 2 === 0
        ? ['notes', { message: text }]
        : ['time-entries', { minutes: 30, description: text, billable: true }];
    onTheirWay += 1;
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
      // Refused, reset or cut off in the middle: the server was killed.
      return undefined;
    } finally {
      onTheirWay -= 1;
    }
  };

  /** A write, sent as the published client sends it: unchanged and again until it has arrived, if it has an Idempotency-Key. */
  const write = async (client: Client, number: number) => {
    const of = seen.get(client.organization);
    if (!of) throw new Error(`nobody watches ${client.organization}`);
    const text = `${client.name}, write ${number}`;
    const idempotencyKey =
      number % ONCE_IN === ONCE_IN - 1 ? undefined : `${client.name}:${number}`.replaceAll(' ', '-');
    for (let tries = 1; ; tries++) {
      const answer = await ask(client, number, idempotencyKey, text);
      if (answer?.status === 200 || answer?.status === 201) {
        const { note, entry }: { note?: { id: string }; entry?: { id: string } } = JSON.parse(answer.text);
        of.acknowledged.set((note ?? entry)?.id ?? '', text);
        if (answer.status === 200) replays += 1;
        if (answer.status === 200 && tries === 1) of.wrong.push(text);
        served.add(client);
        return;
      }
      if (answer && answer.status !== 429 && answer.status < 500)
        throw new Error(`answered ${answer.status}: ${answer.text}`);
      if (idempotencyKey === undefined) {
        // Surely not written, or perhaps: both are held against what is there.
        of.unanswered.add(text);
        return;
      }
      const asked = 1_000 * Number(answer?.retryAfter ?? 0);
      await sleep(
        Math.max(asked, Math.min(FIRST_PAUSE_MS * 2 ** (tries - 1), LONGEST_PAUSE_MS)) + Math.random() * FIRST_PAUSE_MS,
      );
    }
  };

  const work = async (client: Client) => {
    for (let number = 0; !stopping; number++) await write(client, number);
  };
  const killAgainAndAgain = async () => {
    for (let done = 0; done < kills; done++) {
      while (served.size < clients.length) await sleep(5);
      await sleep(Math.random() * LONGEST_CALM_MS);
      while (onTheirWay === 0) await sleep(1);
      cutOff += onTheirWay;
      await server.kill();
      served.clear();
      await server.start();
    }
    while (served.size < clients.length) await sleep(5);
    stopping = true;
  };
  await server.start();
  const all = [killAgainAndAgain(), ...clients.map(work)];
  try {
    await Promise.all(all);
  } finally {
    over.abort();
    await Promise.allSettled(all);
    await server.stop();
  }

  const { problems, found } = await withLocalD1(persistTo, (db) => findProblems(db, seen));
  const sum = (count: (of: Seen) => number) => [...seen.values()].reduce((total, of) => total + count(of), 0);
  return {
    kills,
    cutOff,
    acknowledged: sum((of) => of.acknowledged.size),
    replays,
    unanswered: { sent: sum((of) => of.unanswered.size), found },
    problems,
    use: (run) => withLocalD1(persistTo, (db) => run(db, async () => (await findProblems(db, seen)).problems)),
    remove,
  };
}

function makeClients(db: D1Database): Promise<Client[]> {
  return seed(db, KEYS_EACH).then((keys) =>
    keys.flatMap(({ organization, value: key }, index) =>
      Array.from({ length: CLIENTS_OF_KEY }, (_, n) => ({ organization, key, name: `client ${index + 1}.${n + 1}` })),
    ),
  );
}

/** Where the database and what the clients saw disagree; `found` are writes without an answer that are there. */
async function findProblems(
  db: D1Database,
  seen: ReadonlyMap<string, Seen>,
): Promise<{ problems: string[]; found: number }> {
  const problems: string[] = [];
  let found = 0;
  for (const [organization, { acknowledged, unanswered, wrong }] of seen) {
    problems.push(...(await inconsistencies(db, organization)));
    const compared = await compareWithAcknowledged(db, organization, acknowledged);
    problems.push(...compared.missing.map((id) => `${organization}: ${id} was acknowledged and is not there`));
    problems.push(
      ...wrong.map((text) => `${organization}: "${text}" was called a replay, but had been sent once only`),
    );
    for (const text of compared.unacknowledged) {
      if (unanswered.has(text)) found += 1;
      else problems.push(`${organization}: "${text}" is there, but should have been acknowledged, or never be`);
    }
  }
  return { problems, found };
}

/** What a run has come to, in a sentence. */
export function summary({ kills, cutOff, acknowledged, replays, unanswered }: CrashRun): string {
  return `${kills} crashes survived with ${cutOff} requests cut off: ${acknowledged} acknowledged writes are there once (${replays} of them answered by a replay); of ${unanswered.sent} without Idempotency-Key and without an answer ${unanswered.found} are there, once each`;
}
