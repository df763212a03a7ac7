import { readFileSync } from 'node:fs';
import { convertV4MiniflareOptions, Miniflare } from 'miniflare';
import { parse } from 'smol-toml';
import * as z from 'zod';

const configShape = z.object({
  d1_databases: z.array(z.object({ binding: z.string(), database_id: z.string() })),
  vars: z.record(z.string(), z.string()),
});

/**
 * The parts of wrangler.toml that a script needs. Reading them with wrangler would take a second
 * and 150 MiB more.
 */
export const wranglerConfig = configShape.parse(parse(readFileSync('wrangler.toml', 'utf8')));

/**
 * Opens the D1 database that `wrangler dev` uses, for as long as `use` runs. `persistTo` is
 * wrangler's own option.
 */
export async function withLocalD1<T>(persistTo: string | undefined, use: (db: D1Database) => Promise<T>): Promise<T> {
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      modules: true,
      script: 'export default {}',
      d1Databases: Object.fromEntries(
        wranglerConfig.d1_databases.map(({ binding, database_id }) => [binding, database_id]),
      ),
      resourcePersistencePath: `${persistTo ?? '.wrangler/state'}/v3`,
    }),
  );
  try {
    return await use(await miniflare.getD1Database('DB'));
  } finally {
    await miniflare.dispose();
  }
}
