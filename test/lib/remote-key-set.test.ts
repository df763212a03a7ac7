import { setTimeout as sleep } from 'node:timers/promises';
import { exportJWK, generateKeyPair, jwtVerify, SignJWT } from 'jose';
import { describe, expect, test } from 'vitest';
import { remoteKeySet } from '../../src/lib/remote-key-set.ts';

const URL_OF_KEYS = new URL('https://idp.example/certs');
const published = await generateKeyPair('ES256');
const added = await generateKeyPair('ES256');

type Pair = typeof published;

const jwks = async (...pairs: [kid: string, pair: Pair][]) => ({
  keys: await Promise.all(
    pairs.map(async ([kid, { publicKey }]) => ({ ...(await exportJWK(publicKey)), kid, alg: 'ES256' })),
  ),
});

const token = (kid = 'one', { privateKey }: Pair = published) =>
  new SignJWT({ sub: 'ada' }).setProtectedHeader({ alg: 'ES256', kid }).setExpirationTime('1h').sign(privateKey);

/** A key set whose issuer answers as the test says, with a clock of the test's own. */
async function makeKeySet() {
  const good = await jwks(['one', published]);
  const issuer = {
    fetches: 0,
    now: 1_000_000,
    answer: async (_init?: RequestInit): Promise<Response> => Response.json(good),
  };
  const send: typeof fetch = (_, init) => {
    issuer.fetches += 1;
    return issuer.answer(init);
  };
  const keys = remoteKeySet(URL_OF_KEYS, { send, now: () => issuer.now });
  /** `ok`, or the code or name of the error. */
  const verify = async (jwt: string | Promise<string>) => {
    try {
      await jwtVerify(await jwt, keys);
      return 'ok';
    } catch (err) {
      if (!(err instanceof Error)) throw err;
      return 'code' in err && typeof err.code === 'string' ? err.code : err.name;
    }
  };
  return { issuer, verify };
}

const FAILURES: [string, () => Promise<Response>][] = [
  ['a lost connection', () => Promise.reject(new TypeError('fetch failed'))],
  ['a status other than 200', async () => Response.json({ keys: [] }, { status: 500 })],
  ['a redirect', async () => new Response(null, { status: 302, headers: { Location: 'https://elsewhere.example' } })],
  ['a page instead of JSON', async () => new Response('<html>')],
  ['JSON that is no key set', async () => Response.json({ error: 'later' })],
];

describe('while the keys cannot be read', () => {
  test.each(FAILURES)('%s is remembered for five seconds, then the keys are read again', async (_, fail) => {
    const { issuer, verify } = await makeKeySet();
    const { answer } = issuer;
    issuer.answer = fail;
    const first = await verify(token());
    expect(first).not.toBe('ok');
    issuer.answer = answer;
    issuer.now += 4_999;
    for (let i = 0; i < 10; i++) expect(await verify(token('one', added))).toBe(first);
    expect(issuer.fetches).toBe(1);
    issuer.now += 1;
    expect(await verify(token())).toBe('ok');
    expect(issuer.fetches).toBe(2);
  });

  test('simultaneous requests share one fetch, and its failure', async () => {
    const { issuer, verify } = await makeKeySet();
    issuer.answer = () => new Promise((_, reject) => setTimeout(() => reject(new TypeError('fetch failed')), 50));
    const jwt = await token();
    expect(new Set(await Promise.all(Array.from({ length: 20 }, () => verify(jwt))))).toEqual(new Set(['TypeError']));
    expect(issuer.fetches).toBe(1);
  });

  test.concurrent('a fetch that hangs is aborted after three seconds, for every request that waits for it', async () => {
    const { issuer, verify } = await makeKeySet();
    let signal: AbortSignal | null | undefined;
    issuer.answer = (init) => {
      signal = init?.signal;
      return new Promise(() => undefined);
    };
    const jwt = await token();
    const started = performance.now();
    const outcomes = await Promise.all([verify(jwt), verify(jwt)]);
    expect(outcomes).toEqual(['DeadlineExceeded', 'DeadlineExceeded']);
    expect(performance.now() - started).toBeLessThan(4_000);
    expect(signal?.aborted).toBe(true);
    expect(await verify(jwt)).toBe('DeadlineExceeded');
    expect(issuer.fetches).toBe(1);
  });

  test.concurrent('a read whose request was cancelled is replaced after three seconds', async () => {
    const { issuer, verify } = await makeKeySet();
    const { answer } = issuer;
    issuer.answer = () => new Promise(() => undefined);
    const jwt = await token();
    const cancelled = verify(jwt);
    await sleep(1_000);
    const gate = Promise.withResolvers<void>();
    issuer.answer = async () => {
      await gate.promise;
      return answer();
    };
    issuer.now += 3_000;
    const second = verify(jwt);
    expect(await cancelled).toBe('DeadlineExceeded');
    // The late failure of the first read is not that of the second.
    const third = verify(jwt);
    await sleep(10);
    gate.resolve();
    expect(await Promise.all([second, third])).toEqual(['ok', 'ok']);
    expect(issuer.fetches).toBe(2);
  });
});

describe('once the keys are read', () => {
  test('the keys are used for ten minutes, and simultaneous requests share the first read', async () => {
    const { issuer, verify } = await makeKeySet();
    const jwt = await token();
    const verifyAll = async () => new Set(await Promise.all(Array.from({ length: 20 }, () => verify(jwt))));
    expect(await verifyAll()).toEqual(new Set(['ok']));
    issuer.now += 10 * 60_000 - 1;
    expect(await verifyAll()).toEqual(new Set(['ok']));
    expect(issuer.fetches).toBe(1);
    issuer.now += 1;
    expect(await verifyAll()).toEqual(new Set(['ok']));
    expect(issuer.fetches).toBe(2);
  });

  test('a wrong signature costs no fetch, and an unknown key id one in thirty seconds', async () => {
    const { issuer, verify } = await makeKeySet();
    expect(await verify(token())).toBe('ok');
    issuer.now += 29_999;
    expect(await verify(token('one', added))).toBe('ERR_JWS_SIGNATURE_VERIFICATION_FAILED');
    expect(await verify(token('two', added))).toBe('ERR_JWKS_NO_MATCHING_KEY');
    expect(issuer.fetches).toBe(1);
    issuer.now += 1;
    for (let i = 0; i < 10; i++) expect(await verify(token('two', added))).toBe('ERR_JWKS_NO_MATCHING_KEY');
    expect(issuer.fetches).toBe(2);
  });

  test('a key that the issuer adds later is found', async () => {
    const { issuer, verify } = await makeKeySet();
    expect(await verify(token())).toBe('ok');
    const both = await jwks(['one', published], ['two', added]);
    issuer.answer = async () => Response.json(both);
    issuer.now += 30_000;
    expect(await verify(token('two', added))).toBe('ok');
    expect(issuer.fetches).toBe(2);
  });

  test('an unknown key id in an outage still has no match, costs one fetch in five seconds, and does not affect known keys', async () => {
    const { issuer, verify } = await makeKeySet();
    expect(await verify(token())).toBe('ok');
    issuer.answer = () => Promise.reject(new TypeError('fetch failed'));
    issuer.now += 60_000;
    for (let i = 0; i < 10; i++) {
      expect(await verify(token('two', added))).toBe('ERR_JWKS_NO_MATCHING_KEY');
      expect(await verify(token())).toBe('ok');
    }
    expect(issuer.fetches).toBe(2);
    issuer.now += 5_000;
    expect(await verify(token('two', added))).toBe('ERR_JWKS_NO_MATCHING_KEY');
    expect(issuer.fetches).toBe(3);
  });
});
