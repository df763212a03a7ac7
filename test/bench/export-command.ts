// npm run bench:export: downloads the largest CSV file of an audit log from a Worker in workerd and
// prints the processor time of Worker and database together. `-- --rows N`: fewer rows.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { build } from 'esbuild';
import { convertV4MiniflareOptions, Miniflare } from 'miniflare';
import { wranglerConfig } from '../../src/ops/wrangler-config.ts';
import { COMPATIBILITY_DATE } from '../support/compatibility-date.ts';
import { workerdMs } from './processor-time.ts';
import { ORGANIZATION, prepare } from './seed.ts';

const { values } = parseArgs({ options: { rows: { type: 'string', default: '1000000' } } });
const rows = Number(values.rows);
/** The processor time that such a file may take, in seconds. */
const MAX_SECONDS = 20;
const ROWS_PER_STATEMENT = 50_000;

const directory = await mkdtemp(join(tmpdir(), 'twb-export-'));
const { outputFiles } = await build({
  entryPoints: [join(import.meta.dirname, 'export-worker.ts')],
  bundle: true,
  write: false,
  format: 'esm',
  target: 'es2024',
  jsx: 'automatic',
  jsxImportSource: 'hono/jsx',
  conditions: ['workerd', 'worker', 'browser'],
  external: ['cloudflare:*', 'node:*'],
  loader: { '.txt': 'text' },
  logLevel: 'error',
});
const miniflare = new Miniflare(
  convertV4MiniflareOptions({
    resourcePersistencePath: directory,
    cf: false,
    modules: [{ type: 'ESModule', path: 'index.js', contents: outputFiles[0]?.text ?? '' }],
    compatibilityDate: COMPATIBILITY_DATE,
    bindings: wranglerConfig.vars,
    d1Databases: ['DB'],
    durableObjects: { RATE_LIMITER: { className: 'RateLimiter', useSQLite: true } },
  }),
);
try {
  await miniflare.ready;
  const db = await miniflare.getD1Database('DB');
  await prepare(db);
  for (let from = 1; from <= rows; from += ROWS_PER_STATEMENT) {
    const until = Math.min(rows, from + ROWS_PER_STATEMENT - 1);
    await db
      .prepare(
        `with recursive n(i) as (select ?2 union all select i + 1 from n where i < ?3)
         insert into audit_log (organization_id, seq, at, actor_type, actor_id, actor_name, action, target_id, ticket_id,
           request_id, idempotency_key, source_address, user_agent)
         select ?1, i, ?4 + i * 20000, 'api_key', 'a-key', 'n8n: triage', 'note.created', printf('0198c0de-0000-7000-8000-%012d', i),
           '1001', printf('0198c0de-0000-7000-9000-%012d', i), 'event-' || i, '192.0.2.1', 'n8n/1.100' from n`,
      )
      .bind(ORGANIZATION, from, until, Date.parse('2026-01-01'))
      .run();
  }
  const before = await workerdMs();
  const response = await miniflare.dispatchFetch(`http://localhost/settings/${ORGANIZATION}/audit.csv`);
  if (!response.ok || !response.body) throw new Error(`${response.status} ${await response.text()}`);
  let [bytes, lines] = [0, 0];
  for await (const chunk of response.body) {
    bytes += chunk.length;
    for (const byte of chunk) if (byte === 0x0a) lines += 1;
  }
  const seconds = ((await workerdMs()) - before) / 1000;
  console.log(`${lines - 1} rows, ${(bytes / 1e6).toFixed(0)} MB, ${seconds.toFixed(1)} s of processor time`);
  if (lines - 1 !== rows || (seconds * 1_000_000) / rows > MAX_SECONDS) process.exitCode = 1;
} finally {
  await miniflare.dispose();
  await rm(directory, { recursive: true, force: true });
}
