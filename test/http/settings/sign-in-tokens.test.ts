import { describe, expect, test } from 'vitest';
import { makeSignIn, type TokenChanges } from '../../support/sign-in.ts';
import { importRecords, makeApi, makeOrganization } from '../../support/world.ts';

const signIn = await makeSignIn('RS256');
const OTHER_ISSUER = 'https://idp.example';
const DAY = 24 * 3600;

/**
 * The status of the keys page, and what it says, for a token of the organization's administrator.
 */
async function openWith(changes: TokenChanges, issuer?: string) {
  const organization = await makeOrganization();
  const email = `kim@${organization}.example`;
  await importRecords({ type: 'user', organization, id: 'kim', email, name: 'Kim', admin: true });
  const api = makeApi({ config: { signIn: { ...signIn.config, ...(issuer !== undefined && { issuer }) } } });
  const token = await signIn.token(email, { ...(issuer !== undefined && { issuer }), ...changes });
  const response = await api.send(`/settings/${organization}/keys`, { headers: { 'Cf-Access-Jwt-Assertion': token } });
  return { status: response.status, text: await response.text() };
}

const SIGN_IN_AGAIN = { status: 401, text: expect.stringContaining('Sign in again') };

describe('a token without email_verified', () => {
  test('the token opens the settings if Cloudflare Access issued it', async () => {
    expect((await openWith({})).status).toBe(200);
  });

  test('the token is refused if another provider issued it, even in the header of Access', async () => {
    expect(await openWith({}, OTHER_ISSUER)).toMatchObject(SIGN_IN_AGAIN);
    expect((await openWith({ claims: { email_verified: true } }, OTHER_ISSUER)).status).toBe(200);
  });
});

test('a token with an address outside ASCII is refused, although its lower case is an administrator’s', async () => {
  const organization = await makeOrganization();
  const email = `kim@${organization}.example`;
  await importRecords({ type: 'user', organization, id: 'kim', email, name: 'Kim', admin: true });
  const lookalike = email.replace('kim', '\u212aim');
  expect(lookalike.toLowerCase()).toBe(email);
  const api = makeApi({ config: { signIn: signIn.config } });
  const response = await api.send(`/settings/${organization}/keys`, {
    headers: { 'Cf-Access-Jwt-Assertion': await signIn.token(lookalike) },
  });
  expect({ status: response.status, text: await response.text() }).toMatchObject(SIGN_IN_AGAIN);
});

test('a token that lives longer than 31 days is refused', async () => {
  const iat = Math.floor(Date.now() / 1000) - DAY;
  expect((await openWith({ expiresIn: 29 * DAY, claims: { iat } })).status).toBe(200);
  expect(await openWith({ expiresIn: 31 * DAY, claims: { iat } })).toMatchObject(SIGN_IN_AGAIN);
  expect(await openWith({ expiresIn: 32 * DAY })).toMatchObject(SIGN_IN_AGAIN);
});
