import { describe, expect, test } from 'vitest';
import { fieldErrors } from '../../src/domain/fields.ts';
import { expiryInstant, keyChanges, lastExpiry, newApiKey } from '../../src/domain/key-input.ts';

/** The errors of a new key, each as its pointer and code. */
function errorsOf(input: unknown): string[] {
  const { error } = newApiKey.safeParse(input);
  return error ? fieldErrors(error).map(({ pointer, code }) => `${pointer} ${code}`) : [];
}

describe('a new key', () => {
  const valid = { name: 'n8n', scopes: ['tickets:note:write'] };

  test('may have daily limits of records and minutes', () => {
    for (const limits of [
      {},
      { dayLimitRecords: 1 },
      { dayLimitMinutes: 10_000_000 },
      { dayLimitRecords: 10_000_000, dayLimitMinutes: null },
    ]) {
      expect(errorsOf({ ...valid, ...limits })).toEqual([]);
    }
    expect(errorsOf({ ...valid, dayLimitRecords: 0, dayLimitMinutes: 10_000_001 })).toEqual([
      '/dayLimitRecords out_of_range',
      '/dayLimitMinutes out_of_range',
    ]);
    expect(errorsOf({ ...valid, dayLimitRecords: '5', dayLimitMinutes: 1.5, dayLimitBytes: 1 })).toEqual([
      '/dayLimitRecords invalid_type',
      '/dayLimitMinutes invalid_type',
      '/dayLimitBytes unknown_field',
    ]);
  });
});

test("an expiry is an instant, or a date's end", () => {
  expect(expiryInstant('2026-12-31', 'UTC')).toBe(Date.parse('2027-01-01T00:00:00Z'));
  expect(expiryInstant('2026-12-31T12:00:00+01:00', 'UTC')).toBe(Date.parse('2026-12-31T11:00:00Z'));
});

test.each([
  ['UTC', '2026-11-21T00:00:00Z', '2036-11-22T00:00:00Z'],
  ['America/New_York', '2026-11-21T04:59:59Z', '2036-11-21T05:00:00Z'],
  ['Pacific/Kiritimati', '2026-11-21T12:00:00Z', '2036-11-22T10:00:00Z'],
  // 2038 has no 29 February.
  ['UTC', '2028-02-29T12:00:00Z', '2038-03-02T00:00:00Z'],
])('the latest expiry in %s at %s is %s', (timeZone, now, last) => {
  expect(lastExpiry(timeZone, Date.parse(now))).toBe(Date.parse(last));
});

test.each(['description', 'owner'])('the %s accepts no invisible or reversing character', (field) => {
  for (const text of ['x\u202ey', '\u3164', 'a\u200bb', 'a\u00adb', '\u001b[31m'])
    for (const parsed of [
      newApiKey.safeParse({ name: 'n8n', scopes: ['tickets:note:write'], [field]: text }),
      keyChanges.safeParse({ name: 'n8n', [field]: text }),
    ])
      expect(
        parsed.error?.issues.map(({ path }) => path),
        JSON.stringify(text),
      ).toEqual([[field]]);
  expect(keyChanges.parse({ name: 'n8n', [field]: 'می\u200cشود 👩\u200d💻' })).toMatchObject({
    [field]: 'می\u200cشود 👩\u200d💻',
  });
});
