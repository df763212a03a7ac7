// Serves the production Worker in a process of its own, so that it can be killed. Started by
// restartable.ts.
import { once } from 'node:events';
import { serveProduction } from '../support/production-worker.ts';

const miniflare = await serveProduction(JSON.parse(process.argv[2] ?? ''));
console.log('ready');
// The standard input ends when the parent process stops the server, or ends itself.
process.stdin.resume();
await once(process.stdin, 'end');
await miniflare.dispose();
