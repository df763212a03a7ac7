import { describe, expect, test } from 'vitest';
import { generateKey } from '../../src/domain/api-key.ts';
import { loggedLines } from '../support/searched-logs.ts';
import { rememberKey } from '../support/secrets.ts';
import { makeApi, makeKey, makeOrganization, rowsOf, TIME } from '../support/world.ts';

async function world() {
  const organization = await makeOrganization();
  const { value: key } = await makeKey(organization);
  const other = generateKey('stg');
  await rememberKey(other);
  return { organization, key, other, api: makeApi() };
}

/**
 * How a caller may paste a key where it does not belong: the caller's own, or one of another
 * deployment.
 */
const MISUSES: [string, (keys: { key: string; other: string }) => string][] = [
  ['of another deployment', ({ other }) => `triage:${other}`],
  ['without its prefix', ({ key }) => `triage:${key.slice(4)}`],
  ['percent-encoded', ({ key }) => `triage:${key.replace('_', '%5F')}`],
  ['of another deployment, percent-encoded', ({ other }) => `triage:${other.replace('_', '%5F')}`],
];

describe('a key pasted where it does not belong', () => {
  test.each(MISUSES)('a key %s is refused in the Idempotency-Key', async (_, misuse) => {
    const { organization, key, other, api } = await world();
    const headers = { 'Idempotency-Key': misuse({ key, other }) };
    for (const response of [await api.postNote(key, undefined, headers), await api.postTime(key, TIME, headers)]) {
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({
        code: 'invalid_idempotency_key',
        detail:
          'Idempotency-Key contains an API key; send a value that identifies the event, and the API key only in Authorization, or omit the header.',
      });
    }
    expect(await rowsOf('notes', organization)).toEqual([]);
    expect(await rowsOf('time_entries', organization)).toEqual([]);
  });

  const inUserAgent: typeof MISUSES = [
    ...MISUSES,
    ['in a Basic credential', ({ key }) => `Basic ${btoa(`n8n:${key}`)}`],
    ['of another deployment in a Basic credential', ({ other }) => `Basic ${btoa(other)}`],
  ];
  test.each(inUserAgent)('a key %s in the User-Agent reaches neither log nor audit row', async (_, misuse) => {
    const { organization, key, other, api } = await world();
    for (const userAgent of [`flow ${misuse({ key, other })}`, `${'x'.repeat(60)} ${misuse({ key, other })}`]) {
      loggedLines('request');
      expect((await api.postNote(key, undefined, { 'User-Agent': userAgent })).status).toBe(201);
      const [line] = loggedLines('request');
      const stored = (await rowsOf('audit_log', organization)).at(-1)?.['user_agent'];
      expect(stored).toBe(line?.['userAgent']);
      expect(stored).toContain('[removed]');
      for (const secret of [key.slice(4), other.slice(4), misuse({ key, other }).slice(-46)])
        for (let from = 0; from + 12 <= secret.length; from++)
          expect(stored).not.toContain(secret.slice(from, from + 12));
    }
  });

  test('a key in the address or the body is not repeated in the response, whichever deployment it is of', async () => {
    const { key, other, api } = await world();
    // An error repeats up to 200 characters of a field's name.
    for (const name of [other, key.slice(4), other.replace('_', '%5F'), `Basic ${btoa(other)}`]) {
      const response = await api.postNote(key, { message: 'x', [name]: 1 });
      const { errors } = await response.json<{ errors: { pointer: string }[] }>();
      expect(errors[0]?.pointer).toContain('[removed]');
      expect(errors[0]?.pointer).not.toContain(name.slice(-46, -20));
    }
  });
});

test.each([
  `resp_${'0123456789abcdef'.repeat(3)}`,
  `cs_live_${'a1B2c3D4'.repeat(8)}`,
  `sha256_${'0f'.repeat(32)}`,
  'x'.repeat(46),
  `twb_${crypto.randomUUID()}`,
])('an id of another service creates a note: %s', async (id) => {
  const { key, api } = await world();
  expect((await api.postNote(key, undefined, { 'Idempotency-Key': `triage:${id}` })).status).toBe(201);
});

test('a User-Agent of 64 KiB is stored without its keys, like a short one', async () => {
  const { organization, key, other, api } = await world();
  await api.postNote(key, undefined, { 'User-Agent': `${other} ${'y'.repeat(65_536)}` });
  expect((await rowsOf('audit_log', organization)).at(-1)).toMatchObject({
    user_agent: `stg_[removed] ${'y'.repeat(86)}`,
  });
});

test('a cut key of another deployment is an id like any other', async () => {
  const { key, other, api } = await world();
  expect((await api.postNote(key, undefined, { 'Idempotency-Key': other.slice(0, 40) })).status).toBe(201);
});
