import type { MiddlewareHandler } from 'hono';
import type { ApiEnv } from '../../http/hono-env.ts';
import { keyLimit } from '../../http/middleware/key-limit.ts';
import { Problem } from '../../http/problems.ts';
import { messageOf } from './read-message.ts';

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
      const message = messageOf(c);
      if (!(err instanceof Problem && err.code === 'rate_limited' && message.call)) throw err;
      message.limitRefusal = err;
    }
    await next();
  };
}
