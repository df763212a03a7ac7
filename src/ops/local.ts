import { convertV4MiniflareOptions, Miniflare } from 'miniflare';
import { type ObjectStore, objectStore } from '../lib/object-store.ts';
import { archiveBucketName, wranglerConfig } from './wrangler-config.ts';

/** Opens the database and the bucket that `wrangler dev` uses. `persistTo` is wrangler's own option. */
export async function withLocalD1<T>(
  persistTo: string | undefined,
  use: (db: D1Database, archive: ObjectStore | undefined) => Promise<T>,
  config = wranglerConfig,
): Promise<T> {
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      modules: true,
      script: 'export default {}',
      d1Databases: Object.fromEntries(config.d1_databases.map(({ binding, database_id }) => [binding, database_id])),
      r2Buckets: Object.fromEntries(config.r2_buckets.map(({ binding, bucket_name }) => [binding, bucket_name])),
      resourcePersistencePath: `${persistTo ?? '.wrangler/state'}/v3`,
    }),
  );
  try {
    const bucket = archiveBucketName(config) === undefined ? undefined : await miniflare.getR2Bucket('ARCHIVE');
    return await use(await miniflare.getD1Database('DB'), bucket && objectStore(bucket));
  } finally {
    await miniflare.dispose();
  }
}
