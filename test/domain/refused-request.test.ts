import { describe, expect, test } from 'vitest';
import { fieldRule, RefusedRequestMeter, storedPointers, storedTicketId } from '../../src/domain/refused-request.ts';

describe('the meter of refused requests', () => {
  const admitted = (meter: RefusedRequestMeter, organizationId: string, keyId: string, now = 0, tries = 100) =>
    Array.from({ length: tries }, () => meter.admits({ organizationId, keyId }, now)).filter(Boolean).length;

  test('admits 10 requests of a key and 60 of an organization in a minute', () => {
    const meter = new RefusedRequestMeter();
    const ofKeys = Array.from({ length: 10 }, (_, key) => admitted(meter, 'a', `key-${key}`));
    expect(ofKeys).toEqual([10, 10, 10, 10, 10, 10, 0, 0, 0, 0]);
    expect(admitted(meter, 'b', 'key-0')).toBe(10);
    expect(admitted(meter, 'a', 'key-9', 60_000)).toBe(10);
  });

  test('remembers a limited number of keys and organizations, and admits no others until the minute ends', () => {
    const meter = new RefusedRequestMeter();
    const all = Array.from({ length: 6_000 }, (_, number) => admitted(meter, `org-${number}`, 'key', 0, 1));
    expect(all.filter((count) => count === 1)).toHaveLength(5_000);
    expect(admitted(meter, 'org-0', 'key')).toBe(9);
    expect(admitted(meter, 'org-5999', 'key', 60_000)).toBe(10);
  });
});

test('pointers are stored without the names that the caller made up, each once, and at most ten', () => {
  expect(storedPointers(['/minutes', '/my secret', '/other/0', '', '/minutes', '/userEmail'])).toEqual([
    '/minutes',
    '/?',
    '',
    '/userEmail',
  ]);
  expect(storedPointers([])).toEqual([]);
});

test('the rule of each field of a request is the one that an error of the API names', () => {
  expect(['/message', '/minutes', '/description', '/billable', '/userEmail', '/?', ''].map(fieldRule)).toEqual([
    'a string of 1 to 32000 characters',
    'a whole number from 1 to 1440',
    'a string of 1 to 32000 characters',
    'true or false',
    'the email address of a technician, or leave the field out',
    undefined,
    undefined,
  ]);
});

test('a ticket id is stored if it can be one, without keys', () => {
  const ids = ['1001', 'T-1.2_3~', 'a text', '', 'x'.repeat(65), `twb_${'a1'.repeat(20)}`];
  expect(ids.map((id) => storedTicketId(id, 'twb'))).toEqual(['1001', 'T-1.2_3~', '?', '?', '?', 'twb_[removed]']);
});
