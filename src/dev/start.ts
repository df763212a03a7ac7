// npm start: migrates the local database, imports the demo directory, makes a fresh demo key and serves the worker. Whatever follows
// `--` goes on to `wrangler dev`.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs, parseEnv } from 'node:util';
import { importDirectory } from '../cli/import/import-directory.ts';
import { withLocalD1, wranglerConfig } from '../cli/local.ts';
import { parseConfig } from '../config.ts';
import { timeOrderedId } from '../domain/record-id.ts';
import { SCOPE_IDS } from '../domain/scopes.ts';
import type { ActorContext, AdminActor } from '../services/context.ts';
import { createApiKey } from '../services/keys/create-key.ts';
import { revokeAsAdministrator } from '../services/keys/revoke-key.ts';

const DEMO_KEY_NAME = 'Local demo';
const READY_TIMEOUT_MS = 60_000;

process.env['WRANGLER_SEND_METRICS'] = 'false';
// Without the network, looking up Request.cf only costs a warning.
process.env['CLOUDFLARE_CF_FETCH_ENABLED'] = 'false';

const args = process.argv.slice(2);
const { values: options } = parseArgs({
  args,
  strict: false,
  options: {
    var: { type: 'string', multiple: true },
    port: { type: 'string' },
    ip: { type: 'string', default: 'localhost' },
    'persist-to': { type: 'string' },
  },
});
const persistTo = typeof options['persist-to'] === 'string' ? options['persist-to'] : undefined;
const host = options.ip === '0.0.0.0' || options.ip === '*' ? 'localhost' : options.ip;
const baseUrl = `http://${host}:${options.port ?? '8787'}`;

const DEV_VARS = '.dev.vars';
const devVars = existsSync(DEV_VARS) ? parseEnv(readFileSync(DEV_VARS, 'utf8')) : {};

const config = parseConfig({
  KEY_PREFIX: variable('KEY_PREFIX'),
  IP_LIMIT: variable('IP_LIMIT'),
  IP_LIMIT_OVERRIDES: variable('IP_LIMIT_OVERRIDES'),
  KEY_LIMIT: variable('KEY_LIMIT'),
  BLOCKED_KEYS: variable('BLOCKED_KEYS'),
  MODE: variable('MODE'),
  ADMIN_ISSUER: variable('ADMIN_ISSUER'),
  ADMIN_AUDIENCE: variable('ADMIN_AUDIENCE'),
  ADMIN_JWKS_URL: variable('ADMIN_JWKS_URL'),
  ADMIN_TOKEN_HEADER: variable('ADMIN_TOKEN_HEADER'),
});

// Wrangler would quietly take another port.
if (
  await fetch(baseUrl).then(
    () => true,
    () => false,
  )
) {
  console.error(`${baseUrl} is in use. End what runs there, or choose another port: npm start -- --port 8080`);
  process.exit(1);
}
await migrate();
const key = await withLocalD1(persistTo, prepareDemo);
await serve();

/** A variable as `wrangler dev` will see it: from `--var NAME:value`, else from .dev.vars, else from wrangler.toml. */
function variable(name: string): string {
  const given = [options.var].flat().findLast((pair) => typeof pair === 'string' && pair.startsWith(`${name}:`));
  return typeof given === 'string' ? given.slice(name.length + 1) : (devVars[name] ?? wranglerConfig.vars[name] ?? '');
}

function wrangler(...command: string[]): ChildProcess {
  return spawn('wrangler', command, { stdio: ['ignore', 'pipe', 'inherit'] });
}

async function migrate(): Promise<void> {
  const child = wrangler(
    'd1',
    'migrations',
    'apply',
    'DB',
    '--local',
    ...(persistTo ? ['--persist-to', persistTo] : []),
  );
  let output = '';
  child.stdout?.on('data', (chunk) => {
    output += chunk;
  });
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`the local database could not be migrated:\n${output}`);
}

/** Imports the demo directory, revokes the demo keys of earlier starts and returns a new one's value. */
async function prepareDemo(db: D1Database): Promise<string> {
  const directory = await importDirectory(
    db,
    await readFile(fileURLToPath(import.meta.resolve('./demo-directory.ndjson')), 'utf8'),
  );
  if (!directory.ok)
    throw new Error(directory.errors.map(({ at, subject, detail }) => `line ${at}, ${subject}: ${detail}`).join('\n'));

  const ctx: ActorContext<AdminActor> = {
    db,
    now: Date.now,
    deadlineAt: Date.now() + READY_TIMEOUT_MS,
    requestId: timeOrderedId(Date.now()),
    actor: { organizationId: 'northwind', userId: 'ada' },
    source: { address: null, userAgent: 'npm start' },
  };
  const { results } = await db
    .prepare('select id from api_keys where organization_id = ? and name = ? and revoked_at is null')
    .bind(ctx.actor.organizationId, DEMO_KEY_NAME)
    .all<{ id: string }>();
  for (const { id } of results) await revokeAsAdministrator(ctx, id);
  const created = await createApiKey(ctx, config.keyPrefix, { name: DEMO_KEY_NAME, scopes: [...SCOPE_IDS] });
  return created.value;
}

async function serve(): Promise<void> {
  // --test-scheduled keeps wrangler from advertising the daily job, which nobody waits for here.
  const server = wrangler(
    'dev',
    'src/dev/index.tsx',
    '--test-scheduled',
    '--show-interactive-dev-session=false',
    ...args,
  );
  server.stdout?.pipe(process.stdout);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => server.kill(signal));
  const ended = once(server, 'close').then(([code]) => {
    process.exitCode = code ?? 0;
    return 'ended' as const;
  });
  if ((await Promise.race([ended, answers()])) === 'answers') console.log(welcome());
  await ended;
}

async function answers(): Promise<'answers'> {
  const until = Date.now() + READY_TIMEOUT_MS;
  while (Date.now() < until) {
    const response = await fetch(`${baseUrl}/healthz`).catch(() => undefined);
    if (response?.ok) return 'answers';
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  throw new Error(`${baseUrl} did not answer within ${READY_TIMEOUT_MS / 1000} s`);
}

function welcome(): string {
  return `
Ready at ${baseUrl}. The key of this start, for the demo organization northwind (the one before it is revoked now):

  ${key}

Log 30 minutes on ticket 1001:

  curl -i ${baseUrl}/api/v1/tickets/1001/time-entries -H 'Authorization: Bearer ${key}' -H 'Content-Type: application/json' -H 'Idempotency-Key: first-try-${Date.now()}' -d '{"minutes": 30, "description": "Cleared the print queue", "billable": true}'

Send it twice: the second answer is the same entry, marked as a replay. Stop with Ctrl-C.

Create and watch keys as an administrator (here you sign in by choosing one):

  ${baseUrl}/settings
`;
}
