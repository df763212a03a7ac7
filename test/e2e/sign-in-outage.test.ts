import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startProduction } from '../support/shared.ts';
import { makeSignIn } from '../support/sign-in.ts';

// The production bundle in workerd, where each request has an I/O context of its own, with an
// issuer that the test controls.

const signIn = await makeSignIn();
const token = await signIn.token('nobody@northwind.example', { claims: { email_verified: true }, expiresIn: 3_600 });

const issuer = {
  fetches: 0,
  answer: (response: ServerResponse) => {
    response.writeHead(500).end();
  },
};
const certs = createServer((_, response) => {
  issuer.fetches += 1;
  issuer.answer(response);
});

beforeAll(async () => {
  certs.listen(0, '127.0.0.1');
  await once(certs, 'listening');
});
afterAll(async () => {
  certs.closeAllConnections();
  certs.close();
});

/** Runs with a new isolate, which remembers nothing. */
async function withWorker(run: (url: URL) => Promise<void>): Promise<void> {
  const address = certs.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const vars = {
    ADMIN_ISSUER: signIn.config.issuer,
    ADMIN_AUDIENCE: signIn.config.audience,
    ADMIN_JWKS_URL: `http://127.0.0.1:${address.port}/certs`,
  };
  const { url, close } = await startProduction(vars);
  issuer.fetches = 0;
  try {
    await run(url);
  } finally {
    await close();
  }
}

const open = async (url: URL) =>
  (await fetch(new URL('/settings', url), { headers: { 'Cf-Access-Jwt-Assertion': token } })).status;
const openTwenty = async (url: URL) => new Set(await Promise.all(Array.from({ length: 20 }, () => open(url))));

test('while the issuer fails, twenty requests with a token cause one fetch, and for five seconds no other', async () => {
  issuer.answer = (response) => {
    setTimeout(() => response.writeHead(500).end(), 200);
  };
  await withWorker(async (url) => {
    expect(await openTwenty(url)).toEqual(new Set([503]));
    const started = performance.now();
    expect(await openTwenty(url)).toEqual(new Set([503]));
    expect(performance.now() - started).toBeLessThan(2_000);
    expect(issuer.fetches).toBe(1);
  });
});

test('while the issuer hangs, twenty requests wait three seconds for the same fetch', async () => {
  issuer.answer = (response) => {
    // The body never ends.
    response.writeHead(200, { 'Content-Type': 'application/json' }).write('{');
  };
  await withWorker(async (url) => {
    const started = performance.now();
    expect(await openTwenty(url)).toEqual(new Set([503]));
    expect(performance.now() - started).toBeLessThan(5_000);
    expect(issuer.fetches).toBe(1);
  });
});
