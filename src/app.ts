import { Hono } from 'hono';
import { methodNotAllowed } from 'hono/method-not-allowed';
import { RegExpRouter } from 'hono/router/reg-exp-router';
import type { AppEnv, Settings } from './env.ts';
import { notes } from './http/api/notes.ts';
import { ping } from './http/api/ping.ts';
import { timeEntries } from './http/api/time-entries.ts';
import { openapi } from './http/api/openapi.ts';
import { docs } from './http/docs/routes.tsx';
import { guardUnknown } from './http/guard.ts';
import { ipLimit } from './http/middleware/ip-limit.ts';
import { keyExpiry } from './http/middleware/key-expiry.ts';
import { pause } from './http/middleware/pause.ts';
import { refusedUses } from './http/middleware/refused-uses.ts';
import { requestContext } from './http/middleware/request-context.ts';
import { requestLog } from './http/middleware/request-log.ts';
import { answerError, problem } from './http/problem.ts';
import { settingsAssets } from './http/settings/assets.ts';
import { createSettings } from './http/settings/index.tsx';

/**
 * The map of the worker. `now` is the clock (UTC milliseconds) by which keys expire and work dates are reckoned.
 */
export function createApp(settings: Settings, now: () => number = Date.now) {
  const v1 = new Hono<AppEnv>();
  v1.use(
    methodNotAllowed({
      app: v1,
      onMethodNotAllowed: (c, methods) => {
        const allow = methods.join(', ');
        return problem(c, 'method_not_allowed', `${c.req.method} is not possible at this address; use ${allow}.`, {
          headers: { Allow: allow },
        });
      },
    }),
  );
  v1.get('/openapi.json', openapi(settings));
  v1.route('/', ping);
  v1.route('/', notes);
  v1.route('/', timeEntries);
  v1.all('*', ...guardUnknown(), (c) => problem(c, 'not_found', 'There is no such address in this API; check the path.'));

  return (
    // Named, for Hono would quietly take a slower router once an address is added that this one cannot tell apart; so it fails in every test.
    new Hono<AppEnv>({ router: new RegExpRouter() })
      .use(requestContext(settings, now), requestLog())
      // Whether the worker runs, and no more: what it stands on is checked by a ping with a key.
      .get('/healthz', (c) => c.json({ status: settings.mode === 'paused' ? 'paused' : 'ok' }))
      .use('/api/*', pause(), keyExpiry(), refusedUses(), ipLimit())
      .route('/api/v1', v1)
      .route('/', docs)
      .route('/', settingsAssets)
      .route('/settings', createSettings())
      .notFound((c) => problem(c, 'not_found', 'There is nothing at this address; the API is at /api/v1.'))
      .onError(answerError)
  );
}
