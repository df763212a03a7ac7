import { env } from 'cloudflare:workers';
import { createApp } from './app.ts';
import { parseSettings } from './env.ts';

export { RateLimiter } from './durable-objects/rate-limiter.ts';
export { Directory } from './rpc/directory.ts';
export { Work } from './rpc/work.ts';

export default createApp(parseSettings(env));
