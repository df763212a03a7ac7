import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parse } from 'smol-toml';
import * as z from 'zod';

export const MAIN_CONFIG = 'wrangler.toml';
export const AGENTS_CONFIG = 'src/agents/wrangler.toml';

/** The file of the Worker for AI agents of a deployment: the same name in src/agents. */
export const agentsConfigOf = (file: string) => join('src/agents', basename(file));

const configShape = z.object({
  name: z.string(),
  d1_databases: z.array(z.object({ binding: z.string(), database_id: z.string() })),
  r2_buckets: z
    .array(z.object({ binding: z.string(), bucket_name: z.string(), jurisdiction: z.string().default('') }))
    .default([]),
  vars: z.record(z.string(), z.string()).default({}),
  build: z.object({ command: z.string() }).optional(),
});
type WranglerConfig = z.output<typeof configShape>;

export function readWranglerConfig(path: string): WranglerConfig {
  return configShape.parse(parse(readFileSync(path, 'utf8')));
}

/** Read by ourselves: wrangler would take a second and 150 MiB more. */
export const wranglerConfig = readWranglerConfig(MAIN_CONFIG);

export const databaseId = ({ d1_databases }: WranglerConfig) =>
  d1_databases.find(({ binding }) => binding === 'DB')?.database_id ?? '';

/** The name of the bucket of the archive; undefined if the deployment has none. */
export const archiveBucketName = ({ r2_buckets }: WranglerConfig) =>
  r2_buckets.find(({ binding }) => binding === 'ARCHIVE')?.bucket_name;
