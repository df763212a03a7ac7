import { join } from 'node:path';
import { build } from 'esbuild';
import { convertV4MiniflareOptions, Miniflare } from 'miniflare';
import { wranglerConfig } from '../../src/ops/wrangler-config.ts';
import { bundleProduction, readBundle } from '../support/production-worker.ts';

/** Of the keys that are made here. */
export const KEY_PREFIX = 'bench';
/** No limit bites where none is measured. */
const UNLIMITED = '10000/1s';
/** Checked with each write, and never reached. */
const HIGHEST_DAY_LIMIT = '10000000/10000MB';

/** The databases: one of a new deployment, and one with 1,000,000 time entries and 10,000 keys. */
type Database = 'small' | 'large';

/** The script of a Worker, and the texts that it imports. */
interface Bundle {
  script: string;
  texts: { type: 'Text'; path: string; contents: string }[];
}

interface WorkerPlan extends Bundle {
  database: Database;
  ipLimit: string;
}

export type WorkerName = 'hono' | 'floor' | 'least' | 'api' | 'api-limited' | 'api-large';

export interface Workers {
  origin: (name: WorkerName) => Promise<URL>;
  database: (name: Database) => Promise<D1Database>;
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
  const [hono, floor, least] = await Promise.all([
    bundleContender('hono'),
    bundleContender('floor'),
    bundleContender('least'),
  ]);

  const plan = (bundle: Bundle, database: Database = 'small', ipLimit = UNLIMITED): WorkerPlan => ({
    ...bundle,
    database,
    ipLimit,
  });
  const plans = new Map<WorkerName, WorkerPlan>([
    ['hono', plan(hono)],
    ['floor', plan(floor)],
    ['least', plan(least)],
    ['api', plan(api)],
    ['api-limited', plan(api, 'small', '1/10s')],
    ['api-large', plan(api, 'large')],
  ]);

  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      resourcePersistencePath: join(directory, 'state'),
      cf: false,
      // The lines of requests are made and written, as in production, but not shown.
      handleStructuredLogs: ({ level, message }) => {
        if (level === 'error' || level === 'warn') console.error(message);
      },
      workers: [...plans].map(([name, plan]) => workerOptions(name, plan)),
    }),
  );
  await miniflare.ready;
  return {
    origin: (name) => miniflare.unsafeGetDirectURL(name),
    database: (name) => miniflare.getD1Database('DB', name === 'large' ? 'api-large' : 'api'),
    dispose: () => miniflare.dispose(),
  };
}

function workerOptions(name: string, { script, texts, database, ipLimit }: WorkerPlan) {
  return {
    name,
    modules: [{ type: 'ESModule' as const, path: 'index.js', contents: script }, ...texts],
    compatibilityDate: wranglerConfig.compatibility_date,
    bindings: {
      KEY_PREFIX,
      IP_LIMIT: ipLimit,
      KEY_LIMIT: UNLIMITED,
      KEY_DAY_LIMIT: HIGHEST_DAY_LIMIT,
      ORGANIZATION_DAY_LIMIT: HIGHEST_DAY_LIMIT,
    },
    d1Databases: { DB: database },
    ...(script.includes('RateLimiter')
      ? { durableObjects: { RATE_LIMITER: { className: 'RateLimiter', useSQLite: true } } }
      : {}),
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
