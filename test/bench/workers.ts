import { join } from 'node:path';
import { build } from 'esbuild';
import { convertV4MiniflareOptions, Miniflare } from 'miniflare';
import { wranglerConfig } from '../../src/ops/wrangler-config.ts';
import { bundleProduction, readBundle } from '../support/production-worker.ts';

/** Of the keys that are made here. */
export const KEY_PREFIX = 'bench';
/** No limit is reached. */
const UNLIMITED = '10000/1s';
/** Checked with each write, and never reached. */
const HIGHEST_DAY_LIMIT = '10000000/10000MB';

/** The script of a Worker, and the texts that it imports. */
interface Bundle {
  script: string;
  texts: { type: 'Text'; path: string; contents: string }[];
}

export type WorkerName = 'floor' | 'least' | 'api';

export interface Workers {
  origin: (name: WorkerName) => Promise<URL>;
  database: () => Promise<D1Database>;
  dispose: () => Promise<void>;
}

/**
 * Bundles the production worker as a deployment does, and its contenders alike, and starts all of
 * them in one workerd with real D1 and Durable Objects, each on a direct socket of its own: nothing
 * of Miniflare stands between the load and the workers.
 */
export async function startWorkers(directory: string): Promise<Workers> {
  await bundleProduction(join(directory, 'api'));
  const api = await readBundle(join(directory, 'api'));
  const [floor, least] = await Promise.all([bundleContender('floor'), bundleContender('least')]);
  const bundles = { floor, least, api };
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      resourcePersistencePath: join(directory, 'state'),
      cf: false,
      // The lines of requests are made and written, as in production, but not shown.
      handleStructuredLogs: ({ level, message }) => {
        if (level === 'error' || level === 'warn') console.error(message);
      },
      workers: Object.entries(bundles).map(([name, bundle]) => workerOptions(name, bundle)),
    }),
  );
  await miniflare.ready;
  return {
    origin: (name) => miniflare.unsafeGetDirectURL(name),
    database: () => miniflare.getD1Database('DB', 'api'),
    dispose: () => miniflare.dispose(),
  };
}

function workerOptions(name: string, { script, texts }: Bundle) {
  return {
    name,
    modules: [{ type: 'ESModule' as const, path: 'index.js', contents: script }, ...texts],
    compatibilityDate: wranglerConfig.compatibility_date,
    bindings: {
      KEY_PREFIX,
      IP_LIMIT: UNLIMITED,
      KEY_LIMIT: UNLIMITED,
      KEY_DAY_LIMIT: HIGHEST_DAY_LIMIT,
      ORGANIZATION_DAY_LIMIT: HIGHEST_DAY_LIMIT,
    },
    d1Databases: { DB: 'bench' },
    durableObjects: { RATE_LIMITER: { className: 'RateLimiter', useSQLite: true } },
    // The limiters store nothing; on a disk, the file of each new one would cost several fsync
    // before the first answer.
    unsafeEphemeralDurableObjects: true,
    unsafeDirectSockets: [{ host: '127.0.0.1', port: 0 }],
  };
}

async function bundleContender(name: string): Promise<Bundle> {
  const { outputFiles } = await build({
    entryPoints: [join(import.meta.dirname, 'contenders', `${name}.ts`)],
    bundle: true,
    write: false,
    format: 'esm',
    target: 'es2024',
    conditions: ['workerd', 'worker', 'browser'],
    external: ['cloudflare:*', 'node:*'],
    logLevel: 'error',
  });
  return { script: outputFiles[0]?.text ?? '', texts: [] };
}
