import { describe, expect, test } from 'vitest';
import { dateIn, endOfDate, isTimeZone } from '../../src/domain/calendar.ts';
import { addressGroup, clientAddress } from '../../src/domain/client-address.ts';
import { fieldErrors, strictObject } from '../../src/domain/fields.ts';
import { parseIdempotencyKey } from '../../src/domain/idempotency-key.ts';
import { expiryInstant, keyChanges, lastExpiry, newApiKey } from '../../src/domain/key-input.ts';
import { fromMinorUnits, hourlyRate } from '../../src/domain/money.ts';
import { derivedId, timeOrderedId } from '../../src/domain/record-id.ts';

describe('the work date', () => {
  test.each([
    ['America/New_York', '2026-11-21T04:59:59.999Z', '2026-11-20'],
    ['America/New_York', '2026-11-21T05:00:00.000Z', '2026-11-21'],
    ['Asia/Tokyo', '2026-11-20T14:59:59.999Z', '2026-11-20'],
    ['Asia/Tokyo', '2026-11-20T15:00:00.000Z', '2026-11-21'],
    ['UTC', '2026-11-20T23:59:59.999Z', '2026-11-20'],
    ['UTC', '2026-11-21T00:00:00.000Z', '2026-11-21'],
    // New York puts its clocks forward on 8 March 2026 and back on 1 November 2026.
    ['America/New_York', '2026-03-08T04:59:59.999Z', '2026-03-07'],
    ['America/New_York', '2026-03-09T03:59:59.999Z', '2026-03-08'],
    ['America/New_York', '2026-03-09T04:00:00.000Z', '2026-03-09'],
    ['America/New_York', '2026-11-01T03:59:59.999Z', '2026-10-31'],
    ['America/New_York', '2026-11-02T04:59:59.999Z', '2026-11-01'],
    ['America/New_York', '2026-11-02T05:00:00.000Z', '2026-11-02'],
  ])('in %s at %s is %s', (timeZone, instant, date) => {
    expect(dateIn(timeZone, Date.parse(instant))).toBe(date);
  });
});

test('the date in an unknown time zone is a RangeError', () => {
  for (const zone of ['Mars/Olympus', '']) expect(() => dateIn(zone, Date.now())).toThrow(RangeError);
});

describe('a date without a time', () => {
  test('ends with that day in the time zone, whether it has 23, 24 or 25 hours', () => {
    expect(new Date(endOfDate('2026-03-08', 'America/New_York')).toISOString()).toBe('2026-03-09T04:00:00.000Z');
    expect(new Date(endOfDate('2026-06-30', 'America/New_York')).toISOString()).toBe('2026-07-01T04:00:00.000Z');
    expect(new Date(endOfDate('2026-11-01', 'America/New_York')).toISOString()).toBe('2026-11-02T05:00:00.000Z');
    expect(new Date(endOfDate('2026-12-31', 'Asia/Tokyo')).toISOString()).toBe('2026-12-31T15:00:00.000Z');
  });

  test('is the end of that day as an expiry, while an instant is itself', () => {
    expect(expiryInstant('2026-12-31', 'UTC')).toBe(Date.parse('2027-01-01T00:00:00Z'));
    expect(expiryInstant('2026-12-31T12:00:00+01:00', 'UTC')).toBe(Date.parse('2026-12-31T11:00:00Z'));
  });
});

test.each([
  ['UTC', '2026-11-21T00:00:00Z', '2036-11-22T00:00:00Z'],
  ['America/New_York', '2026-11-21T04:59:59Z', '2036-11-21T05:00:00Z'],
  ['Pacific/Kiritimati', '2026-11-21T12:00:00Z', '2036-11-22T10:00:00Z'],
  // A day that the later year does not have.
  ['UTC', '2028-02-29T12:00:00Z', '2038-03-02T00:00:00Z'],
])('in %s at %s the last expiry is %s', (timeZone, now, last) => {
  expect(lastExpiry(timeZone, Date.parse(now))).toBe(Date.parse(last));
});

test('time zones are known by their IANA names', () => {
  expect(isTimeZone('Europe/Berlin')).toBe(true);
  expect(isTimeZone('Mars/Olympus')).toBe(false);
  expect(isTimeZone('-00:30')).toBe(false);
  expect(isTimeZone('')).toBe(false);
});

describe('an address group', () => {
  test.each([
    ['192.0.2.7', '192.0.2.7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:DB8:1:2::', '2001:db8:1:2::/64'],
    ['2001:db8:1:3::', '2001:db8:1:3::/64'],
    ['not an address', 'none'],
    ['192.0.2.7, 192.0.2.8', 'none'],
    [`fe80::1%${'x'.repeat(1_000)}`, 'none'],
    ['', 'none'],
    [undefined, 'none'],
  ])('of a header %j is %j', (header, group) => {
    expect(addressGroup(clientAddress(header))).toBe(group);
  });
});

describe('an Idempotency-Key', () => {
  test.each([
    ['abc', 'abc'],
    ['"abc"', 'abc'],
    ['"a\\"b\\\\c"', 'a"b\\c'],
    ['a"b', 'a"b'],
    ['flow:42,7', 'flow:42,7'],
    ['x'.repeat(255), 'x'.repeat(255)],
    [`"${'x'.repeat(255)}"`, 'x'.repeat(255)],
  ])('%j is read as %j', (header, key) => {
    expect(parseIdempotencyKey(header)).toEqual({ ok: true, key });
  });

  test.each([
    '',
    '""',
    'x'.repeat(256),
    `"${'x'.repeat(256)}"`,
    'a b',
    'a, a',
    '"a", "a"',
    '"abc',
    '"a"b"',
    '"a\\b"',
    'ä',
    '\x01',
    '\x7f',
  ])('%j is refused', (header) => {
    expect(parseIdempotencyKey(header).ok).toBe(false);
  });

  test('is absent without a header', () => {
    expect(parseIdempotencyKey(undefined)).toEqual({ ok: true, key: undefined });
  });
});

describe('record ids', () => {
  test('sort by time', () => {
    const id = timeOrderedId(Date.parse('2026-11-21T00:00:00Z'));
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16)).toBe(Date.parse('2026-11-21T00:00:00Z'));
  });

  test('are derived from organization, kind and Idempotency-Key, and from nothing else', async () => {
    const id = await derivedId('northwind', 'note', 'k');
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(await derivedId('northwind', 'note', 'k')).toBe(id);
    const others = [
      await derivedId('fabrikam', 'note', 'k'),
      await derivedId('northwind', 'time_entry', 'k'),
      await derivedId('northwind', 'note', 'K'),
    ];
    expect(new Set([id, ...others]).size).toBe(4);
  });
});

describe('money', () => {
  test('comes in with at most two decimals and is kept in minor units', () => {
    expect(hourlyRate().parse(95.5)).toBe(9_550);
    expect(hourlyRate().parse(1.15)).toBe(115);
    expect(hourlyRate().parse(0)).toBe(0);
    for (const wrong of [95.505, -1, 100_000.01, Number.NaN, '95'])
      expect(hourlyRate().safeParse(wrong).success).toBe(false);
  });

  test('goes out as the number that was meant, for every amount of minor units', () => {
    const rate = hourlyRate();
    const wrong = Array.from({ length: 100_000 }, (_, minor) => minor).filter(
      (minor) =>
        rate.parse(fromMinorUnits(minor)) !== minor || !/^\d+(\.\d{1,2})?$/.test(JSON.stringify(fromMinorUnits(minor))),
    );
    expect(wrong).toEqual([]);
  });
});

describe('the error for an unknown field', () => {
  const error = (name: string) => {
    const { error } = strictObject({}).safeParse({ [name]: 1 });
    return error && fieldErrors(error)[0];
  };

  test('points to it by its whole name, and repeats the beginning of it', () => {
    const name = `~/${'n'.repeat(198)}`;
    expect(error(name)).toMatchObject({
      pointer: `/~0~1${'n'.repeat(198)}`,
      detail: expect.stringMatching(/^~\/n{38}… is not accepted/),
    });
  });

  test('names the empty name too', () => {
    expect(error('')).toMatchObject({ pointer: '/', detail: expect.stringMatching(/^"" is not accepted/) });
  });

  test('stays small, however long the name is', () => {
    expect(error('n'.repeat(100_000))?.pointer).toBe(`/${'n'.repeat(200)}…`);
  });
});

describe('a new key', () => {
  const errors = (input: unknown) =>
    newApiKey.safeParse(input).error?.issues.map(({ path, message }) => `${path.join('.')} ${message}`);

  test('needs a name, at least one known scope, and takes an expiry and a limit', () => {
    expect(errors({ name: 'n8n', scopes: ['tickets:note:write'] })).toBeUndefined();
    expect(
      errors({
        name: 'n8n',
        scopes: ['tickets:note:write'],
        expires: '2027-03-31',
        limit: { quota: 5, windowMs: 1_000 },
      }),
    ).toBeUndefined();
    expect(errors({ name: ' ', scopes: [] })).toEqual([
      'name was only white space; send a string of 1 to 100 characters',
      'scopes is empty; choose at least one scope',
    ]);
    expect(errors({ name: 'n8n', scopes: ['tickets:read'] })?.[0]).toContain(
      'send one of tickets:note:write, tickets:time:write',
    );
    expect(errors({ name: 'n8n', scopes: ['tickets:note:write'], expires: '2027-02-30' })?.[0]).toContain(
      'expires was the string "2027-02-30"',
    );
    expect(errors({ name: 'n8n', scopes: ['tickets:note:write'], limit: { quota: 0, windowMs: 1_500 } })).toHaveLength(
      2,
    );
  });

  test.each([
    ['workflow  B', 'workflow B'],
    [' workflow\u00a0\u3000B\t', 'workflow B'],
    ['a\r\nb\tc', 'a b c'],
    ['\ufeffNote É 😀', 'Note É 😀'],
    ['workflow b', 'workflow b'],
    ['می\u200cشود 👩\u200d💻', 'می\u200cشود 👩\u200d💻'],
  ])('has for the name %j the name %j', (typed, name) => {
    expect(newApiKey.parse({ name: typed, scopes: ['tickets:note:write'] }).name).toBe(name);
    expect(keyChanges.parse({ name: typed }).name).toBe(name);
  });

  test.each([
    ['workflow\u200b B', 'U+200B'],
    ['\u202eB wolfkrow', 'U+202E'],
    ['work\u00adflow', 'U+00AD'],
    ['\u001b[31mworkflow', 'U+001B'],
    ['workflow B\u0085', 'U+0085'],
    ['workflow \u{e0041}', 'U+E0041'],
  ])('has no name like %j', (name, which) => {
    const message = `has the invisible character ${which}; remove all control and format characters`;
    expect(errors({ name, scopes: ['tickets:note:write'] })).toEqual([`name ${message}`]);
    const { error } = keyChanges.safeParse({ name });
    expect(error && fieldErrors(error)).toEqual([
      { pointer: '/name', code: 'forbidden_character', detail: `name ${message}` },
    ]);
  });
});
