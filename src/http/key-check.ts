import { hashKey, isWellFormedKey, keyHint, whyUnauthorized } from '../domain/api-key.ts';
import type { BlockedKeys } from '../domain/blocked-keys.ts';
import { Unauthorized } from '../domain/errors.ts';
import type { FoundKey } from '../domain/principal.ts';
import type { Scope } from '../domain/scopes.ts';
import type { ExpiringMap } from '../lib/expiring-map.ts';

/** How long a key that was good is kept in the isolate's cache. */
const CACHE_MS = 60_000;

/** What a check needs from its request and isolate. */
export interface KeySource {
  keyPrefix: string;
  blockedKeys: BlockedKeys;
  cache: ExpiringMap<FoundKey>;
  /** The clock: UTC milliseconds. */
  now: () => number;
  /** Reads a key from D1 by its hash. @throws ServiceError `unavailable` */
  find: (hash: string) => Promise<FoundKey | undefined>;
}

/**
 * The check of one request's key, with the rule for who may be answered from the cache:
 *
 * A write with a cached key starts without reading the key. The write's own batch checks it again, and what D1 decides there is the
 * response. Every other response to a write rests on the cache, or on what was read before a slow body came in, so it is sent only after
 * `refresh`. A revoked key thus gets its 401 at once in every isolate, and a warm write costs one D1 call. A request without a scope
 * always reads the key.
 */
export class KeyCheck {
  /** Whether the key came from the cache (`warm`) or from D1 (`cold`). */
  lookup: 'warm' | 'cold' = 'cold';
  private refreshed = false;
  private readonly source: KeySource;
  private readonly scope: Scope | undefined;
  private readonly hash: string;

  private constructor(source: KeySource, scope: Scope | undefined, hash: string) {
    this.source = source;
    this.scope = scope;
    this.hash = hash;
  }

  /**
   * Checks a key value for a scope, or for none. Returns the check and the key.
   *
   * A key that is blocked by its hint is read all the same, so that it costs what an unknown key costs; if the read fails, `onFailure` is
   * told, and the result is the same.
   * @throws Unauthorized; ServiceError `unavailable`
   */
  static async start(
    source: KeySource,
    value: string,
    scope: Scope | undefined,
    onFailure: (err: unknown) => void,
  ): Promise<{ check: KeyCheck; key: FoundKey }> {
    if (!isWellFormedKey(value, source.keyPrefix)) throw new Unauthorized('malformed');
    const check = new KeyCheck(source, scope, await hashKey(value));
    if (source.blockedKeys.size > 0 && source.blockedKeys.has(keyHint(value))) {
      const key = await source.find(check.hash).catch(onFailure);
      throw new Unauthorized('blocked', key ?? undefined);
    }
    const cached = scope && source.cache.get(check.hash, source.now());
    if (cached && !check.whyRefused(cached)) {
      check.lookup = 'warm';
      return { check, key: cached };
    }
    return { check, key: await check.read() };
  }

  /** Whether the response would rest on a key as it was some time ago, unless D1 has decided in a batch of the request. */
  get isStale(): boolean {
    return this.scope !== undefined && !this.refreshed;
  }

  /**
   * Reads the key again.
   * @throws Unauthorized; ServiceError `unavailable`
   */
  async refresh(): Promise<FoundKey> {
    const key = await this.read();
    this.refreshed = true;
    return key;
  }

  /** Removes the key from the cache: D1 has refused it. */
  forget(): void {
    this.source.cache.delete(this.hash);
  }

  /** Reads the key from D1 and caches it if it is good for a write. */
  private async read(): Promise<FoundKey> {
    const { cache, find, now } = this.source;
    const key = await find(this.hash);
    const reason = key ? this.whyRefused(key) : 'unknown';
    if (!key || reason) {
      this.forget();
      throw new Unauthorized(reason ?? 'unknown', key);
    }
    if (key.hasPsa) cache.set(this.hash, key, now() + CACHE_MS);
    else this.forget();
    return key;
  }

  private whyRefused(key: FoundKey) {
    const { blockedKeys, now } = this.source;
    return blockedKeys.has(key.keyId) ? ('blocked' as const) : whyUnauthorized(key, now(), this.scope);
  }
}
