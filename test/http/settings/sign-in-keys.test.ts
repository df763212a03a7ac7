import { generateKeyPair, SignJWT } from 'jose';
import { describe, expect, test, vi } from 'vitest';
import { remoteKeySet } from '../../../src/lib/remote-key-set.ts';
import { makeSignIn } from '../../support/sign-in.ts';
import { importRecords, makeApi, makeOrganization } from '../../support/world.ts';

const signIn = await makeSignIn('RS256');

/** A settings area whose issuer answers as the test says. */
async function makeArea() {
  const organization = await makeOrganization();
  const email = `ada@${organization}.example`;
  await importRecords({ type: 'user', organization, id: 'ada', email, name: 'Ada', admin: true });
  const issuer = { fetches: 0, answer: async () => Response.json(signIn.jwks) };
  const send: typeof fetch = () => {
    issuer.fetches += 1;
    return issuer.answer();
  };
  const clock = { now: Date.now() };
  const keys = remoteKeySet(new URL('https://idp.example/certs'), { send, now: () => clock.now });
  const api = makeApi({ config: { signIn: { ...signIn.config, keys } } });
  const open = (token: string) =>
    api.send(`/settings/${organization}/keys`, { headers: { 'Cf-Access-Jwt-Assertion': token } });
  return { email, issuer, clock, api, open };
}

describe('while the issuer’s keys cannot be read', () => {
  test('forged tokens get the 503 page immediately and cause one fetch in five seconds, and then a good token opens the page', async () => {
    const { email, issuer, clock, open } = await makeArea();
    const { answer } = issuer;
    issuer.answer = () => Promise.reject(new TypeError('fetch failed'));
    const forged = await signIn.token(email, { forged: true });
    for (let i = 0; i < 10; i++) {
      clock.now += 500;
      const response = await open(forged);
      expect(response.status).toBe(503);
      expect(await response.text()).toContain('Sign-in is unavailable');
    }
    expect(issuer.fetches).toBe(1);
    issuer.answer = answer;
    clock.now += 5_000;
    expect((await open(await signIn.token(email))).status).toBe(200);
    expect((await open(forged)).status).toBe(401);
    expect(issuer.fetches).toBe(2);
  });

  test('an invalid token still gets 401 once the keys are cached', async () => {
    const { email, issuer, clock, open } = await makeArea();
    expect((await open(await signIn.token(email))).status).toBe(200);
    issuer.answer = () => Promise.reject(new TypeError('fetch failed'));
    clock.now += 60_000;
    const { privateKey } = await generateKeyPair('RS256');
    const unknown = await new SignJWT({ email }).setProtectedHeader({ alg: 'RS256', kid: 'other' }).sign(privateKey);
    for (const token of [unknown, await signIn.token(email, { forged: true })]) {
      expect((await open(token)).status).toBe(401);
    }
    expect((await open(await signIn.token(email))).status).toBe(200);
  });
});

test('the keys are read to the end if the caller hangs up, because other requests may wait for them', async () => {
  const { email, issuer, api, open } = await makeArea();
  const { answer } = issuer;
  const gate = Promise.withResolvers<void>();
  issuer.answer = async () => {
    await gate.promise;
    return answer();
  };
  const response = open(await signIn.token(email));
  await vi.waitUntil(() => issuer.fetches === 1, { timeout: 10_000 });
  let settled = false;
  const finished = api.settled().then(() => {
    settled = true;
  });
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(settled).toBe(false);
  gate.resolve();
  await finished;
  expect((await response).status).toBe(200);
});
