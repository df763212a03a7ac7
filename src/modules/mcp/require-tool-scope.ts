import type { MiddlewareHandler } from 'hono';
import { RECORD_KINDS } from '../../domain/record-kinds.ts';
import type { ApiEnv } from '../../http/hono-env.ts';
import { messageOf } from './read-message.ts';

/** Requires the scope of the tool that the message calls: without it, the call gets the constant 401. */
export function requireToolScope(): MiddlewareHandler<ApiEnv> {
  return async function requireToolScope(c, next) {
    const check = c.get('keyCheck');
    const kind = messageOf(c).call?.kind;
    // Only a write is decided by D1. Any other response must not rely on a cached key.
    const key = kind ? await check.requireScope(RECORD_KINDS[kind].scope) : await check.refresh();
    c.set('principal', key);
    await next();
  };
}
