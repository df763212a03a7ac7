import type { Context, MiddlewareHandler } from 'hono';
import { type FoundKey, hashKey, isWellFormedKey, keyHint, whyUnauthorized } from '../../domain/api-key.ts';
import { errorOf, Unauthorized } from '../../domain/errors.ts';
import type { Scope } from '../../domain/record-kinds.ts';
import { log } from '../../lib/log.ts';
import { trimOws } from '../../lib/trim-ows.ts';
import { findKey, findKeyNearby } from '../../services/keys/find-key.ts';
import { type ApiEnv, serviceContext } from '../hono-env.ts';

/** RFC 6750 §2.1; the scheme's name is case-insensitive (RFC 9110 §11.1). */
const BEARER = /^Bearer +(\S+)$/i;

/** The value in an Authorization header with the scheme Bearer; undefined in any other form. */
export function bearerValue(header: string): string | undefined {
  return BEARER.exec(trimOws(header))?.[1];
}

/** Admits a live key with the scope, if one is required. */
export function authenticate(scope?: Scope): MiddlewareHandler<ApiEnv> {
  return async function authenticate(c, next) {
    const header = c.req.header('Authorization');
    if (header === undefined) throw new Unauthorized('missing');
    const value = bearerValue(header);
    if (value === undefined) throw new Unauthorized('malformed');
    const check = await KeyCheck.start(c, value, scope);
    c.set('onDecided', (key) => check.decided(key));
    await next();
    await check.finish();
  };
}

/** How long a valid key stays in the isolate's cache. */
const CACHE_MS = 60_000;

/**
 * The check of one request's key, and the rule for which responses may rely on the cache or a replica. The accepted key is
 * the request's principal.
 *
 * A write with a cached key starts without reading the key: its own batch checks the key again, or the explanation why it
 * wrote nothing does, and its service reports that to `decided`. Every other response to a write waits until the key was
 * read again, because the key comes from the cache, or was read before a slow body arrived. A revoked key thus gets its
 * 401 immediately in every isolate, and a warm write costs one D1 call. A request without a scope always reads the key
 * from the primary.
 *
 * A key that is not cached is read from a replica if one is nearer than the primary, and then counts as a cached one. If
 * it is not good for the write there, it is read from the primary: only that may refuse it.
 */
class KeyCheck {
  private isDecided = false;
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

  /** The database has checked the key in this request: in a batch, or with the `key` that it then read. */
  decided(key: FoundKey | undefined): void {
    this.isDecided = true;
    if (key) this.c.set('principal', key);
  }

  /** Before a response is sent: reads the key again if the response relies on an old state. @throws Unauthorized */
  async finish(): Promise<void> {
    const { c } = this;
    // A key without the plan is from the primary. Before a 503, to read the key would fail too, and hide that the outcome
    // of a write is unknown.
    const mayBeOld = this.mayUseCache && !this.isDecided && c.get('principal').hasPsa;
    if (mayBeOld && c.res.status !== 503) {
      const response = c.res;
      // Clear it first: Hono copies the old response's headers onto the new one.
      c.res = undefined;
      this.accept(await this.findAgain());
      if (!c.get('principal').hasPsa) throw errorOf('psa_not_included');
      c.res = response;
    }
    if (c.res.status === 401 || c.res.status === 403) this.forget();
  }

  private forget(): void {
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
