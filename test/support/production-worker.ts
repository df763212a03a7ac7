import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { convertV4MiniflareOptions, Miniflare } from 'miniflare';
import { unstable_readConfig } from 'wrangler';

const run = promisify(execFile);

/** Bundles the worker into a directory, as a deployment does. */
export async function bundleProduction(outdir: string): Promise<void> {
  await run('wrangler', ['deploy', '--dry-run', '--outdir', outdir], {
    env: { ...process.env, WRANGLER_SEND_METRICS: 'false' },
  });
}

/** What a deployment would upload from that directory: the script and the texts that it imports. */
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
  /** The directory that it was bundled into. */
  bundle: string;
  /** Instead of those in wrangler.toml. */
  vars: Record<string, string>;
  /** 0 for any that is free. */
  port: number;
  /** Where the data are, as `--persist-to` has it; nowhere if it is left out. */
  persistTo?: string;
}

/** Serves the bundle on a direct socket of workerd: nothing of wrangler or Miniflare stands before it. */
export async function serveProduction({ bundle, vars, port, persistTo }: ProductionWorker): Promise<Miniflare> {
  const { script, texts } = await readBundle(bundle);
  const config = unstable_readConfig({ config: 'wrangler.toml' });
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      ...(persistTo === undefined
        ? { unsafeEphemeralDurableObjects: true }
        : { resourcePersistencePath: `${persistTo}/v3` }),
      cf: false,
      name: 'api',
      modules: [{ type: 'ESModule', path: 'index.js', contents: script }, ...texts],
      compatibilityDate: config.compatibility_date ?? '',
      compatibilityFlags: config.compatibility_flags,
      bindings: { ...config.vars, ...vars },
      d1Databases: { DB: config.d1_databases[0]?.database_id ?? '' },
      durableObjects: { RATE_LIMITER: { className: 'RateLimiter', useSQLite: true } },
      unsafeDirectSockets: [{ host: '127.0.0.1', port }],
      // A line for each request would be too many to read; what is wrong is shown.
      handleStructuredLogs: ({ level, message }) => {
        if (level === 'warn' || level === 'error') console.error(message);
      },
    }),
  );
  await miniflare.ready;
  return miniflare;
}
