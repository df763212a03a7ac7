import { expect, test } from 'vitest';
import { prefersStrictHandling } from '../../src/lib/prefer.ts';

test.each([
  'handling=strict',
  'Handling=strict',
  'handling = strict',
  'handling="strict"',
  'handling=strict; for=writes',
  'respond-async, wait=10,handling=strict',
  'note="a, handling=lenient", handling=strict',
  'note="an open quotation mark \\" and, a comma", handling=strict',
  'handling=strict, handling=lenient',
  ', ,handling=strict,',
])('%j asks for strict handling', (header) => {
  expect(prefersStrictHandling(header)).toBe(true);
});

test.each([
  undefined,
  '',
  'handling',
  'handling=',
  'handling=""',
  'handling=lenient',
  'handling=lenient, handling=strict',
  'handling=STRICT',
  'handling=strictly',
  'handling="strict',
  'handling=strict=',
  'strict',
  'mishandling=strict',
  'wait=10;handling=strict',
  'note="a, handling=strict"',
  'note="a, handling=strict',
])('%j does not ask for strict handling', (header) => {
  expect(prefersStrictHandling(header)).toBe(false);
});

test('a header of the greatest length is read in milliseconds', () => {
  for (const part of [',', '"', '\\"', 'handling=', ' ', '=;'])
    for (const header of [part.repeat(30_000), `handling=${part.repeat(30_000)}x`]) {
      const start = performance.now();
      prefersStrictHandling(header);
      expect(performance.now() - start).toBeLessThan(500);
    }
});
