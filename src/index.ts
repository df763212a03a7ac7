import { env } from 'cloudflare:workers';
import { createApp } from './app.ts';
import { parseConfig } from './config.ts';
import { daily } from './daily.ts';

export { RateLimiter } from './durable-objects/rate-limiter.ts';
export { Directory } from './rpc/directory.ts';
export { Work } from './rpc/work.ts';

const app = createApp(parseConfig(env));

export default {
  fetch: app.fetch,
  scheduled: (_event, { DB }) => daily(DB),
} satisfies ExportedHandler<Env>;
