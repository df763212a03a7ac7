import { WorkerEntrypoint } from 'cloudflare:workers';
import { createApp } from './app.ts';
import { runJobs } from './jobs.ts';
import { fromCaller } from './rpc/api.ts';
import { config, contributions } from './startup.ts';

export { RateLimiter } from './durable-objects/rate-limiter.ts';
export { Pusher } from './modules/push/pusher.ts';
export { Connection } from './rpc/connection.ts';

const app = createApp(config, contributions);

/** The API for a Worker in front of it, which names the IP address of the caller. HTTP requests cannot reach it. */
export class Api extends WorkerEntrypoint<Env> {
  async send(request: Request, address: string | null): Promise<Response> {
    return app.fetch(fromCaller(request, address), this.env, this.ctx);
  }
}

export default {
  fetch: app.fetch,
  scheduled: ({ cron }, { DB }) => runJobs(cron, { db: DB, config, contributions }),
} satisfies ExportedHandler<Env>;
