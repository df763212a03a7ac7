import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freePort } from '../support/server.ts';
import { startProduction } from '../support/shared.ts';
import { makeSignIn } from '../support/sign-in.ts';

// Over a bare socket: a `Headers` object would remove the white space before it is sent.

const signIn = await makeSignIn();
const token = await signIn.token('ada@northwind.example', { claims: { email_verified: true } });
const issuer = createServer((_, response) => response.end(JSON.stringify(signIn.jwks)));
let server: Awaited<ReturnType<typeof startProduction>>;

beforeAll(async () => {
  const issuerPort = await freePort();
  await once(issuer.listen(issuerPort), 'listening');
  server = await startProduction({
    ADMIN_ISSUER: signIn.config.issuer,
    ADMIN_AUDIENCE: signIn.config.audience,
    ADMIN_JWKS_URL: `http://127.0.0.1:${issuerPort}/`,
    ADMIN_TOKEN_HEADER: 'Authorization',
  });
});
afterAll(async () => {
  await server.close();
  issuer.close();
});

/** Sends these lines exactly as given. */
async function send(...lines: string[]): Promise<{ status: string; headers: string; body: string }> {
  const socket = connect(Number(server.url.port), server.url.hostname);
  let received = '';
  socket.setEncoding('latin1').on('data', (data) => (received += data));
  socket.end(lines.join('\r\n'));
  await once(socket, 'close');
  const [, status = '', headers = '', body = ''] =
    /^HTTP\/1\.1 (\d{3}) [^\r]*\r\n(.*?)\r\n\r\n(.*)$/s.exec(received) ?? [];
  return { status, headers, body };
}

const BODY = '{"message":"white space"}';

/** Posts a note with these further header lines. */
const postNote = (...lines: string[]) =>
  send(
    'POST /api/v1/tickets/1001/notes HTTP/1.1',
    'Host: localhost',
    'Content-Type: application/json',
    `Content-Length: ${BODY.length}`,
    ...lines,
    '',
    BODY,
  );

describe.each([
  ['none', '', ''],
  ['spaces before', '   ', ''],
  ['a space after', '', ' '],
  ['tabs around', '\t', '\t'],
  ['a mixture around', ' \t \t', '\t  \t '],
])('white space around a header is ignored: %s', (name, before, after) => {
  const around = (value: string) => before + value + after;

  test('Authorization with the white space is accepted', async () => {
    expect(await postNote(`Authorization:${around(`Bearer ${server.key}`)}`)).toMatchObject({ status: '201' });
  });

  test('an Idempotency-Key with the white space, plain or in quotes, stays the same key', async () => {
    const key = `white-space-${name.replaceAll(' ', '-')}`;
    const post = (value: string) => postNote(`Authorization: Bearer ${server.key}`, `Idempotency-Key:${value}`);
    expect(await post(key)).toMatchObject({ status: '201' });
    for (const value of [key, `"${key}"`]) {
      const { status, body } = await post(around(value));
      expect([value, status, JSON.parse(body).idempotentReplay]).toEqual([value, '200', true]);
    }
  });

  test("an administrator's token with the white space signs in", async () => {
    const authorization = `Authorization:${around(`Bearer ${token}`)}`;
    const { status, headers } = await send('GET /settings HTTP/1.1', 'Host: localhost', authorization, '\r\n');
    expect([status, /^location: (.*)$/im.exec(headers)?.[1]]).toEqual(['303', '/settings/northwind/keys']);
  });
});

test('only spaces and tabs around the value are ignored: anything else gets the same 401', async () => {
  const { key } = server;
  const seen = new Set<string>();
  const values = [
    'Bearer',
    'Bearer ',
    ` Bearer\t${key}`,
    `Bearer ${key} x`,
    `Bearer ${key.slice(0, 20)} ${key.slice(20)}`,
    `Bearer ${key}, `,
    `Bearer ${key}\xa0`,
    `\xa0Bearer ${key}`,
    `Bearer ${key}\v`,
    `Bearer ${key}\f`,
    `"Bearer ${key}"`,
  ];
  for (const value of values) {
    const { status, headers, body } = await postNote(`Authorization: ${value}`);
    expect([value, status]).toEqual([value, '401']);
    seen.add(`${headers.replace(/^(x-request-id|date): .*$/gim, '$1')}\n${body}`);
  }
  expect([...seen]).toHaveLength(1);
});

test.each(['a\t\tb', 'a b', '" a"', '"a "', 'a\xa0', ' , a', ' \t '])(
  'an Idempotency-Key with other white space is refused: %j',
  async (value) => {
    const { status, body } = await postNote(`Authorization: Bearer ${server.key}`, `Idempotency-Key: ${value}`);
    expect([status, JSON.parse(body).code]).toEqual(['400', 'invalid_idempotency_key']);
  },
);
