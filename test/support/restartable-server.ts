// Serves the production bundle on a socket of workerd's own, with nothing of Miniflare's in between. Started by restartable.ts.
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { convertV4MiniflareOptions, Miniflare } from 'miniflare';
import type { ServerOptions } from './restartable.ts';

const { bundle, persistTo, port, compatibilityDate, databaseId, vars }: ServerOptions = JSON.parse(process.argv[2] ?? '');

const texts = (await readdir(bundle)).filter((name) => name.endsWith('.txt'));
const miniflare = new Miniflare(
  convertV4MiniflareOptions({
    resourcePersistencePath: `${persistTo}/v3`,
    cf: false,
    modulesRoot: bundle,
    modules: [
      { type: 'ESModule' as const, path: join(bundle, 'index.js') },
      ...texts.map((name) => ({ type: 'Text' as const, path: join(bundle, name) })),
    ],
    compatibilityDate,
    bindings: vars,
    d1Databases: { DB: databaseId },
    durableObjects: { RATE_LIMITER: { className: 'RateLimiter', useSQLite: true } },
    unsafeDirectSockets: [{ host: '127.0.0.1', port }],
  }),
);
await miniflare.ready;
console.log('ready');
// Whoever started this ends it so, or has ended.
process.stdin.resume();
await once(process.stdin, 'end');
await miniflare.dispose();
