import { Hono } from 'hono';
import type { Config } from '../config.ts';
import { respondWithError } from '../http/error-response.ts';
import type { AppEnv } from '../http/hono-env.ts';
import { limitByIp } from '../http/middleware/limit-by-ip.ts';
import { requestContext } from '../http/middleware/request-context.ts';
import { requestLog } from '../http/middleware/request-log.ts';
import { isOAuthPath, noOAuth } from '../http/not-found.ts';
import { endpointNotFound, problem } from '../http/problems.ts';
import type { Contribution } from '../module.ts';

/** `now` is the clock, in UTC milliseconds. */
export function createAgents(config: Config, contributions: readonly Contribution[], now: () => number = Date.now) {
  const app = new Hono<AppEnv>().use(requestContext(config, contributions, now), requestLog);
  for (const { routes } of contributions) if (routes) app.route(routes.path, routes.app);
  return app
    .use(limitByIp('site'))
    .notFound((c) => (isOAuthPath(c.req.path) ? noOAuth(c) : problem(c, ...endpointNotFound())))
    .onError(respondWithError);
}
