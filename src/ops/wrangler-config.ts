import { readFileSync } from 'node:fs';
import { parse } from 'smol-toml';
import * as z from 'zod';

const shape = z.looseObject({
  name: z.string(),
  main: z.string(),
  compatibility_date: z.string(),
  compatibility_flags: z.array(z.string()),
  assets: z.looseObject({ directory: z.string() }),
  d1_databases: z.tuple([z.looseObject({ binding: z.string(), database_id: z.string(), migrations_dir: z.string() })]),
  observability: z.looseObject({ traces: z.looseObject({ enabled: z.boolean() }) }),
  durable_objects: z.object({ bindings: z.array(z.looseObject({ name: z.string(), class_name: z.string() })) }),
});

/** The file wrangler.toml. Read by ourselves: wrangler would take a second and 150 MiB more. */
export const wranglerConfig = shape.parse(parse(readFileSync('wrangler.toml', 'utf8')));

const { d1_databases: databases } = wranglerConfig;

/** The local database by its binding, as Miniflare takes them. */
export const LOCAL_RESOURCES = {
  d1Databases: Object.fromEntries(databases.map(({ binding, database_id }) => [binding, database_id])),
};
