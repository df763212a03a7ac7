import { describe, expect, test } from 'vitest';
import { parseJurisdiction, parseKnownPrefixes, parseSettingsLinks, placedIn } from '../../src/domain/deployments.ts';

test('a jurisdiction is one of three values, or empty', () => {
  expect(['', ' eu ', 'us', 'fedramp'].map(parseJurisdiction)).toEqual([undefined, 'eu', 'us', 'fedramp']);
  expect(() => parseJurisdiction('de')).toThrow('"de" is not a jurisdiction; write eu, us, fedramp, or nothing');
});

test('known prefixes are separated by commas or spaces', () => {
  expect(parseKnownPrefixes('eu, us  stg2')).toEqual(['eu', 'us', 'stg2']);
  expect(() => parseKnownPrefixes('eu, EU')).toThrow('"EU" is not a key prefix');
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

describe('settings links', () => {
  test('a link consists of a name, which may contain spaces, and an address', () => {
    expect(parseSettingsLinks('EU https://eu.example/settings, North America https://na.example/settings')).toEqual([
      { name: 'EU', url: 'https://eu.example/settings' },
      { name: 'North America', url: 'https://na.example/settings' },
    ]);
    expect(parseSettingsLinks(' ')).toEqual([]);
  });

  test.each(['https://eu.example/settings', 'EU eu.example', 'EU javascript:alert(1)'])(
    'the link %s is refused',
    (text) => {
      expect(() => parseSettingsLinks(text)).toThrow(`"${text}" is not a name and an address`);
    },
  );
});
