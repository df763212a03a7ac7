import { convertV4MiniflareOptions, Miniflare } from 'miniflare';
import { type ObjectStore, objectStore } from '../lib/object-store.ts';
import { LOCAL_RESOURCES } from './wrangler-config.ts';

/** Opens the database and the bucket that `wrangler dev` uses. `persistTo` is wrangler's own option. */
export async function withLocalD1<T>(
  persistTo: string | undefined,
  use: (db: D1Database, archive: ObjectStore) => Promise<T>,
): Promise<T> {
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      modules: true,
      script: 'export default {}',
      ...LOCAL_RESOURCES,
      resourcePersistencePath: `${persistTo ?? '.wrangler/state'}/v3`,
    }),
  );
  try {
    return await use(await miniflare.getD1Database('DB'), objectStore(await miniflare.getR2Bucket('ARCHIVE')));
  } finally {
    await miniflare.dispose();
  }
}
