// Receives what the Ticket Write-Back API pushes, and writes notes and time entries into your PSA.
//
// WEBHOOK_SECRET=whsec_… PSA_URL=https://psa.example/api PSA_TOKEN=… node receiver.mjs 8971
//
// Fit psa, write and report to your PSA. The rest can stay.
import { createHmac, timingSafeEqual } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { setTimeout } from 'node:timers/promises';

const { WEBHOOK_SECRET = '', PSA_URL, PSA_TOKEN, QUEUE = 'queue', PAUSE = '30' } = process.env;
// Two secrets, separated by white space, while one replaces the other.
const SECRETS = (WEBHOOK_SECRET.match(/\S+/g) ?? ['']).map((secret) =>
  Buffer.from(secret.replace('whsec_', ''), 'base64'),
);
// Everyone knows the empty key.
if (SECRETS.some(({ length }) => length < 24)) throw new Error('WEBHOOK_SECRET needs a secret of at least 24 bytes.');
// Longer than any call to your PSA takes: a call that was cut off may still be running there.
const PAUSE_MS = Number(PAUSE) * 1000;
// The changes to write. Others are not: a refusal that you report also comes back, with its record.
const WRITTEN = /\.(created|approved|rejected|redacted)$/;

/** Whether the message was signed with one of our secrets, in the last five minutes. */
function isGenuine(headers, body) {
  const { 'webhook-id': id, 'webhook-timestamp': sentAt, 'webhook-signature': signatures = '' } = headers;
  if (!/^\d+$/.test(sentAt) || Math.abs(Date.now() / 1000 - sentAt) > 300) return false;
  const isOurs = (given, secret) => {
    const ours = `v1,${createHmac('sha256', secret).update(`${id}.${sentAt}.`).update(body).digest('base64')}`;
    return given.length === ours.length && timingSafeEqual(Buffer.from(given, 'latin1'), Buffer.from(ours));
  };
  return signatures.split(' ').some((given) => SECRETS.some((secret) => isOurs(given, secret)));
}

/** Puts each change to write into the queue with its organization, as a file that names seq and record. */
function store({ organization, changes }) {
  mkdirSync(QUEUE, { recursive: true });
  for (const change of changes) {
    const record = change.note ?? change.timeEntry;
    if (!record || !WRITTEN.test(change.action)) continue;
    const file = `${QUEUE}/${String(change.seq).padStart(12, '0')}-${change.action}-${record.id}`;
    writeFileSync(`${file}.new`, JSON.stringify({ ...change, organization }));
    renameSync(`${file}.new`, `${file}.json`); // So that a file is always complete.
  }
}

async function receive(request) {
  const body = await buffer(request);
  if (!isGenuine(request.headers, body)) return 401;
  const message = JSON.parse(body);
  // Alerts and other types are confirmed too, and not needed here. Nothing is awaited in store, so
  // pages are stored one after the other.
  if (message.type === 'work.changes') store(message.data);
  return 204;
}

/** The PSA will not take the record, even if it is sent again. */
class Refused extends Error {}

async function psa(method, path, body) {
  const headers = { Authorization: `Bearer ${PSA_TOKEN}`, 'Content-Type': 'application/json' };
  const signal = AbortSignal.timeout(20_000);
  const response = await fetch(PSA_URL + path, { method, headers, signal, body: body && JSON.stringify(body) });
  if (response.ok) return response.json();
  const isRefused = method !== 'GET' && [400, 404, 422].includes(response.status);
  throw new (isRefused ? Refused : Error)(`HTTP ${response.status}`);
}

/**
 * Writes the record as it is now. The look-up by its id comes first: it may be in the PSA already.
 * With several tenants, change.organization says into which one.
 */
async function write({ action, note, timeEntry }) {
  const { id, ticketId: ticket } = note ?? timeEntry;
  const path = note ? '/notes' : '/time-entries';
  const fields = note ? { internal: true, text: note.message.text } : fieldsOf(timeEntry);
  const [found] = await psa('GET', `${path}?externalId=${id}`);
  if (!found) await psa('POST', path, { ...fields, externalId: id, ticket });
  // Approved, rejected or redacted.
  else if (!action.endsWith('.created')) await psa('PUT', `${path}/${found.id}`, { ...fields, externalId: id, ticket });
}

function fieldsOf({ description, userId, workDate, minutes, billable, hourlyRate, status }) {
  return { text: description.text, user: userId, date: workDate.slice(0, 10), minutes, billable, hourlyRate, status };
}

/** Reports the refusal. Send this to the service, with the function of /docs/psa that sends a call. */
async function report({ organization, note, targetId }, reason) {
  const data = { organization, kind: note ? 'note' : 'time_entry', id: targetId, result: 'refused', reason };
  console.error(JSON.stringify({ type: 'work.report', data }));
}

/** The names of the files in the queue, oldest change first. */
function waiting() {
  mkdirSync(QUEUE, { recursive: true });
  return readdirSync(QUEUE)
    .filter((name) => name.endsWith('.json'))
    .sort();
}

/** Writes a change of the queue into the PSA. What the PSA refuses is kept as a file. */
async function take(file) {
  const change = JSON.parse(readFileSync(file, 'utf8'));
  try {
    await write(change);
    rmSync(file);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    await report(change, error.message);
    renameSync(file, file.replace(/json$/, 'refused'));
  }
}

/** Takes one change after the other. After any error it waits, and takes the same change again. */
async function work() {
  for (let pause = waiting().length > 0 ? PAUSE_MS : 200; ; ) {
    await setTimeout(pause);
    pause = 200;
    try {
      for (const name of waiting()) await take(`${QUEUE}/${name}`);
    } catch (error) {
      console.error('The queue is tried again:', error);
      pause = PAUSE_MS;
    }
  }
}

const server = createServer((request, response) =>
  receive(request).then(
    (status) => response.writeHead(status).end(),
    (error) => response.writeHead(500).end(console.error(error)), // The page is sent again.
  ),
);
server.listen(Number(process.argv[2]), '127.0.0.1', work);
