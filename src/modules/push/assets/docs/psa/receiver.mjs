// Receives what the Ticket Write-Back API pushes, and writes notes and time entries into your PSA.
//
// export WEBHOOK_SECRET=whsec_… PSA_URL=https://psa.example/api
// export PSA_AUTHORIZATION='Bearer TOKEN'
// # Or: export PSA_AUTHORIZATION="Basic $(printf %s 'USER:PASSWORD' | openssl base64 -A)"
// node receiver.mjs 8971
//
// After a restore of your PSA's database, start it with SERVICE_URL, PSA_SECRET and --replay ORGANIZATION.
//
// Fit psa, write and report to your PSA. The rest can stay.
import { createHmac, randomUUID, timingSafeEqual } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { setTimeout } from 'node:timers/promises';

const { PSA_URL, PSA_AUTHORIZATION, SERVICE_URL, QUEUE = 'queue', PAUSE = '30', LIMIT = '3600' } = process.env;
const SECRETS = secretsIn('WEBHOOK_SECRET');
// Longer than any call to your PSA takes: a call that was cut off may still be running there.
const PAUSE_MS = Number(PAUSE) * 1000;
// A change that alone fails for this long is set aside.
const LIMIT_MS = Number(LIMIT) * 1000;
// The changes to write. Others are not: a refusal that you report also comes back, with its record.
const WRITTEN = /^(note|time_entry)\.(created|approved|rejected|redacted)$/;

/** Two secrets, separated by white space, while one replaces the other. */
function secretsIn(variable) {
  const texts = process.env[variable]?.match(/\S+/g) ?? [''];
  const secrets = texts.map((secret) => Buffer.from(secret.replace('whsec_', ''), 'base64'));
  // Everyone knows the empty key.
  if (secrets.some(({ length }) => length < 24)) throw new Error(`${variable} needs a secret of at least 24 bytes.`);
  return secrets;
}

const sign = (secret, id, sentAt, body) =>
  `v1,${createHmac('sha256', secret).update(`${id}.${sentAt}.`).update(body).digest('base64')}`;

/** Whether the message was signed with one of our secrets, in the last five minutes. */
function isGenuine(headers, body) {
  const { 'webhook-id': id, 'webhook-timestamp': sentAt, 'webhook-signature': signatures = '' } = headers;
  if (!/^\d+$/.test(sentAt) || Math.abs(Date.now() / 1000 - sentAt) > 300) return false;
  const isOurs = (given, secret) => {
    const ours = sign(secret, id, sentAt, body);
    return given.length === ours.length && timingSafeEqual(Buffer.from(given, 'latin1'), Buffer.from(ours));
  };
  return signatures.split(' ').some((given) => SECRETS.some((secret) => isOurs(given, secret)));
}

/** Puts each change to write into its organization's queue, as a file that names seq and record. */
function store({ organization, changes }) {
  mkdirSync(`${QUEUE}/${organization}`, { recursive: true });
  for (const change of changes) {
    if (change.action === 'time_entry.taken' && change.actor.type === 'user')
      writeFileSync(enteredFile(`${QUEUE}/${organization}`, change), '');
    if (!WRITTEN.test(change.action)) continue;
    const file = `${QUEUE}/${organization}/${String(change.seq).padStart(12, '0')}-${change.action}-${change.targetId}`;
    if (!existsSync(`${file}.refused`)) save(`${file}.json`, { ...change, organization });
  }
}

/** The file that exists if an administrator has entered this time by hand. */
const enteredFile = (queue, { targetId }) => `${queue}/${targetId}.entered`;

function save(file, change) {
  writeFileSync(`${file}.new`, JSON.stringify(change));
  renameSync(`${file}.new`, file); // So that a file is always complete.
}

async function receive(request) {
  const body = await buffer(request);
  if (!isGenuine(request.headers, body)) return 401;
  const message = JSON.parse(body);
  // Alerts and other types are confirmed too, and not needed here.
  if (message.type !== 'work.changes') return 204;
  // Nothing is awaited in store, so pages are stored one after the other.
  store(message.data);
  start(message.data.organization, 0);
  return 204;
}

/** The PSA will not take the record, even if it is sent again. */
class Refused extends Error {}
/** The PSA does not accept our account: a person has to look at it. */
class Denied extends Error {}

async function psa(method, path, body) {
  const headers = { Authorization: PSA_AUTHORIZATION, 'Content-Type': 'application/json' };
  const signal = AbortSignal.timeout(20_000);
  const response = await fetch(PSA_URL + path, { method, headers, signal, body: body && JSON.stringify(body) });
  if (response.ok) return response.json();
  const isDenied = [401, 403].includes(response.status); // For 407, fetch throws an error.
  const isRefused = method !== 'GET' && [400, 404, 409, 410, 413, 422].includes(response.status);
  throw new (isDenied ? Denied : isRefused ? Refused : Error)(`HTTP ${response.status}`);
}

/**
 * Writes the record as it is now. The look-up by its id comes first: it may be in the PSA already.
 * With several tenants, change.organization says into which one.
 */
async function write({ action, note, timeEntry, enteredByHand, targetId: externalId, ticketId: ticket }) {
  const path = note ? '/notes' : '/time-entries';
  const [found] = await psa('GET', `${path}?externalId=${externalId}`);
  // A review can come without its record.
  const status = timeEntry?.status ?? action.split('.')[1].toUpperCase();
  const fields = note ? { internal: true, text: note.message.text } : timeEntry && fieldsOf(timeEntry);
  // Time that the settings area decides is created when it is approved, and never when it is rejected. Time that an
  // administrator has entered by hand is not created again.
  const isReady = timeEntry?.approvals === 'psa' || timeEntry?.status === 'APPROVED';
  const mayCreate = note || (isReady && !enteredByHand);
  if (!found && mayCreate) await psa('POST', path, { ...fields, externalId, ticket });
  // Only what the change is about: an older one may come later, and must not bring a redacted text back.
  else if (found && action.endsWith('.redacted')) await psa('PATCH', `${path}/${found.id}`, { text: fields.text });
  else if (found && !action.endsWith('.created')) await psa('PATCH', `${path}/${found.id}`, { status });
}

function fieldsOf({ description, userId, workDate, minutes, billable, hourlyRate, status }) {
  return { text: description.text, user: userId, date: workDate.slice(0, 10), minutes, billable, hourlyRate, status };
}

/** Reports a refusal, or its end. Send this to the service, with the function `call`. */
async function report({ organization, note, targetId }, result, reason) {
  const data = { organization, kind: note ? 'note' : 'time_entry', id: targetId, result, reason };
  console.error(JSON.stringify({ type: 'work.report', data }));
}

/**
 * Writes a change into the PSA, or sets it aside as a file. Returns whether the PSA took it. After any other error,
 * it must be tried again.
 */
async function take(file, change, { isAlone, isFirst }) {
  try {
    await write(change);
  } catch (error) {
    const isOver = isAlone || error instanceof Refused;
    if (!change.reported && (isOver || (isFirst && error instanceof Denied))) {
      await report(change, 'refused', error.message);
      save(file, { ...change, reported: true });
    }
    if (!isOver) throw error;
    renameSync(file, file.replace(/json$/, 'refused'));
    return false;
  }
  if (change.reported) await report(change, 'taken');
  rmSync(file);
  return true;
}

/** Sends a call to the service, and returns its value. */
async function call(type, data) {
  const body = JSON.stringify({ type, data });
  const [id, at] = [`msg_${randomUUID()}`, String(Math.floor(Date.now() / 1000))];
  const [secret] = secretsIn('PSA_SECRET');
  const signed = { 'webhook-id': id, 'webhook-timestamp': at, 'webhook-signature': sign(secret, id, at, body) };
  const headers = { ...signed, 'Content-Type': 'application/json' };
  const signal = AbortSignal.timeout(30_000);
  const response = await fetch(`${SERVICE_URL}/psa`, { method: 'POST', headers, body, signal });
  if (!response.ok) throw new Error(`HTTP ${response.status} ${await response.text()}`);
  return (await response.json()).value;
}

/** Puts all changes into the queue again. The look-up in write finds the records that your PSA still has. */
async function replay(organization) {
  for (let page = { cursor: null, more: true }; page.more; ) {
    page = await call('work.changes', { organization, cursor: page.cursor });
    store({ organization, changes: page.changes });
  }
}

const started = new Set();

/** Starts to work on an organization's queue, so that none waits for another. */
function start(organization, pause) {
  if (started.has(organization)) return;
  started.add(organization);
  // Otherwise a queue would be confirmed and never written.
  work(`${QUEUE}/${organization}`, pause).catch((error) => process.exit(console.error(error) ?? 1));
}

/** Takes the changes of a queue in order. One that fails holds up only its own ticket, until LIMIT. */
async function work(queue, pause) {
  await setTimeout(pause);
  const failed = new Map(); // By name, when it failed for the first and for the last time.
  for (let writtenAt = 0; ; await setTimeout(200)) {
    const held = new Set();
    for (const name of readdirSync(queue).sort()) {
      if (!name.endsWith('.json')) continue;
      const file = `${queue}/${name}`;
      const change = JSON.parse(readFileSync(file, 'utf8'));
      change.enteredByHand = existsSync(enteredFile(queue, change));
      const { ticketId } = change;
      if (held.has(ticketId)) continue;
      const { first = Date.now(), last = Infinity } = failed.get(name) ?? {};
      const isLong = Date.now() - first > LIMIT_MS;
      try {
        const isTaken = await take(file, change, { isAlone: isLong && writtenAt > last, isFirst: held.size === 0 });
        if (isTaken) writtenAt = Date.now();
        failed.delete(name);
      } catch (error) {
        console.error(`${file} is tried again:`, error);
        failed.set(name, { first, last: Date.now() });
        if (!isLong) held.add(ticketId);
        await setTimeout(PAUSE_MS);
      }
    }
  }
}

const server = createServer((request, response) =>
  receive(request).then(
    (status) => response.writeHead(status).end(),
    (error) => response.writeHead(500).end(console.error(error)), // The page is sent again.
  ),
);
mkdirSync(QUEUE, { recursive: true });
const [port, , ...replayed] = process.argv.slice(2);
// Before the work begins: only a later change shows which time was entered by hand.
for (const organization of replayed) await replay(organization);
for (const organization of readdirSync(QUEUE)) start(organization, PAUSE_MS);
server.listen(Number(port), '127.0.0.1');
