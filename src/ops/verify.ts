import { setTimeout } from 'node:timers/promises';
import * as z from 'zod';
import type { Config } from '../config.ts';
import { generateKey } from '../domain/api-key.ts';
import { isLoopback } from '../lib/loopback.ts';
import type { ObjectStore } from '../lib/object-store.ts';
import { agentMessage, bodyOf, guarded, isOurs, namesOf, onlyHttps, require401, whoAnswered } from './diagnose.ts';
import { count, percent } from './output.ts';
import { check, Failure, type Finding, jsonOf, type ProbeResponse, sendProbe, skewBetween } from './probe.ts';

type Expected = Pick<Config, 'keyPrefix' | 'keyLimit'>;

export interface ExpectedDatabase {
  db: D1Database;
  archive?: ObjectStore | undefined;
  /** The size in bytes at which it is full. */
  limit: number;
  migrations: readonly string[];
}

export interface Verification {
  url: URL;
  key: string;
  ticket: string;
  /** Whether to send requests until the limit of the key refuses one. */
  limits?: boolean;
  expected?: Expected | undefined;
  database?: ExpectedDatabase | undefined;
  send?: typeof fetch;
  /** The clock of this machine, in UTC milliseconds. */
  now?: () => number;
}

/** From this share of its limit on, the database is nearly full. */
const MAX_DATABASE_SHARE = 0.9;
/** How long the push may take to deliver the note. */
const PUSH_MS = 5_000;

/** Everything that a proxy may change in a text, and the text as such a proxy would pass it on. */
const MESSAGE = 'Written by "ops verify" to check this deployment:  two spaces, <b>markup</b>, caf\u00e9.';
const CHANGED_ON_THE_WAY = {
  'white space': MESSAGE.replaceAll('  ', ' '),
  markup: MESSAGE.replaceAll(/<\/?b>/g, ''),
  'Unicode characters': MESSAGE.normalize('NFD'),
};

const pingShape = z.object({ organizationId: z.string(), scopes: z.array(z.string()) });
const noteShape = z.object({
  note: z.object({ id: z.string(), createdAt: z.string() }),
  idempotentReplay: z.boolean().optional(),
  idempotencyMismatch: z.boolean().optional(),
});
const errorsShape = z.object({ code: z.string(), errors: z.array(z.object({ pointer: z.string() })) });
const toolShape = z.object({
  result: z.object({ structuredContent: z.looseObject({ id: z.string().optional(), code: z.string().optional() }) }),
});

/** Writes one note. With `database`, also reads its schema, its size, and the state of push and archive. */
export async function* verify({
  url,
  key,
  ticket,
  limits = false,
  expected,
  database,
  send = fetch,
  now = Date.now,
}: Verification): AsyncGenerator<Finding> {
  const loopback = isLoopback(url.hostname);
  const origin = loopback ? url.origin : `https://${url.host}`;
  const ask = (path: string, init: RequestInit = {}) => sendProbe(send, `${origin}${path}`, init);
  const authorization = { Authorization: `Bearer ${key}` };
  const idempotencyKey = `verify:${crypto.randomUUID()}`;
  const post = (body: object, headers: Record<string, string> = authorization) =>
    ask(`/api/v1/tickets/${encodeURIComponent(ticket)}/notes`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
  const write = (message: string) => post({ message }, { ...authorization, 'Idempotency-Key': idempotencyKey });
  const ping = () => ask('/api/v1/ping', { headers: authorization });

  if (!loopback) yield await check('plain http', () => onlyHttps(send, url.host));
  let pinged: ProbeResponse | undefined;
  const first = await check('ping', async (notes) => {
    const sentAt = now();
    const given = notes.of(await ping());
    const { organizationId, scopes } = readPing(given, key, expected);
    sameClock(given, sentAt, now());
    if (!scopes.includes('tickets:note:write'))
      throw new Failure('the key lacks the scope tickets:note:write, which the next checks need. Take another key.');
    pinged = given;
    return `200, organization ${organizationId}, ${given.ms} ms`;
  });
  yield first;
  if (!first.answered) return;
  if (pinged) {
    const before = pinged;
    yield await check('ping again', async (notes) => notCached(before, notes.of(await ping())));
    if (expected) yield await check('limits', async () => sameLimit(before, expected));
    yield* verifyWrites();
  }
  yield await check('401', async (notes) => {
    const none = notes.of(await post({ message: MESSAGE }, {}));
    const prefix = key.slice(0, key.indexOf('_'));
    const wrong = await post({ message: MESSAGE }, { Authorization: `Bearer ${generateKey(prefix)}` });
    for (const given of [none, wrong]) require401(given);
    if (namesOf(none) !== namesOf(wrong))
      throw new Failure(`a wrong key gets other headers than none: ${namesOf(wrong)} instead of ${namesOf(none)}.`);
    return 'a wrong key gets the same response as none, byte for byte';
  });
  yield await check('/docs', async (notes) => {
    const given = notes.of(await ask('/docs'));
    if (given.status !== 200) throw new Failure(whoAnswered(given));
    const policy = given.headers.get('content-security-policy') ?? '';
    if (policy.includes("default-src 'none'")) return 'has its security headers';
    throw new Failure("content-security-policy lacks default-src 'none'. A proxy or a transform rule changes headers.");
  });
  yield await check('/settings', async (notes) =>
    guarded(notes.of(await ask('/settings')), await ask('/settings/x/keys')),
  );
  yield await check('/psa', async (notes) => {
    const given = notes.of(await ask('/psa', { method: 'POST' }));
    if (given.status === 404 && isOurs(given)) return 'off';
    if (given.status === 401 && isOurs(given)) return 'on; refuses a message without a signature';
    throw new Failure(whoAnswered(given));
  });
  if (database) yield* verifyDatabase(database);
  else yield await check('archive', async () => 'not visible from outside; archive:check --read checks it');
  if (limits) yield await check('429', async () => refusedAtLimit(await pingUntilRefused(ping)));

  /** The note, its replay through both Workers, and requests that must not write. */
  async function* verifyWrites(): AsyncGenerator<Finding> {
    let id = '';
    yield await check('note', async (notes) => {
      const sentAt = now();
      const given = notes.of(await write(MESSAGE));
      if (given.status >= 500) throw new Failure(cannotWrite(given));
      const { note } = readNote(given, 201);
      id = note.id;
      sameTime(Date.parse(note.createdAt), sentAt, now());
      return `201, wrote the note ${id} on ticket ${ticket}, Idempotency-Key ${idempotencyKey}, ${given.ms} ms`;
    });
    if (id === '') return;
    yield await check('replay', async (notes) => {
      const given = notes.of(await write(MESSAGE));
      const replayed = readNote(given, 200);
      if (replayed.note.id === id && replayed.idempotentReplay && !replayed.idempotencyMismatch)
        return `200, the same note, ${given.ms} ms`;
      throw new Failure(`the same request was not a replay of the note ${id}, but ${given.body.slice(0, 200)}`);
    });
    yield await check('mismatch', async (notes) => {
      for (const [what, message] of Object.entries(CHANGED_ON_THE_WAY)) {
        if (readNote(notes.of(await write(message)), 200).idempotencyMismatch) continue;
        throw new Failure(
          `a text that differs only in ${what} counts as the same: a proxy changes ${what} in the bodies of requests. Exclude /api/* from it.`,
        );
      }
      return '200, other texts under the same Idempotency-Key are reported, and bodies arrive unchanged';
    });
    yield await check('422', async (notes) => {
      const given = notes.of(await post({ message: '' }));
      const found = errorsShape.safeParse(jsonOf(given.body));
      if (given.status !== 422 || !found.data?.errors.some(({ pointer }) => pointer === '/message'))
        throw new Failure(`an empty message is not refused with 422 and /message. ${whoAnswered(given)}`);
      return 'an empty message is refused, and the field is named';
    });
    yield await check('/mcp', async (notes) => {
      const args = { ticketId: ticket, message: MESSAGE, idempotencyKey };
      const call = agentMessage('tools/call', authorization, { name: 'add_internal_note', arguments: args });
      const given = notes.of(await ask('/mcp', call));
      if (given.status === 404) return 'off';
      const found = toolShape.safeParse(jsonOf(given.body)).data?.result.structuredContent;
      if (found?.id === id) return 'on; the same Idempotency-Key gets the same note';
      throw new Failure(
        `the Worker for AI agents does not find the note ${id} (${given.status}${found?.code === undefined ? '' : `, ${found.code}`}): ${whyAgentsDiffer(given.status)}`,
      );
    });
  }

  async function* verifyDatabase({ db, archive, limit, migrations }: ExpectedDatabase): AsyncGenerator<Finding> {
    yield await check('schema', async () => {
      const { results } = await db.prepare('select name from d1_migrations').all<{ name: string }>();
      const applied = new Set(results.map(({ name }) => name));
      const missing = migrations.filter((name) => !applied.has(name));
      if (missing.length === 0) return `has all ${migrations.length} migrations`;
      throw new Failure(`the database lacks ${missing.join(', ')}. Migrate it: npm run deploy -- --migrate`);
    });
    yield await check('size', async () => {
      const { meta } = await db.prepare('select 1').all();
      const share = meta.size_after / limit;
      if (share < MAX_DATABASE_SHARE) return `${percent(share)} of the limit`;
      throw new Failure(
        `the database is nearly full: ${percent(share)} of DATABASE_LIMIT. See the runbook, "D1 is full".`,
      );
    });
    const found = pingShape.safeParse(jsonOf(pinged?.body ?? ''));
    if (!found.success) return;
    yield await check('push', () => pushed(db, found.data.organizationId));
    yield await check('archive', () => archived(db, archive, found.data.organizationId));
  }
}

function readPing(given: ProbeResponse, key: string, expected: Expected | undefined): z.output<typeof pingShape> {
  const prefix = key.slice(0, key.indexOf('_'));
  if (expected && prefix !== expected.keyPrefix)
    throw new Failure(
      `the key begins with ${prefix}, and KEY_PREFIX is ${expected.keyPrefix}: it is a key of another deployment.`,
    );
  if (given.status === 401)
    throw new Failure(
      `401. If the reason in the log of the request is "missing", a rule of the zone or a proxy strips the Authorization header; otherwise the key is unknown here, ended or blocked.`,
    );
  if (given.status >= 500) throw new Failure(cannotWrite(given));
  if (!isOurs(given)) throw new Failure(whoAnswered(given));
  return bodyOf(given, pingShape);
}

function notCached(before: ProbeResponse, given: ProbeResponse): string {
  const id = ({ headers }: ProbeResponse) => headers.get('x-request-id');
  if (id(before) === id(given) || given.headers.has('age') || given.headers.get('cf-cache-status') === 'HIT')
    throw new Failure(
      'a cache in front of the service answers: the response is one from before. Exclude /api/* from caching.',
    );
  if (given.headers.get('cache-control')?.includes('no-store')) return `comes from the service, ${given.ms} ms`;
  throw new Failure(
    'cache-control lacks no-store. A proxy or a transform rule changes headers; exclude /api/* from it.',
  );
}

function sameLimit(given: ProbeResponse, { keyLimit: { quota, windowMs } }: Expected): string {
  const policy = given.headers.get('ratelimit-policy') ?? '';
  const [, served, seconds] = /"key";q=(\d+);w=(\d+)/.exec(policy) ?? [];
  const configured = `${quota}/${windowMs / 1000}s`;
  if (served === String(quota) && seconds === String(windowMs / 1000)) return `KEY_LIMIT is ${configured}`;
  throw new Failure(
    `the limit of the key is ${served === undefined ? 'not shown' : `${served}/${seconds}s`}, and KEY_LIMIT ${configured}: the deployment has other limits than this file. Deploy again.`,
  );
}

function sameClock({ headers }: ProbeResponse, sentAt: number, receivedAt: number): void {
  const date = Date.parse(headers.get('date') ?? '');
  // A Date has whole seconds.
  if (!Number.isNaN(date)) sameTime(date + 500, sentAt, receivedAt);
}

/** @throws Failure unless a time of the service is between two of this machine, roughly */
function sameTime(theirs: number, sentAt: number, receivedAt: number): void {
  const { tooLarge } = skewBetween(theirs, sentAt, receivedAt);
  if (tooLarge === undefined) return;
  throw new Failure(
    `the clock of the service is ${tooLarge}. Expiry, limits and signatures depend on it: synchronize this machine (NTP).`,
  );
}

function readNote(given: ProbeResponse, status: number): z.output<typeof noteShape> {
  const found = noteShape.safeParse(jsonOf(given.body));
  if (given.status === status && found.success) return found.data;
  throw new Failure(`${status} was expected. ${whoAnswered(given)}`);
}

const cannotWrite = (given: ProbeResponse) =>
  `${whoAnswered(given)} If the log names an unknown table or column, a migration is missing: npm run deploy -- --migrate`;

function whyAgentsDiffer(status: number): string {
  if (status === 401)
    return 'its BLOCKED_KEYS, KEY_PREFIX or database differ. Set the switches of both Workers: npm run ops -- switch BLOCKED_KEYS LIST';
  if (status === 503)
    return 'its MODE differs, or its database fails. Set the switches of both Workers: npm run ops -- switch MODE open';
  return 'it is of an older release, or its database has another schema or is another one. Deploy it from the commit of the main Worker, with the same database_id.';
}

async function pushed(db: D1Database, organization: string): Promise<string> {
  const find = db
    .prepare(
      `select pushes.confirmed_seq as confirmed, failing_since as failing, stopped_at as stopped, failure,
         (select max(seq) from audit_log where audit_log.organization_id = pushes.organization_id) as newest
       from pushes where organization_id = ?`,
    )
    .bind(organization);
  for (const until = Date.now() + PUSH_MS; ; await setTimeout(200)) {
    const row = await find.first<{
      confirmed: number;
      failing: number | null;
      stopped: number | null;
      failure: string | null;
      newest: number;
    }>();
    if (!row) return 'off: nothing was ever pushed for this organization';
    if (row.stopped !== null) throw new Failure('the receiver has stopped the push with 410. See push:status.');
    if (row.failing !== null)
      throw new Failure(`the push has been failing since ${new Date(row.failing).toISOString()}: ${row.failure}.`);
    if (row.confirmed >= row.newest) return `the receiver has everything up to change ${row.newest}`;
    if (Date.now() > until)
      throw new Failure(`${row.newest - row.confirmed} changes wait for ${PUSH_MS / 1000} s. See push:status.`);
  }
}

async function archived(db: D1Database, archive: ObjectStore | undefined, organization: string): Promise<string> {
  const damaged = await db
    .prepare('select count(*) as n from archives where damaged_at is not null')
    .first<number>('n');
  if (damaged) throw new Failure(`${count(damaged, 'object')} missing or damaged. See the runbook, and archive:check.`);
  const newest = await db
    .prepare('select object, bytes from archives where organization_id = ? order by to_seq desc limit 1')
    .bind(organization)
    .first<{ object: string; bytes: number }>();
  if (!newest) return 'nothing of this organization is archived';
  if (!archive)
    throw new Failure('something is archived, and the configuration has no bucket with the binding ARCHIVE.');
  const { objects } = await archive.list(newest.object);
  if (objects.some(({ name, size }) => name === newest.object && size === newest.bytes))
    return 'the newest object is in the bucket; archive:check --read checks them all';
  throw new Failure(
    `the bucket lacks the newest object, ${newest.object}: it may be the wrong bucket. See archive:check.`,
  );
}

/** Sends pings until one gets another status than 200; at most as many as the highest limit admits. */
async function pingUntilRefused(ping: () => Promise<ProbeResponse>): Promise<ProbeResponse> {
  const until = Date.now() + 9_000;
  for (;;) {
    const answers = await Promise.all(Array.from({ length: 50 }, ping));
    const refused = answers.find(({ status }) => status !== 200);
    if (refused) return refused;
    if (Date.now() > until)
      throw new Failure('no request was refused in 9 s: the limiters cannot be reached, or a cache answers.');
  }
}

function refusedAtLimit(given: ProbeResponse): string {
  const wait = Number(given.headers.get('retry-after') ?? Number.NaN);
  if (given.status === 429 && isOurs(given) && wait >= 1) return `refused with 429 and Retry-After ${wait}`;
  throw new Failure(whoAnswered(given));
}
