import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startProduction } from '../support/shared.ts';
import { makeSignIn } from '../support/sign-in.ts';

// The production bundle in workerd, where each request has an I/O context of its own, with an
// issuer that the test controls.

const signIn = await makeSignIn();
const token = await signIn.token('ada@northwind.example', { claims: { email_verified: true }, expiresIn: 3_600 });

type Answer = (response: ServerResponse) => void;
const publish: Answer = (response) => response.end(JSON.stringify(signIn.jwks));
const OUTAGES: [string, Answer][] = [
  ['a lost connection', (response) => response.destroy()],
  ['a status other than 200', (response) => response.writeHead(500).end()],
  ['a page instead of JSON', (response) => response.end('<html>')],
  ['JSON that is no key set', (response) => response.end('{"error":"later"}')],
  ['a body that never ends', (response) => response.writeHead(200).write('{')],
];

let answer = publish;
const issuer = createServer((_, response) => answer(response));

beforeAll(async () => {
  issuer.listen(0, '127.0.0.1');
  await once(issuer, 'listening');
});
afterAll(() => {
  issuer.closeAllConnections();
  issuer.close();
});

test('an outage of the issuer is explained until its keys have been read, and then does not affect administrators', async () => {
  const address = issuer.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const { url, close } = await startProduction({
    ADMIN_ISSUER: signIn.config.issuer,
    ADMIN_AUDIENCE: signIn.config.audience,
    ADMIN_JWKS_URL: `http://127.0.0.1:${address.port}/certs`,
  });
  const open = () => fetch(new URL('/settings/northwind/keys', url), { headers: { 'Cf-Access-Jwt-Assertion': token } });
  try {
    for (const [outage, fail] of OUTAGES) {
      answer = fail;
      const responses = await Promise.all([open(), open(), open()]);
      for (const response of responses) {
        expect(response.status, outage).toBe(503);
        expect(await response.text(), outage).toContain('The signing keys of the sign-in service could not be read.');
      }
    }
    answer = publish;
    expect((await open()).status).toBe(200);
    for (const [outage, fail] of OUTAGES) {
      answer = fail;
      expect((await open()).status, outage).toBe(200);
    }
  } finally {
    await close();
  }
});
