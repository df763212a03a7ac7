import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { convertV4MiniflareOptions, Miniflare } from 'miniflare';
import { LOCAL_RESOURCES, wranglerConfig } from '../../src/ops/wrangler-config.ts';

const run = promisify(execFile);

/** Runs `npm run build`: its output directory, exit code and all that it printed. */
export async function buildProduction(): Promise<{ outdir: string; code: number | null; output: string }> {
  const child = spawn('npm', ['run', 'build'], { stdio: ['ignore', 'pipe', 'pipe'] });
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { outdir: resolve('dist'), code, output: stdout + stderr };
}

/**
 * Bundles the Worker into a directory as a deployment does, for scripts that run without the tests.
 */
export async function bundleProduction(outdir: string): Promise<void> {
  await run('wrangler', ['deploy', '--dry-run', '--outdir', outdir], {
    env: { ...process.env, WRANGLER_SEND_METRICS: 'false' },
  });
}

/**
 * The files of that directory that a deployment uploads: the script and the texts that it imports.
 */
export async function readBundle(directory: string) {
  const names = (await readdir(directory)).filter((name) => name.endsWith('.txt'));
  const texts = names.map(async (path) => ({
    type: 'Text' as const,
    path,
    contents: await readFile(join(directory, path), 'utf8'),
  }));
  return { script: await readFile(join(directory, 'index.js'), 'utf8'), texts: await Promise.all(texts) };
}

export interface ProductionWorker {
  /** The directory with the bundle. */
  bundle: string;
  vars: Record<string, string>;
  /** 0 for any free port. */
  port: number;
  /** The directory of the data, as wrangler's `--persist-to` takes it. */
  persistTo: string;
  /** Whether the Durable Objects are in memory: on a disk, the file of each new limiter would take longer. */
  objectsInMemory?: boolean;
  /**
   * Another Worker in the same workerd, with the same database: the file of its script. An adapter also has
   * variables, and the properties of its binding.
   */
  beside?: { script: string; port: number; vars?: Record<string, string>; props?: Record<string, unknown> };
}

/**
 * Serves the bundle on a direct socket of workerd, without the proxies of wrangler and Miniflare.
 */
export async function serveProduction({
  bundle,
  vars,
  port,
  persistTo,
  objectsInMemory = false,
  beside,
}: ProductionWorker): Promise<Miniflare> {
  const { script, texts } = await readBundle(bundle);
  const worker = (name: string, contents: string, at: number) => ({
    name,
    modules: [{ type: 'ESModule' as const, path: 'index.js', contents }, ...texts],
    compatibilityDate: wranglerConfig.compatibility_date,
    compatibilityFlags: wranglerConfig.compatibility_flags,
    ...LOCAL_RESOURCES,
    unsafeDirectSockets: [{ host: '127.0.0.1', port: at }],
  });
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      resourcePersistencePath: `${persistTo}/v3`,
      cf: false,
      workers: [
        {
          ...worker('api', script, port),
          bindings: vars,
          unsafeEphemeralDurableObjects: objectsInMemory,
          durableObjects: {
            RATE_LIMITER: { className: 'RateLimiter', useSQLite: true },
            PUSHER: { className: 'Pusher', useSQLite: true },
          },
        },
        ...(beside
          ? [
              {
                ...worker('beside', await readFile(beside.script, 'utf8'), beside.port),
                bindings: beside.vars ?? {},
                ...(beside.props && {
                  durableObjects: { ADAPTER_OBJECT: { className: 'Adapter', useSQLite: true } },
                  serviceBindings: { CONNECTION: { name: 'api', entrypoint: 'Connection', props: beside.props } },
                }),
              },
            ]
          : []),
      ],
      // Only problems are shown: the Worker logs a line for each request.
      handleStructuredLogs: ({ level, message }) => {
        if (level === 'warn' || level === 'error') console.error(message);
      },
    }),
  );
  await miniflare.ready;
  return miniflare;
}
