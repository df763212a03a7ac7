import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { generateKeyPair, SignJWT } from 'jose';
import type { Miniflare } from 'miniflare';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { prepare } from '../bench/seed.ts';
import { serveProduction } from '../support/production-worker.ts';
import { productionBundle } from '../support/shared.ts';

// The production bundle in workerd, where each request has an I/O context of its own, with an
// issuer that the test controls.

const { privateKey } = await generateKeyPair('ES256');

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

let bundle: string;

beforeAll(async () => {
  bundle = await productionBundle();
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
    ADMIN_ISSUER: 'https://idp.example',
    ADMIN_AUDIENCE: 'settings',
    ADMIN_JWKS_URL: `http://127.0.0.1:${address.port}/certs`,
  };
  const worker: Miniflare = await serveProduction({ bundle, port: 0, vars });
  issuer.fetches = 0;
  try {
    await prepare(await worker.getD1Database('DB', 'api'));
    await run(await worker.unsafeGetDirectURL('api'));
  } finally {
    await worker.dispose();
  }
}

const token = await new SignJWT({ email: 'nobody@northwind.example', email_verified: true })
  .setProtectedHeader({ alg: 'ES256', kid: 'one' })
  .setIssuer('https://idp.example')
  .setAudience('settings')
  .setIssuedAt()
  .setExpirationTime('1h')
  .sign(privateKey);

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
