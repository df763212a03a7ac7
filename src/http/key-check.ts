import { type FoundKey, hashKey, isWellFormedKey, keyHint, whyUnauthorized } from '../domain/api-key.ts';
import type { BlockedKeys } from '../domain/blocked-keys.ts';
import { Unauthorized } from '../domain/errors.ts';
import type { Scope } from '../domain/scopes.ts';
import type { ExpiringMap } from '../lib/expiring-map.ts';
import type { NearbyKey } from '../services/keys/find-key.ts';

/** How long a valid key stays in the isolate's cache. */
const CACHE_MS = 60_000;

/** The scope that a request needs: none, one, or one that only its body names. */
export type RequiredScope = Scope | 'in_body' | undefined;

/** How the key of a request was found, for the log. */
export interface LookupStats {
  /** Whether the key came from the isolate's cache (`warm`), a replica (`near`) or the primary (`cold`). */
  lookup?: 'warm' | 'near' | 'cold';
  region?: string | undefined;
  /** Whether the key was then read from the primary. */
  readAgain?: true;
}

export interface KeySource {
  keyPrefix: string;
  blockedKeys: BlockedKeys;
  cache: ExpiringMap<FoundKey>;
  now: () => number;
  address: string | null;
  stats: LookupStats;
  /** Reads a key from the primary. */
  find: (hash: string) => Promise<FoundKey | undefined>;
  /** Reads a key from the nearest copy of the database. Undefined if that failed. */
  findNearby: (hash: string) => Promise<NearbyKey | undefined>;
}

/**
 * The check of one request's key, and the rule for which responses may rely on the cache or a replica.
 *
 * A write with a cached key starts without reading the key: its own batch checks the key again, and D1's decision is
 * the response. Every other response to a write relies on the cache, or on a key read before a slow body arrived, so it
 * is sent only after `refresh`. A revoked key thus gets its 401 immediately in every isolate, and a warm write costs one D1
 * call. A request without a scope always reads the key from the primary. One that names its scope in the body
 * (`'in_body'`) may start with a cached key: it then calls `requireScope`, or `refresh` if it is no write.
 *
 * A key that is not cached is read from a replica if one is nearer than the primary, and then counts as a cached one. If
 * it is not good for the write there, it is read from the primary: only that may refuse it.
 */
export class KeyCheck {
  private refreshed = false;
  private readonly source: KeySource;
  private scope: Scope | undefined;
  private readonly mayUseCache: boolean;
  private readonly hash: string;
  private readonly isBlocked: boolean;
  /** Whether the key came from the cache or a replica. */
  private isSecondHand = false;
  private key: FoundKey | undefined;

  private constructor(source: KeySource, scope: RequiredScope, hash: string, isBlocked: boolean) {
    this.source = source;
    this.scope = scope === 'in_body' ? undefined : scope;
    this.mayUseCache = scope !== undefined;
    this.hash = hash;
    this.isBlocked = isBlocked;
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
    const isBlocked = source.blockedKeys.size > 0 && source.blockedKeys.has(keyHint(value));
    const check = new KeyCheck(source, scope, await hashKey(value), isBlocked);
    if (isBlocked) {
      const key = await check.find().catch(onFailure);
      throw new Unauthorized('blocked', key ?? undefined);
    }
    const cached = check.mayUseCache && source.cache.get(check.hash, source.now());
    if (cached && !check.whyRefused(cached)) {
      source.stats.lookup = 'warm';
      check.isSecondHand = true;
      check.key = cached;
      return { check, key: cached };
    }
    return { check, key: check.accept(await check.find()) };
  }

  get lookup(): LookupStats['lookup'] {
    return this.source.stats.lookup;
  }

  /** Whether a response would rely on an old state of the key, unless D1 decided in this request. */
  get isStale(): boolean {
    return this.mayUseCache && !this.refreshed;
  }

  /** Requires a scope that only the body named. A cached key that lacks it is read again. @throws Unauthorized */
  async requireScope(scope: Scope): Promise<FoundKey> {
    this.scope = scope;
    const { key } = this;
    const reason = key && this.whyRefused(key);
    if (key && !reason) return key;
    if (this.isSecondHand) return await this.refresh();
    throw new Unauthorized(reason ?? 'unknown', key);
  }

  /** Reads the key from the primary, and checks it again. @throws Unauthorized */
  async refresh(): Promise<FoundKey> {
    const key = this.accept(await this.findAgain());
    this.refreshed = true;
    return key;
  }

  forget(): void {
    this.source.cache.delete(this.hash);
  }

  /** The key as the primary has it, or as a replica has it if it may write there. */
  private async find(): Promise<FoundKey | undefined> {
    const { stats, find, findNearby } = this.source;
    stats.lookup = 'cold';
    const nearby = this.mayUseCache ? await findNearby(this.hash) : undefined;
    if (!nearby) return await find(this.hash);
    const { key, isCurrent, region } = nearby;
    if (isCurrent) return key;
    stats.lookup = 'near';
    stats.region = region;
    if (!key?.hasPsa || this.whyRefused(key)) return await this.findAgain();
    this.isSecondHand = true;
    return key;
  }

  private findAgain(): Promise<FoundKey | undefined> {
    this.isSecondHand = false;
    this.source.stats.readAgain = true;
    return this.source.find(this.hash);
  }

  /** The key if it may be used, which is then cached if it may write. @throws Unauthorized */
  private accept(key: FoundKey | undefined): FoundKey {
    const reason = key ? this.whyRefused(key) : 'unknown';
    if (!key || reason) {
      this.forget();
      throw new Unauthorized(reason ?? 'unknown', key);
    }
    if (key.hasPsa) this.source.cache.set(this.hash, key, this.source.now() + CACHE_MS);
    else this.forget();
    this.key = key;
    return key;
  }

  private whyRefused(key: FoundKey) {
    const { blockedKeys, now, address } = this.source;
    if (this.isBlocked || blockedKeys.has(key.keyId)) return 'blocked' as const;
    return whyUnauthorized(key, { now: now(), address, scope: this.scope });
  }
}
