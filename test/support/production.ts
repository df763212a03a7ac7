import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { convertV4MiniflareOptions, Miniflare } from 'miniflare';
import { unstable_readConfig } from 'wrangler';
import { makeKeys, prepare } from '../bench/seed.ts';
import { bundleProduction, KEY_PREFIX } from '../bench/workers.ts';

/**
 * The production bundle in a workerd of its own, with the demo directory and one key, on a direct socket: nothing of wrangler or Miniflare
 * stands before it. `vars` replace those of wrangler.toml.
 */
export async function startProduction(vars: Partial<Cloudflare.Env> = {}) {
  const directory = await mkdtemp(join(tmpdir(), 'twb-production-'));
  const config = unstable_readConfig({ config: 'wrangler.toml' });
  const { script, texts } = await bundleProduction(directory);
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      cf: false,
      name: 'api',
      modules: [{ type: 'ESModule', path: 'index.js', contents: script }, ...texts],
      compatibilityDate: config.compatibility_date ?? '',
      compatibilityFlags: config.compatibility_flags,
      bindings: { ...config.vars, KEY_PREFIX, ...vars },
      d1Databases: { DB: 'DB' },
      durableObjects: { RATE_LIMITER: { className: 'RateLimiter', useSQLite: true } },
      unsafeEphemeralDurableObjects: true,
      unsafeDirectSockets: [{ host: '127.0.0.1', port: 0 }],
    }),
  );
  const url = await miniflare.unsafeGetDirectURL('api');
  const db = await miniflare.getD1Database('DB', 'api');
  await prepare(db);
  const [key] = await makeKeys(db, 1);
  return {
    url,
    db,
    key: key?.value ?? '',
    close: async () => {
      await miniflare.dispose();
      await rm(directory, { recursive: true });
    },
  };
}
