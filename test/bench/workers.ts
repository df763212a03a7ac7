import { join } from 'node:path';
import { build } from 'esbuild';
import { convertV4MiniflareOptions, Miniflare } from 'miniflare';
import { wranglerConfig } from '../../src/ops/wrangler-config.ts';
import { bundleProduction, readBundle } from '../support/production-worker.ts';
import { DAY_LIMIT, KEY_PREFIX, REQUEST_LIMIT } from './limits.ts';

/** The services that the production bundle is compared with. */
const CONTENDERS = {
  floor: 'contenders/floor.ts',
  least: 'contenders/least.ts',
  same: 'contenders/same.ts',
  'better-auth': 'better-auth/worker.js',
} as const;

type Contender = keyof typeof CONTENDERS;
export type WorkerName = Contender | 'api';

export interface Workers {
  origin: (name: WorkerName) => Promise<URL>;
  database: () => Promise<D1Database>;
  dispose: () => Promise<void>;
}

/** The script of a Worker, and the texts that it imports. */
type Bundle = Awaited<ReturnType<typeof readBundle>>;

/**
 * Bundles the production worker as a deployment does, and its contenders alike, and starts all of
 * them in one workerd with real D1 and Durable Objects, each on a direct socket of its own: nothing
 * of Miniflare stands between the load and the workers.
 */
export async function startWorkers(
  directory: string,
  contenders: readonly Contender[] = ['floor', 'least', 'same'],
): Promise<Workers> {
  await bundleProduction(join(directory, 'api'));
  const others = contenders.map(async (name) => workerOptions(name, await bundleContender(name)));
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      resourcePersistencePath: join(directory, 'state'),
      cf: false,
      // The lines of requests are made and written, as in production, but not shown.
      handleStructuredLogs: ({ level, message }) => {
        if (level === 'error' || level === 'warn') console.error(message);
      },
      workers: [workerOptions('api', await readBundle(join(directory, 'api'))), ...(await Promise.all(others))],
    }),
  );
  await miniflare.ready;
  return {
    origin: (name) => miniflare.unsafeGetDirectURL(name),
    database: () => miniflare.getD1Database('DB', 'api'),
    dispose: () => miniflare.dispose(),
  };
}

function workerOptions(name: WorkerName, { script, texts }: Bundle) {
  const limiter = { RATE_LIMITER: { className: 'RateLimiter', useSQLite: true } };
  return {
    name,
    modules: [{ type: 'ESModule' as const, path: 'index.js', contents: script }, ...texts],
    compatibilityDate: wranglerConfig.compatibility_date,
    ...(name === 'better-auth'
      ? { compatibilityFlags: ['nodejs_compat'] }
      : { compatibilityFlags: wranglerConfig.compatibility_flags, durableObjects: limiter }),
    bindings: {
      KEY_PREFIX,
      IP_LIMIT: REQUEST_LIMIT,
      KEY_LIMIT: REQUEST_LIMIT,
      KEY_DAY_LIMIT: DAY_LIMIT,
      ORGANIZATION_DAY_LIMIT: DAY_LIMIT,
    },
    d1Databases: { DB: 'bench' },
    // The limiters store nothing; on a disk, the file of each new one would cost several fsync
    // before the first answer.
    unsafeEphemeralDurableObjects: true,
    unsafeDirectSockets: [{ host: '127.0.0.1', port: 0 }],
  };
}

async function bundleContender(name: Contender): Promise<Bundle> {
  const { outputFiles } = await build({
    entryPoints: [join(import.meta.dirname, CONTENDERS[name])],
    bundle: true,
    write: false,
    format: 'esm',
    target: 'es2024',
    minify: true,
    conditions: ['workerd', 'worker', 'browser'],
    external: ['cloudflare:*', 'node:*'],
    logLevel: 'error',
  });
  return { script: outputFiles[0]?.text ?? '', texts: [] };
}
