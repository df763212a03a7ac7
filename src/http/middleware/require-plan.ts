import type { MiddlewareHandler } from 'hono';
import { psaNotIncluded } from '../../domain/errors.ts';
import type { ApiEnv } from '../context.ts';

export function requirePlan(): MiddlewareHandler<ApiEnv> {
  return async function requirePlan(c, next) {
    if (!c.get('principal').hasPsa) throw psaNotIncluded();
    await next();
  };
}
