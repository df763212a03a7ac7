import { expect, test } from 'vitest';
import { parseJurisdiction, placedIn } from '../../src/domain/jurisdiction.ts';

test('a jurisdiction is one of three values, or empty', () => {
  expect(['', ' eu ', 'us', 'fedramp'].map(parseJurisdiction)).toEqual([undefined, 'eu', 'us', 'fedramp']);
  expect(() => parseJurisdiction('de')).toThrow('"de" is not a jurisdiction; write eu, us, fedramp, or nothing');
});

test('the deployment uses the objects of its jurisdiction', () => {
  class Namespace {
    readonly place: string;
    constructor(place = 'anywhere') {
      this.place = place;
    }
    jurisdiction(name: string): Namespace {
      return new Namespace(name);
    }
  }
  expect(placedIn(new Namespace(), 'eu').place).toBe('eu');
  expect(placedIn(new Namespace(), undefined).place).toBe('anywhere');
});
