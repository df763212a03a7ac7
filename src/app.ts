import { Hono, type MiddlewareHandler } from 'hono';
import { methodNotAllowed } from 'hono/method-not-allowed';
import { RegExpRouter } from 'hono/router/reg-exp-router';
import type { Config } from './config.ts';
import { limitsInWords } from './domain/day-limit.ts';
import { RECORD_KIND_NAMES, type RecordKind } from './domain/record-kinds.ts';
import { ping } from './http/api/ping.ts';
import { notes, timeEntries } from './http/api/writes.ts';
import { respondWithError } from './http/error-response.ts';
import type { AppEnv, RunSpan } from './http/hono-env.ts';
import { firstChecks, guard } from './http/middleware/guard.ts';
import { limitByIp } from './http/middleware/limit-by-ip.ts';
import { requestContext } from './http/middleware/request-context.ts';
import { requestLog } from './http/middleware/request-log.ts';
import { notFound } from './http/not-found.ts';
import { endpointNotFound, methodNotAllowedProblem, problem } from './http/problems.ts';
import { createSettings } from './http/settings/index.tsx';
import type { Contribution } from './module.ts';

const RECORD_ROUTES: Readonly<Record<RecordKind, Hono<AppEnv>>> = { note: notes, time_entry: timeEntries };

/** The limit of an IP address for pages without a separate limit, and for paths that do not exist. */
function limitTheRest(contributions: readonly Contribution[]): MiddlewareHandler<AppEnv> {
  const limited = ['/api', ...contributions.flatMap(({ routes }) => routes?.path ?? [])];
  const limit = limitByIp('site');
  return function limitTheRest(c, next) {
    return limited.some((path) => `${c.req.path}/`.startsWith(`${path}/`)) ? next() : limit(c, next);
  };
}

/** Creates the routes of the core and of the modules that are on. `now` is the clock (UTC milliseconds). */
export function createApp(
  config: Config,
  contributions: readonly Contribution[],
  now: () => number = Date.now,
  span?: RunSpan,
) {
  const v1 = new Hono<AppEnv>();
  v1.use(
    methodNotAllowed({
      app: v1,
      onMethodNotAllowed: (c, methods) => problem(c, ...methodNotAllowedProblem(c.req.method, methods)),
    }),
  );
  v1.route('/', ping);
  for (const kind of RECORD_KIND_NAMES) v1.route('/', RECORD_ROUTES[kind]);
  v1.all('*', ...guard(), (c) => problem(c, ...endpointNotFound()));

  const modules = new Hono<AppEnv>();
  for (const { routes } of contributions) if (routes) modules.route(routes.path, routes.app);
  const health = { status: config.mode === 'paused' ? 'paused' : 'ok', limits: limitsInWords(config) };

  // Pinned: the default SmartRouter silently falls back to a slower router. With this one, an unsupported path fails
  // every test.
  const root = () => new Hono<AppEnv>({ router: new RegExpRouter() }).onError(respondWithError);
  const first = [requestContext(config, contributions, now, span), requestLog()] as const;
  let settings: Hono<AppEnv> | undefined;

  return (
    root()
      // Created at its first request, because a write needs none of its routes. It begins like the others.
      .all('/settings/*', (c) => {
        settings ??= root()
          .use(...first)
          .route('/settings', createSettings(contributions));
        return settings.fetch(c.req.raw, c.env, c.executionCtx);
      })
      .use(...first)
      // Shows that the Worker runs, and its limits. A ping with a key also checks database and limiters.
      .get('/healthz', (c) => c.json(health))
      .use(limitTheRest(contributions))
      .use('/api/*', ...firstChecks('api'))
      .route('/api/v1', v1)
      .route('/', modules)
      .notFound(notFound)
  );
}
