import type { Context } from 'hono';
import { type FoundKey, hashKey, isWellFormedKey, keyHint, whyUnauthorized } from '../domain/api-key.ts';
import { Unauthorized } from '../domain/errors.ts';
import type { Scope } from '../domain/scopes.ts';
import { log } from '../lib/log.ts';
import { findKey, findKeyNearby } from '../services/keys/find-key.ts';
import { type ApiEnv, serviceContext } from './hono-env.ts';

/** How long a valid key stays in the isolate's cache. */
const CACHE_MS = 60_000;

/**
 * The check of one request's key, and the rule for which responses may rely on the cache or a replica. The accepted key is
 * the request's principal.
 *
 * A write with a cached key starts without reading the key: its own batch checks the key again, and D1's decision is
 * the response. Every other response to a write relies on the cache, or on a key read before a slow body arrived, so it
 * is sent only after `refresh`. A revoked key thus gets its 401 immediately in every isolate, and a warm write costs one D1
 * call. A request without a scope always reads the key from the primary.
 *
 * A key that is not cached is read from a replica if one is nearer than the primary, and then counts as a cached one. If
 * it is not good for the write there, it is read from the primary: only that may refuse it.
 */
export class KeyCheck {
  private refreshed = false;
  private readonly c: Context<ApiEnv>;
  private readonly scope: Scope | undefined;
  private readonly hash: string;
  private readonly isBlocked: boolean;

  private constructor(c: Context<ApiEnv>, scope: Scope | undefined, hash: string, isBlocked: boolean) {
    this.c = c;
    this.scope = scope;
    this.hash = hash;
    this.isBlocked = isBlocked;
  }

  /**
   * Checks a key value for a scope, or for none.
   *
   * A key that is blocked by its hint is still read, so that it costs as much as an unknown key. If that read fails,
   * the result is the same.
   * @throws Unauthorized
   */
  static async start(c: Context<ApiEnv>, value: string, scope?: Scope): Promise<KeyCheck> {
    const { keyPrefix, blockedKeys } = c.get('config');
    if (!isWellFormedKey(value, keyPrefix)) throw new Unauthorized('malformed');
    const isBlocked = blockedKeys.size > 0 && blockedKeys.has(keyHint(value));
    const check = new KeyCheck(c, scope, await hashKey(value), isBlocked);
    if (isBlocked) throw new Unauthorized('blocked', await check.find().catch(check.warn('blocked_key_not_read')));
    const cached = check.mayUseCache && c.get('caches').keys.get(check.hash, c.get('now')());
    if (cached && !check.whyRefused(cached)) {
      c.get('requestStats').lookup = 'warm';
      c.set('principal', cached);
    } else check.accept(await check.find());
    return check;
  }

  /** Only a write may begin with a key from the cache or a replica. */
  private get mayUseCache(): boolean {
    return this.scope !== undefined;
  }

  /** Whether a response would rely on an old state of the key, unless D1 decided in this request. */
  get isStale(): boolean {
    return this.mayUseCache && !this.refreshed;
  }

  /** Reads the key from the primary, and checks it again. @throws Unauthorized */
  async refresh(): Promise<void> {
    this.accept(await this.findAgain());
    this.refreshed = true;
  }

  forget(): void {
    this.c.get('caches').keys.delete(this.hash);
  }

  /** The key as the primary has it, or as a replica has it if it may write there. */
  private async find(): Promise<FoundKey | undefined> {
    const { c, hash } = this;
    const stats = c.get('requestStats');
    stats.lookup = 'cold';
    const nearby =
      this.mayUseCache && (await findKeyNearby(serviceContext(c), hash).catch(this.warn('nearby_key_not_read')));
    if (!nearby) return await findKey(serviceContext(c), hash);
    const { key, isCurrent, region } = nearby;
    if (isCurrent) return key;
    stats.lookup = 'near';
    stats.region = region;
    return key?.hasPsa && !this.whyRefused(key) ? key : await this.findAgain();
  }

  private findAgain(): Promise<FoundKey | undefined> {
    this.c.get('requestStats').readAgain = true;
    return findKey(serviceContext(this.c), this.hash);
  }

  /** Makes the key the principal if it may be used, and caches it if it may write. @throws Unauthorized */
  private accept(key: FoundKey | undefined): void {
    const reason = key ? this.whyRefused(key) : 'unknown';
    if (!key?.hasPsa || reason) this.forget();
    if (!key || reason) throw new Unauthorized(reason ?? 'unknown', key);
    const { c } = this;
    if (key.hasPsa) c.get('caches').keys.set(this.hash, key, c.get('now')() + CACHE_MS);
    c.set('principal', key);
  }

  private whyRefused(key: FoundKey) {
    const { c, scope } = this;
    const { blockedKeys } = c.get('config');
    if (this.isBlocked || blockedKeys.has(key.keyId)) return 'blocked' as const;
    return whyUnauthorized(key, { now: c.get('now')(), address: c.get('source').address, scope });
  }

  private warn(event: string) {
    return (cause: unknown): undefined => {
      log('warn', event, { requestId: this.c.get('requestId'), cause });
    };
  }
}
