import { describe, expect, test, vi } from 'vitest';
import { type FoundKey, generateKey, hashKey, keyHint } from '../../src/domain/api-key.ts';
import { Unauthorized } from '../../src/domain/errors.ts';
import { KeyCheck, type KeySource } from '../../src/http/key-check.ts';
import { ExpiringMap } from '../../src/lib/expiring-map.ts';

const NOTE = 'tickets:note:write';
const TIME = 'tickets:time:write';

const value = generateKey('twb');
const hash = await hashKey(value);
const good: FoundKey = {
  organizationId: 'northwind',
  timeZone: 'UTC',
  hasPsa: true,
  keyId: 'key-1',
  keyHash: hash,
  chainId: 'key-1',
  keyName: 'n8n',
  scopes: [NOTE],
  dayLimit: { records: null, minutes: null },
  allowedNetworks: '',
  expiresAt: null,
  revokedAt: null,
  organizationActive: true,
};

// What a response shows is tested in cached-keys.test.ts, near-keys.test.ts and middleware/authenticate.test.ts.

/**
 * A source whose database holds one key, which a test may change or remove, and whose clock a test
 * may set.
 */
function makeSource(overrides: Partial<KeySource> = {}) {
  const world: { stored: FoundKey | undefined; now: number } = { stored: good, now: 1_000_000 };
  const cache = new ExpiringMap<FoundKey>(10);
  const find = vi.fn<KeySource['find']>(async (wanted) => (wanted === hash ? world.stored : undefined));
  const source: KeySource = {
    keyPrefix: 'twb',
    blockedKeys: new Set(),
    cache,
    now: () => world.now,
    address: '192.0.2.1',
    stats: {},
    find,
    // The primary is the nearest.
    findNearby: (wanted) =>
      source.find(wanted).then(
        (key) => ({ key, isCurrent: true, region: undefined }),
        () => undefined,
      ),
    ...overrides,
  };
  const onFailure = vi.fn<(err: unknown) => void>();
  return {
    world,
    source,
    find,
    onFailure,
    start: (scope?: typeof NOTE | typeof TIME, key = value) => KeyCheck.start(source, key, scope, onFailure),
    /** What the cache holds for the key. */
    cached: () => cache.get(hash, world.now),
  };
}

/** The refusal that something ends with. */
async function refusalOf(checked: Promise<unknown>): Promise<Unauthorized> {
  const err = await checked.then(
    () => 'it was allowed',
    (thrown: unknown) => thrown,
  );
  if (err instanceof Unauthorized) return err;
  throw new Error('not an Unauthorized', { cause: err });
}

describe('a key blocked by its hint', () => {
  const blockedKeys = new Set([keyHint(value)]);

  test('a key is looked up once and refused, even when it is cached', async () => {
    const { source, start, find, onFailure } = makeSource({ blockedKeys });
    expect(await refusalOf(start(NOTE))).toMatchObject({ reason: 'blocked', key: good });
    expect(find).toHaveBeenCalledTimes(1);
    source.cache.set(hash, good, Number.POSITIVE_INFINITY);
    expect(await refusalOf(start(NOTE))).toMatchObject({ reason: 'blocked', key: good });
    expect(find).toHaveBeenCalledTimes(2);
    expect(onFailure).not.toHaveBeenCalled();
  });

  test('a key is refused when the lookup fails, and the failure is reported', async () => {
    const lost = new Error('lost');
    const { start, onFailure } = makeSource({ blockedKeys, find: () => Promise.reject(lost) });
    expect(await refusalOf(start(NOTE))).toMatchObject({ reason: 'blocked', key: undefined });
    expect(onFailure.mock.calls).toEqual([[lost]]);
  });

  test('a value without such a key is refused', async () => {
    const { world, start } = makeSource({ blockedKeys });
    world.stored = undefined;
    expect(await refusalOf(start(NOTE))).toMatchObject({ reason: 'blocked', key: undefined });
  });
});

describe('a cached key', () => {
  test('a cached key is read again if it is expired or lacks the scope', async () => {
    const { world, start, find, cached } = makeSource();
    world.stored = { ...good, expiresAt: world.now + 1_000 };
    await start(NOTE);
    world.now += 1_000;
    expect((await refusalOf(start(NOTE))).reason).toBe('expired');
    expect(find).toHaveBeenCalledTimes(2);
    expect(cached()).toBeUndefined();

    world.stored = good;
    await start(NOTE);
    // The scopes of a key may have been extended since.
    world.stored = { ...good, scopes: [NOTE, TIME] };
    expect((await start(TIME)).check.lookup).toBe('cold');
    expect(find).toHaveBeenCalledTimes(4);
  });

  test('forget removes a key from the cache', async () => {
    const { start, cached } = makeSource();
    const { check } = await start(NOTE);
    expect(cached()).toEqual(good);
    check.forget();
    expect(cached()).toBeUndefined();
  });
});

describe('a key from the database', () => {
  test('a key is never cached without PSA, and an earlier copy is removed', async () => {
    const { world, start, find, cached } = makeSource();
    await start(NOTE);
    world.stored = { ...good, hasPsa: false };
    expect((await start()).key.hasPsa).toBe(false);
    expect(cached()).toBeUndefined();
    expect((await start(NOTE)).key.hasPsa).toBe(false);
    expect((await start(NOTE)).check.lookup).toBe('cold');
    expect(find).toHaveBeenCalledTimes(4);
    expect(cached()).toBeUndefined();
  });

  test.each<[string, Partial<FoundKey>]>([
    ['revoked', { revokedAt: 5_000_000 }],
    ['expired', { expiresAt: 1_000_000 }],
    ['organization_inactive', { organizationActive: false }],
    ['scope_missing', { scopes: [TIME] }],
    ['address_not_allowed', { allowedNetworks: '198.51.100.0/24' }],
  ])('a key is refused as %s, and removed from the cache', async (reason, change) => {
    const { world, source, start, cached } = makeSource();
    world.stored = { ...good, ...change };
    // Cached by a request that needs another scope, so that this one reads it.
    source.cache.set(hash, { ...good, scopes: [TIME] }, Number.POSITIVE_INFINITY);
    expect(await refusalOf(start(NOTE))).toMatchObject({ reason, key: world.stored });
    expect(cached()).toBeUndefined();
  });
});

describe('a check', () => {
  test('a check without a scope is never stale', async () => {
    const { start } = makeSource();
    expect((await start()).check.isStale).toBe(false);
  });

  test("a refresh returns the key's present state and caches it", async () => {
    const { world, start, cached } = makeSource();
    const { check } = await start(NOTE);
    world.stored = { ...good, keyName: 'Renamed' };
    expect((await check.refresh()).keyName).toBe('Renamed');
    expect(cached()?.keyName).toBe('Renamed');
  });

  test('a refresh refuses a key that was revoked since, and removes it from the cache', async () => {
    const { world, start, cached } = makeSource();
    const { check } = await start(NOTE);
    world.stored = { ...good, revokedAt: 1 };
    expect(await refusalOf(check.refresh())).toMatchObject({ reason: 'revoked', key: world.stored });
    expect(cached()).toBeUndefined();
    expect(check.isStale).toBe(true);
  });

  test('a refresh passes on a failed lookup and keeps the cached key', async () => {
    const lost = new Error('lost');
    const { source, start, find, cached } = makeSource();
    const { check } = await start(NOTE);
    find.mockRejectedValue(lost);
    await expect(check.refresh()).rejects.toBe(lost);
    await expect(start()).rejects.toBe(lost);
    expect(cached()).toEqual(good);
    expect(source.cache.size).toBe(1);
  });
});
