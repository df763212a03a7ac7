import { describe, expect, test } from 'vitest';
import { stricter } from '../../src/domain/rate-limit.ts';
import { parseSettings } from '../../src/env.ts';

const vars = {
  KEY_PREFIX: 'twb',
  IP_LIMIT: '1200/10s',
  KEY_LIMIT: '200/10s',
  IP_LIMIT_OVERRIDES: '',
  ADMIN_ISSUER: '',
  ADMIN_AUDIENCE: '',
  ADMIN_JWKS_URL: '',
  ADMIN_TOKEN_HEADER: '',
};

describe('the settings', () => {
  test('are read from the variables; without issuer and audience nobody signs in', () => {
    expect(parseSettings(vars)).toEqual({
      keyPrefix: 'twb',
      ipLimit: { quota: 1200, windowMs: 10_000 },
      keyLimit: { quota: 200, windowMs: 10_000 },
      signIn: undefined,
    });
  });

  test.each([
    [{ KEY_PREFIX: 'TWB' }, 'KEY_PREFIX is "TWB"'],
    [{ KEY_PREFIX: '' }, 'KEY_PREFIX is ""'],
    [{ IP_LIMIT: '0/10s' }, 'IP_LIMIT: "0/10s" is not a rate limit'],
    [{ KEY_LIMIT: '200/60s' }, 'KEY_LIMIT: "200/60s" is not a rate limit'],
    [{ ADMIN_ISSUER: 'https://team.example' }, 'ADMIN_AUDIENCE is empty'],
    [{ ADMIN_AUDIENCE: 'aud' }, 'ADMIN_ISSUER is empty'],
    [{ ADMIN_ISSUER: 'https://team.example', ADMIN_AUDIENCE: 'aud', ADMIN_JWKS_URL: 'certs' }, 'ADMIN_JWKS_URL: "certs" is not an address'],
    [{ ADMIN_ISSUER: 'https://team.example', ADMIN_AUDIENCE: 'aud', ADMIN_TOKEN_HEADER: 'a b' }, 'ADMIN_TOKEN_HEADER: "a b"'],
  ])('%j stop the start, and the message names variable and rule', (wrong, message) => {
    expect(() => parseSettings({ ...vars, ...wrong })).toThrow(message);
  });
});

test("of a key's own limit and the deployment's the stricter one acts", () => {
  const deployment = { quota: 200, windowMs: 10_000 };
  expect(stricter(null, deployment)).toBe(deployment);
  expect(stricter({ quota: 5, windowMs: 1_000 }, deployment)).toEqual({ quota: 5, windowMs: 1_000 });
  expect(stricter({ quota: 500, windowMs: 10_000 }, deployment)).toBe(deployment);
  expect(stricter({ quota: 100, windowMs: 1_000 }, deployment)).toBe(deployment);
});
