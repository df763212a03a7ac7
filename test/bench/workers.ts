import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { convertV4MiniflareOptions, Miniflare } from 'miniflare';
import { unstable_readConfig } from 'wrangler';
import { bundleProduction, readBundle } from '../support/production-worker.ts';

const run = promisify(execFile);
const config = unstable_readConfig({ config: 'wrangler.toml' });

/**
 * The newest release of the plugin (November 2026), and the release of better-auth that it was made
 * with.
 */
const BETTER_AUTH = ['better-auth@1.7.5', '@better-auth/api-key@1.7.5'];

/** Of the keys that are made here. */
export const KEY_PREFIX = 'bench';
/** No limit bites where none is measured. */
const UNLIMITED = '10000/1s';
/** Checked with each write, and never reached. */
const HIGHEST_DAY_LIMIT = '10000000/10000MB';

/** The databases: one of a new deployment, and one with 1,000,000 time entries and 10,000 keys. */
export type Database = 'small' | 'large';

interface WorkerPlan {
  script: string;
  database: Database;
  ipLimit: string;
}

export type WorkerName = 'ok' | 'hono' | 'floor' | 'naive' | 'better-auth' | 'api' | 'api-limited' | 'api-large';

export interface Workers {
  withBetterAuth: boolean;
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
  const { script: api, texts } = await readBundle(join(directory, 'api'));
  const [ok, hono, floor, naive] = await Promise.all(
    ['ok', 'hono', 'floor', 'naive'].map((name) => bundleContender(name)),
  );
  const betterAuth = await bundleBetterAuth(join(directory, 'better-auth'));

  const plan = (script = '', database: Database = 'small', ipLimit = UNLIMITED): WorkerPlan => ({
    script,
    database,
    ipLimit,
  });
  const plans = new Map<WorkerName, WorkerPlan>([
    ['ok', plan(ok)],
    ['hono', plan(hono)],
    ['floor', plan(floor)],
    ['naive', plan(naive)],
    ['api', plan(api)],
    ['api-limited', plan(api, 'small', '1/10s')],
    ['api-large', plan(api, 'large')],
  ]);
  if (betterAuth) plans.set('better-auth', plan(betterAuth));

  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      resourcePersistencePath: join(directory, 'state'),
      cf: false,
      // The lines of requests are made and written, as in production, but not shown.
      handleStructuredLogs: ({ level, message }) => {
        if (level === 'error' || level === 'warn') console.error(message);
      },
      workers: [...plans].map(([name, { script, database, ipLimit }]) => ({
        name,
        modules: [{ type: 'ESModule' as const, path: 'index.js', contents: script }, ...(script === api ? texts : [])],
        compatibilityDate: config.compatibility_date ?? '',
        // What better-auth needs of node:async_hooks; the others do not notice.
        compatibilityFlags: name === 'better-auth' ? ['nodejs_compat'] : config.compatibility_flags,
        bindings: {
          ...config.vars,
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
      })),
    }),
  );
  await miniflare.ready;
  return {
    withBetterAuth: betterAuth !== undefined,
    origin: (name) => miniflare.unsafeGetDirectURL(name),
    database: (name) => miniflare.getD1Database('DB', name === 'large' ? 'api-large' : 'api'),
    dispose: () => miniflare.dispose(),
  };
}

/** `resolveDir`: where the packages of better-auth are. */
async function bundleContender(name: string, resolveDir?: string): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [join(import.meta.dirname, 'contenders', `${name}.ts`)],
    bundle: true,
    write: false,
    format: 'esm',
    target: 'es2024',
    conditions: ['workerd', 'worker', 'browser'],
    external: ['cloudflare:*', 'node:*'],
    logLevel: 'error',
    plugins: [
      {
        name: 'better-auth',
        setup: (plugin) =>
          plugin.onResolve({ filter: /^@?better-auth(\/|$)/ }, ({ path, kind, resolveDir: from }) =>
            resolveDir === undefined || from.startsWith(resolveDir)
              ? undefined
              : plugin.resolve(path, { kind, resolveDir }),
          ),
      },
    ],
  });
  return outputFiles[0]?.text ?? '';
}

/** Undefined, and a word about it, where npm cannot get the packages. */
async function bundleBetterAuth(directory: string): Promise<string | undefined> {
  try {
    await run('npm', [
      'install',
      '--prefix',
      directory,
      '--no-audit',
      '--no-fund',
      '--legacy-peer-deps',
      ...BETTER_AUTH,
    ]);
  } catch (err) {
    console.warn(
      `without better-auth, for its packages could not be installed: ${err instanceof Error ? err.message : err}`,
    );
    return undefined;
  }
  return bundleContender('better-auth', directory);
}
