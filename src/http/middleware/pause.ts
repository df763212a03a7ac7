import type { MiddlewareHandler } from 'hono';
import type { AppEnv } from '../hono-env.ts';
import { Problem } from '../problems.ts';

const RETRY_AFTER_SECONDS = 60;

/** While paused, refuses everything, before any limit or lookup. */
export function pause(): MiddlewareHandler<AppEnv> {
  return async function pause(c, next) {
    if (c.get('config').mode === 'paused') {
      throw new Problem(
        'unavailable',
        'The service is paused by its operator. Nothing was written; send the same request again later.',
        {
          headers: { 'Retry-After': String(RETRY_AFTER_SECONDS) },
        },
      );
    }
    await next();
  };
}
