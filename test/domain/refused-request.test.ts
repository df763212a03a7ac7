import { describe, expect, test } from 'vitest';
import { fieldRule, RefusedRequestMeter, storedPointers, storedTicketId } from '../../src/domain/refused-request.ts';

describe('the meter of refused requests', () => {
  /** For each of these reasons in turn, how many of 100 requests are admitted. */
  const admitted = (
    meter: RefusedRequestMeter,
    organizationId: string,
    keyId: string,
    reasons = ['revoked'],
    now = 0,
  ) =>
    reasons.map((reason) => {
      const tries = Array.from({ length: 100 }, () => meter.admits({ organizationId, keyId }, reason, now));
      return tries.filter(Boolean).length;
    });

  test('admits 5 requests of a key in a minute, and 5 more that are the first for their reason', () => {
    const meter = new RefusedRequestMeter();
    const reasons = Array.from({ length: 8 }, (_, number) => `reason-${number}`);
    expect(admitted(meter, 'a', 'key', reasons)).toEqual([5, 1, 1, 1, 1, 1, 0, 0]);
    expect(admitted(meter, 'a', 'key', reasons.toReversed(), 60_000)).toEqual([5, 1, 1, 1, 1, 1, 0, 0]);
  });

  test('counts the reasons of a key together until it has five', () => {
    const meter = new RefusedRequestMeter();
    const admits = (reason: string) => meter.admits({ organizationId: 'a', keyId: 'key' }, reason, 0);
    expect(['x', 'y', 'x', 'y', 'x', 'y', 'x', 'z', 'z'].map(admits)).toEqual([
      ...[true, true, true, true, true],
      ...[false, false, true, false],
    ]);
  });

  test('admits 60 requests of an organization in a minute', () => {
    const meter = new RefusedRequestMeter();
    const ofKeys = Array.from({ length: 14 }, (_, key) => admitted(meter, 'a', `key-${key}`));
    expect(ofKeys.flat()).toEqual([5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 0, 0]);
    expect(admitted(meter, 'b', 'key-0')).toEqual([5]);
    expect(admitted(meter, 'a', 'key-13', ['revoked'], 60_000)).toEqual([5]);
  });

  test('remembers a limited number of organizations, keys and reasons, and admits no others until the minute ends', () => {
    const meter = new RefusedRequestMeter();
    const admits = (number: number, now = 0) =>
      meter.admits({ organizationId: `org-${number}`, keyId: 'key' }, 'revoked', now);
    const all = Array.from({ length: 6_000 }, (_, number) => admits(number));
    expect(all.indexOf(false)).toBe(3_333);
    expect(all.lastIndexOf(true)).toBe(3_332);
    expect(admits(0)).toBe(true);
    expect(admits(5_999, 60_000)).toBe(true);
  });
});

test('pointers are stored without the names of fields that are not accepted, each once, and at most ten', () => {
  const invalid = ['/minutes', '/my secret', '/other/0', '', '/minutes'].map((pointer) => ({
    code: 'invalid_type',
    pointer,
  }));
  // A note has no such field.
  const unknown = { code: 'unknown_field', pointer: '/userEmail' };
  expect(storedPointers([...invalid, unknown])).toEqual(['/minutes', '/?', '']);
  expect(storedPointers([{ code: 'invalid_type', pointer: '/userEmail' }])).toEqual(['/userEmail']);
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
