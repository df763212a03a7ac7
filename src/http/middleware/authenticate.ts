import type { Context, MiddlewareHandler } from 'hono';
import { hashKey, isWellFormedKey, keyHint, type Scope, whyUnauthorized } from '../../domain/api-key.ts';
import type { FoundKey } from '../../domain/principal.ts';
import { psaNotIncluded, Refusal, Unauthorized } from '../../domain/errors.ts';
import type { ApiEnv } from '../../env.ts';
import { findKey } from '../../services/keys/find-key.ts';
import { log } from '../../lib/log.ts';
import { serviceContext } from '../service-context.ts';

/** RFC 6750 §2.1; the scheme's name is case-insensitive (RFC 9110 §11.1). */
const BEARER = /^Bearer +(\S+)$/i;
/** How long a key that was seen to be good is remembered. */
const REMEMBER_MS = 60_000;

/**
 * Lets through a live key that holds the scope, if one is asked for, and puts its principal into the context.
 *
 * A write with a key that this isolate remembers begins without reading it: the write's own batch checks the key again, and what D1
 * decides there is the answer. Any other answer to a write rests on memory, or on what was read before its body came in, and is sent
 * only after the key was read afresh. So a revoked key gets its 401 at once in every isolate, and yet a warm write costs one call to D1.
 *
 * A key that the operator has blocked is looked up as an unknown one would be, so that it cannot be told from one while D1 answers.
 */
export function authenticate(scope?: Scope): MiddlewareHandler<ApiEnv> {
  return async function authenticate(c, next) {
    const header = c.req.header('Authorization');
    if (header === undefined) throw new Unauthorized('missing');
    const value = BEARER.exec(header)?.[1];
    const { keyPrefix, blockedKeys } = c.get('settings');
    if (value === undefined || !isWellFormedKey(value, keyPrefix)) throw new Unauthorized('malformed');

    const hash = await hashKey(value);
    const facts = c.get('facts');
    const memory = c.get('memory');
    facts.lookup = 'cold';
    if (blockedKeys.size > 0 && blockedKeys.has(keyHint(value))) throw await blocked(c, hash);

    const { keys } = memory;
    const remembered = scope && keys.get(hash, c.get('now')());
    if (remembered && !blockedKeys.has(remembered.keyId) && !whyUnauthorized(remembered, c.get('now')(), scope)) {
      facts.lookup = 'warm';
      c.set('principal', remembered);
    } else {
      c.set('principal', await readKey(c, hash, scope));
    }
    if (scope) {
      c.set('confirmKey', async () => {
        c.set('principal', await readKey(c, hash, scope));
        c.set('confirmKey', undefined);
      });
    }

    await next();
    // The verbs have asked D1; whatever else was thrown has not.
    const decidedByD1 = c.error === undefined || c.error instanceof Refusal || c.error instanceof Unauthorized;
    const confirmKey = c.get('confirmKey');
    if (confirmKey && !decidedByD1) {
      const answer = c.res;
      // Or its headers would find their way into the 401.
      c.res = undefined;
      await confirmKey();
      if (!c.get('principal').hasPsa) throw psaNotIncluded();
      c.res = answer;
    }
    if (c.res.status === 401 || c.res.status === 403) keys.delete(hash);
  };
}

/** Reads the key from D1 and remembers it if it is good for a write; one that is refused, or has lost its plan, is forgotten. */
async function readKey(c: Context<ApiEnv>, hash: string, scope: Scope | undefined): Promise<FoundKey> {
  const memory = c.get('memory');
  const now = c.get('now');
  const settings = c.get('settings');
  const key = await findKey(serviceContext(c), hash);
  const reason = key ? (settings.blockedKeys.has(key.keyId) ? 'blocked' : whyUnauthorized(key, now(), scope)) : 'unknown';
  if (!key || reason) {
    memory.keys.delete(hash);
    throw new Unauthorized(reason ?? 'unknown', key);
  }
  if (key.hasPsa) memory.keys.set(hash, key, now() + REMEMBER_MS);
  else memory.keys.delete(hash);
  return key;
}

/** The refusal of a key that is blocked by its hint. It is read only because an unknown key would be, so it may fail: the answer is the same. */
async function blocked(c: Context<ApiEnv>, hash: string): Promise<Unauthorized> {
  const key = await findKey(serviceContext(c), hash).catch((err: unknown) => {
    log('warn', 'blocked_key_not_read', { requestId: c.get('requestId'), cause: err });
    return undefined;
  });
  return new Unauthorized('blocked', key);
}
