import type { Context, Next } from 'hono';
import { errorOf } from '../../domain/errors.ts';
import type { Scope } from '../../domain/record-kinds.ts';
import { isLoopback } from '../../lib/loopback.ts';
import type { ApiEnv, AppEnv } from '../hono-env.ts';
import { invalidHost, Problem, problem } from '../problems.ts';
import { authenticate } from './authenticate.ts';
import { keyLimit, limitByIp } from './limits.ts';
import { recordRefusals } from './record-refusals.ts';

// The order of the checks. A later check never responds before the earlier ones have passed: a 429 per key or a 403
// before the scope check would reveal that the key exists.

/** HTTPS, pause and IP limit, for every path that takes a key. */
export const firstChecks = () => [requireHttps, pause, recordRefusals(), limitByIp('api')] as const;

/**
 * Key, scope, key limit, plan and host, for every endpoint. Without a scope, any live key is admitted. An unknown path or method
 * has the same checks: only holders of a live key whose organization has the plan learn that it does not exist.
 */
export const guard = (scope?: Scope) => [authenticate(scope), keyLimit, requirePlan, requireHost] as const;

function requirePlan(c: Context<ApiEnv>, next: Next): Promise<void> {
  if (!c.get('principal').hasPsa) throw errorOf('psa_not_included');
  return next();
}

/** Refuses a request whose Host header makes its URL unreadable. Where a key is required, it is checked before. */
export async function requireHost(c: Context<AppEnv>, next: Next) {
  return URL.canParse(c.req.url) ? next() : problem(c, ...invalidHost());
}

/** Refuses plain HTTP. A redirect would hide the mistake, and clients would send the key unencrypted each time. */
export function requireHttps(c: Context<AppEnv>, next: Next): Promise<void> {
  if (isPlainHttp(c.req.url) && !c.get('config').allowPlainHttp) throw httpsRequired();
  return next();
}

function isPlainHttp(url: string): boolean {
  if (!url.startsWith('http://')) return false;
  // With two Host headers, the URL cannot be parsed, and the host is not known to be loopback.
  const parsed = URL.parse(url);
  return parsed === null || !isLoopback(parsed.hostname);
}

export function httpsRequired(): Problem {
  return new Problem(
    'https_required',
    'This API is served over HTTPS only. Change http:// to https://, and replace the key if the request had one.',
  );
}

/** While paused, refuses everything, before any limit or lookup. */
function pause(c: Context<AppEnv>, next: Next): Promise<void> {
  if (c.get('config').mode === 'paused') {
    throw new Problem(
      'unavailable',
      'The service is paused by its operator. Nothing was written; send the same request again later.',
      { headers: { 'Retry-After': '60' } },
    );
  }
  return next();
}
