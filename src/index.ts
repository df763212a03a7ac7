import { env } from 'cloudflare:workers';
import { createApp } from './app.ts';
import { parseConfig, unknownVariables } from './config.ts';
import { log } from './lib/log.ts';
import { requireArchive, scheduled } from './scheduled.ts';

export { RateLimiter } from './durable-objects/rate-limiter.ts';
export { Pusher } from './modules/push/pusher.ts';
export { Directory } from './rpc/directory.ts';
export { Work } from './rpc/work.ts';

const config = parseConfig(env);
requireArchive(env, config);
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
  scheduled: (event, bindings) => scheduled(event.cron, bindings, config),
} satisfies ExportedHandler<Env>;
