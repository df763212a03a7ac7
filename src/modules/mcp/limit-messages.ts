import type { MiddlewareHandler } from 'hono';
import type { ApiEnv } from '../../http/context.ts';
import { keyLimit } from '../../http/middleware/key-limit.ts';
import { Problem } from '../../http/problems.ts';

/**
 * As `keyLimit`, except that the call of a tool goes on without being run: its result reports the
 * limit, because agents read results. Any other message gets the 429, for which clients wait.
 */
export function limitMessages(): MiddlewareHandler<ApiEnv> {
  const limit = keyLimit();
  return async function limitMessages(c, next) {
    try {
      await limit(c, async () => undefined);
    } catch (err) {
      if (!(err instanceof Problem && err.code === 'rate_limited' && c.get('mcpMessage')?.call)) throw err;
      c.set('limitRefusal', err);
    }
    await next();
  };
}
