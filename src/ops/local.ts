import { readFileSync } from 'node:fs';
import { convertV4MiniflareOptions, Miniflare } from 'miniflare';
import { parse } from 'smol-toml';
import * as z from 'zod';
import { type ObjectStore, objectStore } from '../lib/object-store.ts';

/** The configuration of the Worker that takes the writes, and of that for AI agents. */
export const MAIN_CONFIG = 'wrangler.toml';
export const AGENTS_CONFIG = 'src/agents/wrangler.toml';

const configShape = z.object({
  name: z.string(),
  d1_databases: z.array(z.object({ binding: z.string(), database_id: z.string() })),
  r2_buckets: z.array(z.object({ binding: z.string(), bucket_name: z.string() })).default([]),
  vars: z.record(z.string(), z.string()),
});

/** Reads the parts of a wrangler.toml that a script needs. */
export function readWranglerConfig(path: string) {
  return configShape.parse(parse(readFileSync(path, 'utf8')));
}

/**
 * The parts of the main Worker's wrangler.toml. Reading them with wrangler would take a second
 * and 150 MiB more.
 */
export const wranglerConfig = readWranglerConfig(MAIN_CONFIG);

/** The name of the bucket of the archive; undefined if the deployment has none. */
export const archiveBucketName = wranglerConfig.r2_buckets.find(({ binding }) => binding === 'ARCHIVE')?.bucket_name;

/**
 * Opens the D1 database that `wrangler dev` uses, and the bucket of the archive, for as long as `use`
 * runs. `persistTo` is wrangler's own option.
 */
export async function withLocalD1<T>(
  persistTo: string | undefined,
  use: (db: D1Database, archive: ObjectStore | undefined) => Promise<T>,
): Promise<T> {
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      modules: true,
      script: 'export default {}',
      d1Databases: Object.fromEntries(
        wranglerConfig.d1_databases.map(({ binding, database_id }) => [binding, database_id]),
      ),
      r2Buckets: Object.fromEntries(
        wranglerConfig.r2_buckets.map(({ binding, bucket_name }) => [binding, bucket_name]),
      ),
      resourcePersistencePath: `${persistTo ?? '.wrangler/state'}/v3`,
    }),
  );
  try {
    const bucket = archiveBucketName === undefined ? undefined : await miniflare.getR2Bucket('ARCHIVE');
    return await use(await miniflare.getD1Database('DB'), bucket && objectStore(bucket));
  } finally {
    await miniflare.dispose();
  }
}
