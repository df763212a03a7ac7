import fc from 'fast-check';
import { expect, test } from 'vitest';
import { NumberRing } from '../../src/lib/number-ring.ts';
import { heldBytes } from '../support/held-bytes.ts';
import { runs } from '../support/property.ts';

test('a ring of numbers agrees with an array, and its memory shrinks with it', () => {
  const step = fc.record({ push: fc.boolean(), count: fc.integer({ min: 1, max: 60 }) });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const ring = new NumberRing();
      const model: number[] = [];
      let next = 0;
      for (const { push, count } of steps) {
        for (let i = 0; i < count && (push || model.length > 0); i++) {
          if (push) {
            ring.push(next);
            model.push(next++);
          } else {
            expect(ring.shift()).toBe(model.shift());
          }
          expect(heldBytes(ring)).toBeLessThanOrEqual(8 * Math.max(4, 4 * model.length));
        }
        expect(Array.from({ length: ring.length }, (_, index) => ring.at(index))).toEqual(model);
      }
    }),
    { numRuns: runs('a ring of numbers against an array', 200) },
  );
});

test('a ring of numbers has no entry outside its length', () => {
  const ring = new NumberRing();
  expect(() => ring.shift()).toThrow(RangeError);
  ring.push(1);
  for (const index of [-1, 1]) expect(() => ring.at(index)).toThrow(RangeError);
});
