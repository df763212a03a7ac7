import { Hono } from 'hono';
import { contextStorage } from 'hono/context-storage';
import { methodNotAllowed } from 'hono/method-not-allowed';
import { RegExpRouter } from 'hono/router/reg-exp-router';
import type { Config } from './config.ts';
import { limitsInWords } from './domain/day-limit.ts';
import { ping } from './http/api/ping.ts';
import { RECORD_ROUTES } from './http/api/writes.ts';
import type { AppEnv } from './http/hono-env.ts';
import { firstChecks, guard } from './http/middleware/guard.ts';
import { limitByIp } from './http/middleware/limits.ts';
import { type Clock, requestContext, requestLog, SYSTEM_CLOCK } from './http/middleware/request.ts';
import { notFound } from './http/not-found.ts';
import { endpointNotFound, methodNotAllowedProblem, problem, respondWithError } from './http/problems.ts';
import { createSettings } from './http/settings/index.tsx';
import type { Contribution } from './module.ts';

/** Creates the routes of the core and of the modules that are on. */
export function createApp(config: Config, contributions: readonly Contribution[], clock: Clock = SYSTEM_CLOCK) {
  const v1 = new Hono<AppEnv>();
  v1.route('/', ping);
  for (const routes of Object.values(RECORD_ROUTES)) v1.route('/', routes);
  const otherMethod = methodNotAllowed({
    app: v1,
    onMethodNotAllowed: (c, methods) => problem(c, ...methodNotAllowedProblem(c.req.method, methods)),
  });
  // With the ticket, for the log of refused requests.
  for (const path of ['/tickets/:ticketId/*', '*'])
    v1.all(path, otherMethod, ...guard(), (c) => problem(c, ...endpointNotFound(c.req.path)));

  const health = { status: config.mode === 'paused' ? 'paused' : 'ok', limits: limitsInWords(config) };

  // Pinned: the default SmartRouter silently falls back to a slower router. With this one, an unsupported path fails
  // every test.
  const root = () => new Hono<AppEnv>({ router: new RegExpRouter() }).onError(respondWithError);
  const first = [requestContext(config, contributions, clock), requestLog] as const;
  let settings: Hono<AppEnv> | undefined;

  const app = root()
    // Created at its first request, because a write needs none of its routes. It begins like the others.
    .all('/settings/*', (c) => {
      settings ??= root()
        .use(contextStorage(), ...first)
        .route('/settings', createSettings());
      return settings.fetch(c.req.raw, c.env, c.executionCtx);
    })
    .use(...first)
    // Shows that the Worker runs, and its limits. A ping with a key also reads the database.
    .get('/healthz', (c) => c.json(health))
    .use('/api/*', ...firstChecks())
    .route('/api/v1', v1);
  for (const { routes } of contributions) if (routes) app.route(routes.path, routes.app);
  // Addresses that do not exist have a limit of their own.
  return app.use(limitByIp('site')).notFound(notFound);
}
