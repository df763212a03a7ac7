import { convertV4MiniflareOptions, Miniflare } from 'miniflare';
import { type ObjectStore, objectStore } from '../lib/object-store.ts';
import { LOCAL_RESOURCES } from './wrangler-config.ts';

/** The folder of the local database, bucket and Durable Objects. `persistTo` is wrangler's own option. */
const stateFolder = (persistTo: string | undefined) => `${persistTo ?? '.wrangler/state'}/v3`;

/** How to remove the local data, in a sentence of an error message. */
export const removalAdvice = (persistTo: string | undefined) =>
  `To remove it with its data: rm -r ${stateFolder(persistTo)}`;

/** Opens the database and the bucket that `wrangler dev` uses. */
export async function withLocalD1<T>(
  persistTo: string | undefined,
  use: (db: D1Database, archive: ObjectStore) => Promise<T>,
): Promise<T> {
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      modules: true,
      script: 'export default {}',
      ...LOCAL_RESOURCES,
      // A call that fails has an error of its own; the runtime's lines would add a stack to it.
      handleStructuredLogs: () => undefined,
      resourcePersistencePath: stateFolder(persistTo),
    }),
  );
  try {
    return await use(await miniflare.getD1Database('DB'), objectStore(await miniflare.getR2Bucket('ARCHIVE')));
  } finally {
    await miniflare.dispose();
  }
}
