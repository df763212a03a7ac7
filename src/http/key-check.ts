import { hashKey, isWellFormedKey, keyHint, whyUnauthorized } from '../domain/api-key.ts';
import type { BlockedKeys } from '../domain/blocked-keys.ts';
import { Unauthorized } from '../domain/errors.ts';
import type { FoundKey } from '../domain/principal.ts';
import type { Scope } from '../domain/scopes.ts';
import type { ExpiringMap } from '../lib/expiring-map.ts';

/** How long a valid key stays in the isolate's cache. */
const CACHE_MS = 60_000;

/** The scope that a request needs: none, one, or one that only its body names. */
export type RequiredScope = Scope | 'in_body' | undefined;

export interface KeySource {
  keyPrefix: string;
  blockedKeys: BlockedKeys;
  cache: ExpiringMap<FoundKey>;
  now: () => number;
  address: string | null;
  find: (hash: string) => Promise<FoundKey | undefined>;
}

/**
 * The check of one request's key, and the rule for which responses may rely on the cache.
 *
 * A write with a cached key starts without reading the key: its own batch checks the key again, and D1's decision is
 * the response. Every other response to a write relies on the cache, or on a key read before a slow body arrived, so it
 * is sent only after `refresh`. A revoked key thus gets its 401 at once in every isolate, and a warm write costs one D1
 * call. A request without a scope always reads the key. One that names its scope in the body (`'in_body'`) may start
 * with a cached key: it then calls `requireScope`, or `refresh` if it is no write.
 */
export class KeyCheck {
  /** Whether the key came from the cache (`warm`) or from D1 (`cold`). */
  lookup: 'warm' | 'cold' = 'cold';
  private refreshed = false;
  private readonly source: KeySource;
  private scope: Scope | undefined;
  private readonly mayUseCache: boolean;
  private readonly hash: string;
  private key: FoundKey | undefined;

  private constructor(source: KeySource, scope: RequiredScope, hash: string) {
    this.source = source;
    this.scope = scope === 'in_body' ? undefined : scope;
    this.mayUseCache = scope !== undefined;
    this.hash = hash;
  }

  /**
   * Checks a key value for a scope, or for none. Returns the check and the key.
   *
   * A key that is blocked by its hint is still read, so that it costs as much as an unknown key. If that read fails,
   * the result is the same, and `onFailure` gets the error.
   * @throws Unauthorized
   */
  static async start(
    source: KeySource,
    value: string,
    scope: RequiredScope,
    onFailure: (err: unknown) => void,
  ): Promise<{ check: KeyCheck; key: FoundKey }> {
    if (!isWellFormedKey(value, source.keyPrefix)) throw new Unauthorized('malformed');
    const check = new KeyCheck(source, scope, await hashKey(value));
    if (source.blockedKeys.size > 0 && source.blockedKeys.has(keyHint(value))) {
      const key = await source.find(check.hash).catch(onFailure);
      throw new Unauthorized('blocked', key ?? undefined);
    }
    const cached = check.mayUseCache && source.cache.get(check.hash, source.now());
    if (cached && !check.whyRefused(cached)) {
      check.lookup = 'warm';
      check.key = cached;
      return { check, key: cached };
    }
    return { check, key: await check.read() };
  }

  /** Whether a response would rely on an old state of the key, unless D1 decided in this request. */
  get isStale(): boolean {
    return this.mayUseCache && !this.refreshed;
  }

  /**
   * Requires a scope that only the body named. A cached key that lacks it is read again. Returns the key.
   * @throws Unauthorized
   */
  async requireScope(scope: Scope): Promise<FoundKey> {
    this.scope = scope;
    const { key } = this;
    const reason = key && this.whyRefused(key);
    if (key && !reason) return key;
    if (this.lookup === 'warm') return await this.refresh();
    throw new Unauthorized(reason ?? 'unknown', key);
  }

  async refresh(): Promise<FoundKey> {
    const key = await this.read();
    this.refreshed = true;
    return key;
  }

  forget(): void {
    this.source.cache.delete(this.hash);
  }

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
    this.key = key;
    return key;
  }

  private whyRefused(key: FoundKey) {
    const { blockedKeys, now, address } = this.source;
    if (blockedKeys.has(key.keyId)) return 'blocked' as const;
    return whyUnauthorized(key, { now: now(), address, scope: this.scope });
  }
}
