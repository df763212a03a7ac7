import fc from 'fast-check';
import { expect, test } from 'vitest';
import { DIRECTORY_ID } from '../../src/domain/directory-id.ts';
import { runs } from '../support/property.ts';

test('an id has 1 to 64 letters, digits and ._~-, and is no path segment of dots', () => {
  const text = fc.oneof(
    fc.string({ unit: fc.constantFrom(...'...aZ09_~-/ é\n'), maxLength: 6 }),
    fc.tuple(fc.constantFrom('', '.', '..', '...'), fc.integer({ min: 58, max: 66 }), fc.constantFrom('', '.', '%')),
  );
  const ids = text.map((made) => (typeof made === 'string' ? made : made[0] + 'x'.repeat(made[1]) + made[2]));
  fc.assert(
    fc.property(ids, (id) => {
      const allowed = /^[A-Za-z0-9._~-]+$/.test(id) && id.length <= 64 && id !== '.' && id !== '..';
      expect([id, DIRECTORY_ID.test(id)]).toEqual([id, allowed]);
    }),
    { numRuns: runs('ids', 3_000) },
  );
});
