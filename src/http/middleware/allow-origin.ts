import type { MiddlewareHandler } from 'hono';
import { echo } from '../../domain/fields.ts';
import type { AppEnv } from '../context.ts';
import { Problem, problem } from '../problems.ts';

/**
 * Refuses requests from web pages, except those of the configured origins: a page must not reach the
 * endpoint through the browser of someone who can (DNS rebinding). MCP demands this check.
 */
export function allowOrigin(origins: readonly string[]): MiddlewareHandler<AppEnv> {
  return async function allowOrigin(c, next) {
    const origin = c.req.header('Origin');
    if (origin === undefined || origins.includes(origin)) return next();
    const { code, detail } = originNotAllowed(origin);
    return problem(c, code, detail);
  };
}

/** The request came from a web page whose origin is not allowed. */
export function originNotAllowed(origin: string): Problem {
  return new Problem(
    'origin_not_allowed',
    `Origin was ${JSON.stringify(echo(origin))}; call this address from a program that sends no Origin, or ask the operator to allow this one.`,
  );
}
