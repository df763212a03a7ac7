import { env } from 'cloudflare:workers';
import { createApp } from './app.ts';
import { parseConfig, unknownVariables } from './config.ts';
import { daily } from './daily.ts';
import { log } from './lib/log.ts';
import { notices } from './notices.ts';
import { SWEEP_CRON, sweep } from './sweep.ts';

export { Pusher } from './durable-objects/pusher.ts';
export { RateLimiter } from './durable-objects/rate-limiter.ts';
export { Directory } from './rpc/directory.ts';
export { Work } from './rpc/work.ts';

const config = parseConfig(env);
const app = createApp(config);
// Only names that look like a typing error: bindings and the deployment's own variables are unknown
// too.
const misspelled = unknownVariables(Object.keys(env)).filter(({ nearest }) => nearest !== undefined);

export default {
  fetch: (request, bindings, ctx) => {
    // During the first request: the platform does not say that it keeps what is logged before one.
    for (const variable of misspelled.splice(0)) log('warn', 'unknown_variable', variable);
    return app.fetch(request, bindings, ctx);
  },
  scheduled: async ({ cron }, { DB, PUSHER }) => {
    if (cron !== SWEEP_CRON) return daily(DB, config.databaseLimit);
    try {
      if (config.push) await sweep(DB, PUSHER);
    } finally {
      await notices(DB, config);
    }
  },
} satisfies ExportedHandler<Env>;
