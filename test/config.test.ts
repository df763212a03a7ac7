import { describe, expect, test } from 'vitest';
import { parseConfig } from '../src/config.ts';
import { generateKey, keyHint } from '../src/domain/api-key.ts';

const SIGN_IN = { ADMIN_ISSUER: 'https://idp.example', ADMIN_AUDIENCE: 'a' };
const SECRET = `whsec_${btoa('x'.repeat(32))}`;

describe('the configuration', () => {
  test('a push receiver consists of an address and all of its secrets', () => {
    const other = `whsec_${btoa('y'.repeat(24))}`;
    const push = { WEBHOOK_URL: 'http://127.0.0.1:8080/hook', WEBHOOK_SECRET: ` ${SECRET}  ${other}\n` };
    expect(parseConfig(push).receiver).toEqual({
      url: 'http://127.0.0.1:8080/hook',
      secrets: [new TextEncoder().encode('x'.repeat(32)), new TextEncoder().encode('y'.repeat(24))],
    });
  });

  test('SERVICE_URL becomes the service address, reduced to its origin', () => {
    expect(parseConfig({ SERVICE_URL: 'https://tickets.example/' }).serviceUrl).toBe('https://tickets.example');
  });

  test('without variables, every setting has its default', () => {
    expect(parseConfig({})).toEqual({
      keyPrefix: 'twb',
      jurisdiction: undefined,
      ipLimit: { quota: 1200, windowMs: 10_000 },
      keyLimit: { quota: 200, windowMs: 10_000 },
      dayLimits: {
        key: { records: 20_000, bytes: 64_000_000 },
        organization: { records: 100_000, bytes: 256_000_000 },
      },
      blockedKeys: new Set(),
      mode: 'open',
      databaseLimit: 10_000_000_000,
      signIn: undefined,
      receiver: undefined,
      serviceUrl: undefined,
      ticketUrl: undefined,
      supportUrl: undefined,
      securityContact: undefined,
    });
  });

  test.each([
    [{ KEY_PREFIX: 'TWB' }, /^KEY_PREFIX .*"TWB"/],
    [{ KEY_PREFIX: '' }, /^KEY_PREFIX .*""/],
    [{ IP_LIMIT: '0/10s' }, /^IP_LIMIT: "0\/10s"/],
    [{ KEY_LIMIT: '200/60s' }, /^KEY_LIMIT: "200\/60s"/],
    [{ KEY_DAY_LIMIT: '20000' }, /^KEY_DAY_LIMIT: "20000" is not a daily limit/],
    [{ ORGANIZATION_DAY_LIMIT: '1/1GB' }, /^ORGANIZATION_DAY_LIMIT: "1\/1GB"/],
    [{ ...SIGN_IN, ADMIN_JWKS_URL: 'http://idp.example/keys' }, /^ADMIN_JWKS_URL: .* is not an https:/],
    [{ ...SIGN_IN, ADMIN_JWKS_URL: 'file:///etc/passwd' }, /^ADMIN_JWKS_URL: /],
    [{ ...SIGN_IN, ADMIN_JWKS_URL: 'data:application/json,{"keys":[]}' }, /^ADMIN_JWKS_URL: /],
    [{ ...SIGN_IN, ADMIN_ISSUER: 'http://idp.example' }, /^ADMIN_JWKS_URL: /],
    [
      { ...SIGN_IN, ADMIN_JWKS_URL: 'https://ada:secret@idp.example/keys' },
      /^ADMIN_JWKS_URL: its value has a user name/,
    ],
    [{ DATABASE_LIMIT: '10GiB' }, /^DATABASE_LIMIT: "10GiB" .*500MB/],
    [{ DATABASE_LIMIT: '0MB' }, /^DATABASE_LIMIT: "0MB"/],
    [{ DATABASE_LIMIT: '10001MB' }, /^DATABASE_LIMIT: "10001MB"/],
    [{ DATABASE_LIMIT: '' }, /^DATABASE_LIMIT: ""/],
    [{ TICKET_URL: 'https://psa.example/tickets' }, /^TICKET_URL: "https:\/\/psa.example\/tickets" is not an https:/],
    [{ TICKET_URL: 'http://psa.example/{ticket}' }, /^TICKET_URL: /],
    [{ TICKET_URL: 'https://{ticket}.example/' }, /^TICKET_URL: .*behind its host/],
    [{ TICKET_URL: 'javascript:alert({ticket})' }, /^TICKET_URL: /],
    [{ WEBHOOK_URL: 'https://psa.example/hook' }, /^WEBHOOK_SECRET is empty/],
    [{ WEBHOOK_URL: 'http://psa.example/hook', WEBHOOK_SECRET: SECRET }, /^WEBHOOK_URL: .*is not an https:/],
    [{ WEBHOOK_URL: 'https://a:b@psa.example', WEBHOOK_SECRET: SECRET }, /^WEBHOOK_URL: its value has a user name/],
    [{ WEBHOOK_URL: 'psa.example', WEBHOOK_SECRET: SECRET }, /^WEBHOOK_URL: its value is not an https:/],
    [{ SUPPORT_URL: 'help.example' }, /^SUPPORT_URL: "help.example" is not an address/],
    [{ SECURITY_CONTACT: 'security@example.com' }, /^SECURITY_CONTACT: "security@example.com" is not an address/],
    [{ SECURITY_CONTACT: 'http://example.com' }, /^SECURITY_CONTACT: "http:\/\/example.com" is not an address/],
    [{ SECURITY_CONTACT: 'mailto:a@example.com' }, /^SECURITY_EXPIRES is empty/],
    [{ SECURITY_EXPIRES: '30.6.2027' }, /^SECURITY_EXPIRES: "30.6.2027" is not a date/],
    [{ SECURITY_EXPIRES: '2027-02-30' }, /^SECURITY_EXPIRES: "2027-02-30" is not a date/],
    [{ SERVICE_URL: 'tickets.example' }, /^SERVICE_URL: "tickets.example" is not an origin/],
    [{ SERVICE_URL: 'https://tickets.example/settings' }, /^SERVICE_URL: .* is not an origin/],
    [{ MODE: 'Paused' }, /^MODE: .*open or paused/],
    [{ ADMIN_ISSUER: 'https://team.example' }, /^ADMIN_AUDIENCE /],
    [{ ADMIN_AUDIENCE: 'aud' }, /^ADMIN_ISSUER /],
    [
      { ADMIN_ISSUER: 'https://team.example', ADMIN_AUDIENCE: 'aud', ADMIN_JWKS_URL: 'certs' },
      /^ADMIN_JWKS_URL: its value is not an https:/,
    ],
    [
      { ADMIN_ISSUER: 'https://team.example', ADMIN_AUDIENCE: 'aud', ADMIN_TOKEN_HEADER: 'a b' },
      /^ADMIN_TOKEN_HEADER: "a b"/,
    ],
  ])('the variables %j are refused, and the message references the variable', (wrong, message) => {
    expect(() => parseConfig(wrong)).toThrow(message);
  });
});

describe('the size limit of the database', () => {
  test.each([
    ['10GB', 10_000_000_000],
    ['500MB', 500_000_000],
    ['1MB', 1_000_000],
    [' 2GB ', 2_000_000_000],
  ])('%j is %i bytes', (DATABASE_LIMIT, bytes) => {
    expect(parseConfig({ DATABASE_LIMIT }).databaseLimit).toBe(bytes);
  });
});

describe('the mode', () => {
  test.each([
    ['', 'open'],
    ['open', 'open'],
    ['paused', 'paused'],
  ])('%j is %s', (MODE, mode) => {
    expect(parseConfig({ MODE }).mode).toBe(mode);
  });
});

describe('the list of blocked keys', () => {
  const id = '01a3b2c4-5d6e-7f80-9a1b-2c3d4e5f6071';
  const parse = (BLOCKED_KEYS: string) => [...parseConfig({ BLOCKED_KEYS }).blockedKeys];

  test('ids and hints can be separated by commas or white space, and shortened with three dots or an ellipsis', () => {
    expect(parse(` ${id.toUpperCase()},twb_Ab12…x9Yz\n\ttwb_0000...zzzz , `)).toEqual([
      id,
      'twb_Ab12…x9Yz',
      'twb_0000…zzzz',
    ]);
    expect(parse('')).toEqual([]);
  });

  test('refuses a whole key value and proposes its hint, without repeating the value', () => {
    const value = generateKey('twb');
    const start = () => parse(`${id} ${value}`);
    expect(start).toThrow(/^BLOCKED_KEYS: entry 2 of 2 /);
    expect(start).toThrow(keyHint(value));
    expect(start).not.toThrow(value.slice(4, 12));
  });

  test.each([
    ['a key of another deployment', generateKey('stg')],
    ['a truncated key', generateKey('twb').slice(0, -1)],
    ['a hint of another deployment', 'stg_Ab12…x9Yz'],
    ['a truncated hint', 'twb_Zz98…'],
    ['a name', 'triage'],
    ['a truncated id', id.slice(1)],
  ])('refuses %s without repeating it, because it would block nothing', (_, entry) => {
    const start = () => parse(`${entry}, ${id}`);
    expect(start).toThrow(/^BLOCKED_KEYS: entry 1 of 2 /);
    expect(start).not.toThrow(entry);
  });
});
