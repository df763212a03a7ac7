import { readFile } from 'node:fs/promises';
import { parse } from 'smol-toml';
import { expect, test } from 'vitest';
import * as z from 'zod';

const shape = z.object({
  name: z.string(),
  compatibility_date: z.string(),
  compatibility_flags: z.array(z.string()).default([]),
  minify: z.boolean(),
  keep_names: z.boolean(),
  upload_source_maps: z.boolean(),
  workers_dev: z.boolean(),
  preview_urls: z.boolean(),
  d1_databases: z.array(
    z.object({ binding: z.string(), database_name: z.string(), database_id: z.string() }).catchall(z.unknown()),
  ),
  durable_objects: z.object({
    bindings: z.array(z.object({ name: z.string(), class_name: z.string(), script_name: z.string().optional() })),
  }),
  observability: z.unknown(),
});

const read = async (path: string) => shape.parse(parse(await readFile(path, 'utf8')));
const main = await read('wrangler.toml');
const agents = await read('src/agents/wrangler.toml');

test('the Worker for AI agents shares the settings of the main Worker', () => {
  const settings = ({ name, d1_databases, durable_objects, ...others }: z.output<typeof shape>) => others;
  expect(settings(agents)).toEqual(settings(main));
});

test('both Workers use one database and the same objects', () => {
  const database = ({ d1_databases: [first] }: z.output<typeof shape>) => [first?.binding, first?.database_id];
  expect(database(agents)).toEqual(database(main));
  expect(agents.durable_objects.bindings).toEqual(
    main.durable_objects.bindings.map((object) => ({ ...object, script_name: main.name })),
  );
});
