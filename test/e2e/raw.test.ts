import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { Connection, renderRequest } from '../bench/connection.ts';
import { inLongRuns } from '../support/property.ts';
import { startProduction } from '../support/shared.ts';

// The production bundle on a socket of workerd. To requests that are not valid HTTP workerd itself
// responds, or it closes the connection; on Cloudflare the edge refuses them before. Responses of
// the Worker have a request id.

const IP_LIMIT = { quota: 20, windowMs: 10_000 };

let server: Awaited<ReturnType<typeof startProduction>>;
let addresses = 0;

beforeAll(async () => {
  server = await startProduction({ IP_LIMIT: '20/10s', KEY_LIMIT: '10000/1s' });
});
afterAll(() => server.close());

// Whatever a test has sent, the next request is served.
afterEach(async () => {
  expect(await answersTo(head('GET /api/v1/ping HTTP/1.1'))).toEqual(['200']);
});

const writtenNotes = async () =>
  (await server.db.prepare('select count(*) as count from notes').first<{ count: number }>())?.count;

const open = async (): Promise<Socket> => {
  const socket = connect(Number(server.url.port), server.url.hostname);
  await once(socket, 'connect');
  return socket;
};

/**
 * The responses in order, each as its status and its code, if it has one. A response of workerd
 * itself is in brackets: `(400)`.
 */
function summarize(received: string): string[] {
  const answers = received.split(/(?=HTTP\/1\.1 \d{3} )/).filter((answer) => answer !== '');
  return answers.map((answer) => {
    const status = answer.slice('HTTP/1.1 '.length, 'HTTP/1.1 '.length + 3);
    if (!/\r\nX-Request-Id: /i.test(answer)) return `(${status})`;
    const code = /"code":"(\w+)"/.exec(answer)?.[1];
    return code === undefined ? status : `${status} ${code}`;
  });
}

/**
 * Sends the bytes (as Latin-1), closes this side of the connection, and waits until the server
 * closes the other.
 */
async function answersTo(bytes: string): Promise<string[]> {
  const socket = await open();
  let received = '';
  socket.setEncoding('latin1').on('data', (data) => (received += data));
  // The connection is reset if the server closes it while we are sending.
  socket.on('error', () => undefined);
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.end(Buffer.from(bytes, 'latin1'));
  await closed;
  return summarize(received);
}

/** An address that no request has had. */
function newAddress(): string {
  addresses += 1;
  return `198.18.${addresses >> 8}.${addresses & 255}`;
}

const BODY = '{"message":"raw"}';
const POST = 'POST /api/v1/tickets/1001/notes HTTP/1.1';

/** The head of a valid request, from an address of its own, with more header lines. */
const head = (line = POST, ...lines: string[]) =>
  [
    line,
    'Host: localhost',
    `Authorization: Bearer ${server.key}`,
    'Content-Type: application/json',
    `CF-Connecting-IP: ${newAddress()}`,
    ...lines,
    '\r\n',
  ].join('\r\n');
const LENGTH = `Content-Length: ${BODY.length}`;
const CHUNKED = 'Transfer-Encoding: chunked';
const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;
const END = '0\r\n\r\n';
const PING = 'GET /api/v1/ping HTTP/1.1';
/** A whole valid request, to be hidden in the body of another one. */
const hidden = () => head(POST, LENGTH) + BODY;

const OK = ['201'];
const BROKEN = ['400 malformed_json'];

const CASES: [what: string, bytes: () => string, answers: string[]][] = [
  ['a body as long as declared', () => head(POST, LENGTH) + BODY, OK],
  ['a body shorter than declared, and a closed connection', () => head(POST, 'Content-Length: 100') + BODY, BROKEN],
  ['a declared body that is not sent', () => head(POST, LENGTH), BROKEN],
  ['a body longer than declared, whose rest is not a request', () => `${head(POST, LENGTH)}${BODY}xxxxxxxxxx`, OK],
  ['a body that is declared too short', () => head(POST, 'Content-Length: 5') + BODY, [...BROKEN, '(400)']],
  ['a body declared as 1 GiB', () => head(POST, 'Content-Length: 1073741824') + BODY, ['413 body_too_large']],
  ['no length and no body', () => head(POST), BROKEN],
  ['the same length in two headers', () => head(POST, LENGTH, LENGTH) + BODY, OK],

  ['one chunk', () => head(POST, CHUNKED) + chunk(BODY) + END, OK],
  ['a chunk for each character', () => head(POST, CHUNKED) + [...BODY].map(chunk).join('') + END, OK],
  ['chunks with an invalid size', () => `${head(POST, CHUNKED)}zz\r\n${BODY}\r\n${END}`, BROKEN],
  ['a chunk of a negative size', () => `${head(POST, CHUNKED)}-1\r\n${BODY}\r\n${END}`, BROKEN],
  ['a chunk of a size beyond 64 bits', () => `${head(POST, CHUNKED)}${'F'.repeat(17)}\r\n${BODY}\r\n${END}`, BROKEN],
  ['a chunk longer than its size', () => `${head(POST, CHUNKED)}${chunk(BODY).replace('}\r\n', '}XX')}${END}`, BROKEN],
  ['a chunk that breaks off', () => `${head(POST, CHUNKED)}ff\r\n${BODY}`, BROKEN],
  ['chunks without the final one', () => head(POST, CHUNKED) + chunk(BODY), BROKEN],
  ['1 MiB in chunks', () => head(POST, CHUNKED) + chunk(' '.repeat(16_384)).repeat(64) + END, ['413 body_too_large']],
  ['chunks inside gzip', () => head(POST, 'Transfer-Encoding: gzip, chunked') + chunk(BODY) + END, OK],

  // Request smuggling needs two readers that disagree. Here is one reader, and chunks take
  // precedence over a length.
  ['a length and chunks', () => head(POST, 'Content-Length: 4', CHUNKED) + chunk(BODY) + END, OK],
  ['chunks and a length', () => head(POST, CHUNKED, 'Content-Length: 400') + chunk(BODY) + END, OK],
  ['a request in the body of a GET', () => head(PING, `Content-Length: ${hidden().length}`) + hidden(), ['200']],
  [
    'a request in the body of a refused one',
    () => head(POST, `Content-Length: ${hidden().length}`).replace('Bearer ', 'Bearer x') + hidden(),
    ['401'],
  ],
  ['a request in the chunks of a GET', () => head(PING, CHUNKED) + chunk(hidden()) + END, ['200']],
  ['a request in a header', () => head(POST, LENGTH, `X: y ${hidden().replaceAll('\r\n', ' ')}`) + BODY, OK],
  ['two pipelined requests', () => head(POST, LENGTH) + BODY + head(PING), ['201', '200']],

  ['1,000 headers', () => head(POST, ...Array.from({ length: 1_000 }, (_, i) => `X-${i}: y`), LENGTH) + BODY, OK],
  ['a header of 16 KiB', () => head(POST, LENGTH, `X: ${'y'.repeat(16_384)}`) + BODY, OK],
  ['a key of 64 KiB', () => head(POST, LENGTH).replace('Bearer ', `Bearer ${'x'.repeat(65_536)}`) + BODY, ['401']],
  ['a path of 32 KiB', () => head(POST.replace('1001', '9'.repeat(32_768)), LENGTH) + BODY, ['404 ticket_not_found']],
  ['two keys', () => head(POST, LENGTH, `Authorization: Bearer ${server.key}`) + BODY, ['401']],
  [
    'two Idempotency-Keys',
    () => head(POST, LENGTH, 'Idempotency-Key: a', 'Idempotency-Key: a') + BODY,
    ['400 invalid_idempotency_key'],
  ],
  [
    'an Idempotency-Key and an empty one',
    () => head(POST, LENGTH, 'Idempotency-Key: a', 'Idempotency-Key:') + BODY,
    ['400 invalid_idempotency_key'],
  ],
  [
    'a key with white space around its header',
    () => head(POST, LENGTH).replace(/(Authorization:) (.*)\r/, '$1\t \t$2\t  \t \r') + BODY,
    OK,
  ],
  ...['\xa0', '\v', '\f'].map((byte): [string, () => string, string[]] => [
    `a key followed by ${JSON.stringify(byte)}`,
    () => head(POST, LENGTH).replace('\r\nContent-Type', `${byte}\r\nContent-Type`) + BODY,
    ['401'],
  ]),
  [
    'one Idempotency-Key with other white space around it, plain and in quotes',
    () =>
      ['around', ' around', 'around\t', ' \t"around"\t ']
        .map((value) => head(POST, LENGTH, `Idempotency-Key:${value}`) + BODY)
        .join(''),
    ['201', '200', '200', '200'],
  ],
  ...[' \t ', 'a\xa0', 'a\t\tb', '" a"'].map((value): [string, () => string, string[]] => [
    `an Idempotency-Key with other white space, ${JSON.stringify(value)}`,
    () => head(POST, LENGTH, `Idempotency-Key: ${value}`) + BODY,
    ['400 invalid_idempotency_key'],
  ]),
  ['two media types', () => head(POST, LENGTH, 'Content-Type: text/plain') + BODY, ['415 unsupported_media_type']],
  ['two source addresses', () => head(POST, LENGTH, 'CF-Connecting-IP: 192.0.2.2') + BODY, OK],
  [
    'a User-Agent in Latin-1 with invalid UTF-8',
    () => head(POST, LENGTH, 'User-Agent: \xe9\xff\x80\xed\xa0\x80') + BODY,
    OK,
  ],
  ['a User-Agent of UTF-8', () => head(POST, LENGTH, 'User-Agent: \xf0\x9f\x98\x80') + BODY, OK],
  [
    'an Idempotency-Key in Latin-1',
    () => head(POST, LENGTH, 'Idempotency-Key: \xe9') + BODY,
    ['400 invalid_idempotency_key'],
  ],
  [
    'a key with an additional byte',
    () => head(POST, LENGTH).replace('\r\nContent-Type', '\xe9\r\nContent-Type') + BODY,
    ['401'],
  ],
  [
    'Expect: 100-continue, with the body sent at once',
    () => head(POST, LENGTH, 'Expect: 100-continue') + BODY,
    ['(100)', '201'],
  ],
  [
    'an upgrade to WebSocket',
    () => head(PING, 'Upgrade: websocket', 'Connection: Upgrade', 'Sec-WebSocket-Version: 13'),
    ['200'],
  ],
  [
    'an upgrade to HTTP/2',
    () => head(PING, 'Upgrade: h2c', 'Connection: Upgrade, HTTP2-Settings', 'HTTP2-Settings: AAMAAABk'),
    ['200'],
  ],
  ['TRACE, which would repeat the request', () => head('TRACE /api/v1/ping HTTP/1.1'), ['405 method_not_allowed']],
  ['HTTP/1.0', () => head(POST.replace('1.1', '1.0'), LENGTH) + BODY, OK],

  [
    'a Host that is not this machine, over plain HTTP',
    () => head(POST, LENGTH).replace('localhost', 'tickets.example') + BODY,
    ['403 https_required'],
  ],
  ['two Hosts', () => head(POST, LENGTH, 'Host: evil.example') + BODY, ['403 https_required']],
  ['an invalid Host', () => head(POST, LENGTH).replace('localhost', 'a b/../?#@') + BODY, ['400 invalid_host']],
  ...['/settings', '/nowhere'].map((path): [string, () => string, string[]] => [
    `two Hosts at ${path}`,
    () => head(`GET ${path} HTTP/1.1`, 'Host: evil.example'),
    ['400 invalid_host'],
  ]),
  [
    'another host in the request line than in Host, which workerd ignores',
    () => head(POST.replace('/api', 'http://evil.example/api'), LENGTH) + BODY,
    OK,
  ],
  ['OPTIONS *', () => head('OPTIONS * HTTP/1.1'), ['404 not_found']],
];

test.each(CASES)('%s', async (_, bytes, expected) => {
  const before = Number(await writtenNotes());
  const answers = await answersTo(bytes());
  expect(answers).toEqual(expected);
  expect(Number(await writtenNotes()) - before).toBe(answers.filter((answer) => answer === '201').length);
});

test('a body that arrives byte by byte is accepted, and connections that never finish do not delay other requests', async () => {
  const before = Number(await writtenNotes());
  const endless = await open();
  endless.on('error', () => undefined);
  endless.write(head(POST, 'Content-Length: 1000') + BODY);
  const halves = await Promise.all(Array.from({ length: 100 }, open));
  for (const socket of halves) socket.on('error', () => undefined).write(head(POST, LENGTH).slice(0, 60));

  const slow = await open();
  slow.write(head(POST, LENGTH));
  for (const byte of BODY) {
    slow.write(byte);
    await new Promise((resolve) => setTimeout(resolve, 10));
    expect(await answersTo(head(PING))).toEqual(['200']);
  }
  const [answer] = await once(slow, 'data');
  expect(summarize(String(answer))).toEqual(['201']);
  expect(Number(await writtenNotes()) - before).toBe(1);

  for (const socket of [slow, endless, ...halves]) socket.destroy();
  expect(await answersTo(head(PING))).toEqual(['200']);
  expect(Number(await writtenNotes()) - before).toBe(1);
});

describe('a flood', () => {
  const ADDRESSES = inLongRuns(10_000, 600);

  test(`a flood from ${ADDRESSES} addresses delays none of them, while one address among them gets exactly its limit`, async () => {
    const address = (index: number) => `10.${index >> 16}.${(index >> 8) & 255}.${index & 255}`;
    const ping = (from: string) => renderRequest({ path: '/api/v1/ping', headers: { 'CF-Connecting-IP': from } });
    const connections = await Promise.all(Array.from({ length: 16 }, () => Connection.open(server.url)));
    const attacker = await Connection.open(server.url);
    const others: Record<number, number> = {};
    const admissions: { sent: number; received: number }[] = [];
    let next = 0;
    let flooding = true;

    const flood = connections.map(async (connection) => {
      for (let index = next++; index < ADDRESSES; index = next++) {
        const { status } = await connection.send(ping(address(index)));
        others[status] = (others[status] ?? 0) + 1;
      }
    });
    const attack = (async () => {
      let attempts = 0;
      for (; flooding; attempts++) {
        const sent = performance.now();
        const { status } = await attacker.send(ping('192.0.2.66'));
        if (status !== 429) admissions.push({ sent, received: performance.now() });
      }
      return attempts;
    })();
    await Promise.all(flood);
    flooding = false;
    const attempts = await attack;
    for (const connection of [attacker, ...connections]) connection.close();

    expect(others).toEqual({ 401: ADDRESSES });
    expect(admissions.length).toBeGreaterThanOrEqual(IP_LIMIT.quota);
    expect(attempts).toBeGreaterThan(admissions.length);
    // Each request was counted between its sending and its response. No window holds more than the
    // quota.
    for (const [index, { sent }] of admissions.entries()) {
      const beyond = admissions[index + IP_LIMIT.quota];
      if (beyond) expect(beyond.received - sent).toBeGreaterThanOrEqual(IP_LIMIT.windowMs);
    }
    console.log(
      `flood: ${ADDRESSES} addresses, all admitted; one address: ${attempts} requests, ${admissions.length} admitted`,
    );
  });
});
