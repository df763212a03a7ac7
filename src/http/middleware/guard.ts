import type { MiddlewareHandler } from 'hono';
import { psaNotIncluded } from '../../domain/errors.ts';
import type { Scope } from '../../domain/scopes.ts';
import type { ApiEnv } from '../hono-env.ts';
import { authenticate } from './authenticate.ts';
import { keyExpiry } from './key-expiry.ts';
import { keyLimit } from './key-limit.ts';
import { limitByIp } from './limit-by-ip.ts';
import { pause } from './pause.ts';
import { recordRefusals } from './record-refusals.ts';
import { requireHttps } from './require-https.ts';

// The order of the checks. A later check never responds before the earlier ones have passed: a 429 per key or a 403
// before the scope check would reveal that the key exists.

/** HTTPS, pause and IP limit, for every address that takes a key. */
export const firstChecks = (area: 'api' | 'mcp') =>
  [requireHttps(), pause(), keyExpiry(), recordRefusals(), limitByIp(area)] as const;

/** Key, scope, key limit and plan, for every endpoint. Without a scope, any live key is admitted. */
export const guard = (scope?: Scope) => [authenticate(scope), keyLimit(), requirePlan()] as const;

/** Key and key limit, for unknown paths: only holders of a live key learn that they do not exist. */
export const guardUnknown = () => [authenticate(), keyLimit()] as const;

function requirePlan(): MiddlewareHandler<ApiEnv> {
  return async function requirePlan(c, next) {
    if (!c.get('principal').hasPsa) throw psaNotIncluded();
    await next();
  };
}
