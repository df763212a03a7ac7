// A process of its own for the production worker, so that it can be killed. Started by production.ts.
import { once } from 'node:events';
import { serveProduction } from './production-worker.ts';

const miniflare = await serveProduction(JSON.parse(process.argv[2] ?? ''));
console.log('ready');
// Whoever started this ends it so, or has ended.
process.stdin.resume();
await once(process.stdin, 'end');
await miniflare.dispose();
