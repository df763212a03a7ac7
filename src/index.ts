import { createApp } from './app.ts';
import { config, contributions } from './deployment.ts';
import { runJobs } from './jobs.ts';

export { RateLimiter } from './durable-objects/rate-limiter.ts';
export { Pusher } from './modules/push/pusher.ts';
export { Connection } from './rpc/connection.ts';
export { Directory } from './rpc/directory.ts';
export { Work } from './rpc/work.ts';

const app = createApp(config, contributions);

export default {
  fetch: app.fetch,
  scheduled: ({ cron }, { DB }) => runJobs(cron, { db: DB, config, contributions }),
} satisfies ExportedHandler<Env>;
