import { expect, test, vi } from 'vitest';
import { remoteKeySet } from '../../../src/lib/remote-key-set.ts';
import { makeSignIn } from '../../support/sign-in.ts';
import { importRecords, makeApi, makeOrganization } from '../../support/world.ts';

const signIn = await makeSignIn('RS256');

test('the keys are read to the end if the caller hangs up, because other requests may wait for them', async () => {
  const organization = await makeOrganization();
  const email = `ada@${organization}.example`;
  await importRecords({ type: 'user', organization, id: 'ada', email, name: 'Ada', admin: true });
  const gate = Promise.withResolvers<void>();
  let fetches = 0;
  const send: typeof fetch = async () => {
    fetches += 1;
    await gate.promise;
    return Response.json(signIn.jwks);
  };
  const keys = remoteKeySet(new URL('https://idp.example/certs'), { send });
  const api = makeApi({ config: { signIn: { ...signIn.config, keys } } });
  const headers = { 'Cf-Access-Jwt-Assertion': await signIn.token(email) };
  const response = api.send(`/settings/${organization}/keys`, { headers });
  await vi.waitUntil(() => fetches === 1, { timeout: 10_000 });
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
