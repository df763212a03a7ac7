import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose';
import { withDeadline } from './deadline.ts';
import { LoggableError } from './log.ts';

/** How long one read of the keys may take. */
const READ_TIMEOUT_MS = 3_000;
/** How long a failed read is remembered. Until then no request causes another one. */
const FAILURE_MS = 5_000;
/** How long the keys are used before they are read again: how late a withdrawn key is noticed. */
const FRESH_MS = 10 * 60_000;
/** How old the keys must be before an unknown key id causes another read. */
const RELOAD_MS = 30_000;

interface KeySet {
  find: JWTVerifyGetKey;
  readAt: number;
}

/**
 * The public keys that an issuer publishes at `url` (JWKS, RFC 7517 §5), for `jwtVerify`.
 *
 * jose's `createRemoteJWKSet` makes one fetch per request on Workers and forgets failures, so forged tokens would
 * multiply an outage of the issuer. Here all requests of an isolate share one read, and a failure is remembered. The
 * function rejects with jose's `JWKSNoMatchingKey` or `JWKSMultipleMatchingKeys` if the token names no single key, and
 * with any other error if the keys could not be read.
 */
export function remoteKeySet(
  url: URL,
  { send = fetch, now = Date.now }: { send?: typeof fetch; now?: () => number } = {},
): JWTVerifyGetKey {
  let keySet: KeySet | undefined;
  let failure: { cause: unknown; until: number } | undefined;
  let reading: { keys: Promise<JWTVerifyGetKey>; until: number } | undefined;

  async function read(): Promise<KeySet> {
    const startedAt = now();
    if (failure && startedAt < failure.until) throw failure.cause;
    // If the request that started a read is cancelled, its promise never settles: start again then.
    if (!reading || startedAt >= reading.until) {
      reading = { keys: fetchKeys(url, send), until: startedAt + READ_TIMEOUT_MS };
    }
    const current = reading;
    try {
      keySet = { find: await withDeadline(current.keys, current.until - startedAt), readAt: now() };
      return keySet;
    } catch (err) {
      if (reading === current) failure = { cause: err, until: now() + FAILURE_MS };
      throw err;
    }
  }

  return async function findKey(header, token) {
    const known = keySet && now() < keySet.readAt + FRESH_MS ? keySet : await read();
    try {
      return await known.find(header, token);
    } catch (err) {
      if (!(err instanceof errors.JWKSNoMatchingKey) || now() < known.readAt + RELOAD_MS) throw err;
      // The issuer may have added a key. If it cannot be asked, the key id stays unknown.
      const latest = await read().catch(() => known);
      return latest.find(header, token);
    }
  };
}

async function fetchKeys(url: URL, send: typeof fetch): Promise<JWTVerifyGetKey> {
  const response = await send(url, {
    headers: { Accept: 'application/json, application/jwk-set+json' },
    redirect: 'manual',
    signal: AbortSignal.timeout(READ_TIMEOUT_MS),
  });
  if (response.status !== 200) throw new LoggableError(`the keys of the issuer were answered with ${response.status}`);
  // jose checks the shape.
  return createLocalJWKSet(await response.json<JSONWebKeySet>());
}
