// npm start: migrates the local database, imports the demo directory, creates a new demo key and
// serves the Worker. `--adapter PSA` adds an adapter; other arguments after `--` are passed on to `wrangler dev`.
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { parseArgs, parseEnv, stripVTControlCharacters } from 'node:util';
import { type Config, parseConfig, reader, SECRETS, VARIABLES } from '../config.ts';
import { addDays, dateIn } from '../domain/calendar.ts';
import { lastDayAllowed } from '../domain/key-rules.ts';
import { timeOrderedId } from '../domain/record-id.ts';
import { SCOPE_IDS } from '../domain/record-kinds.ts';
import { CommandFailure } from '../ops/failures.ts';
import { importDirectory } from '../ops/import/import-directory.ts';
import { removalAdvice, withLocalD1 } from '../ops/local.ts';
import { migrate, refuseOtherSchema } from '../ops/migrations.ts';
import { MODULE_SECRETS, MODULE_VARIABLES } from '../ops/modules.ts';
import { announce } from '../ops/wait.ts';
import { spawnWrangler } from '../ops/wrangler.ts';
import { query } from '../services/call-d1.ts';
import { administratorsTimeZone } from '../services/directory/administrators.ts';
import { getKeyRules } from '../services/keys/change-key-rules.ts';
import { createApiKey } from '../services/keys/create-key.ts';
import { revokeAsAdministrator } from '../services/keys/revoke-key.ts';
import type { AdminContext } from '../services/service-context.ts';
import { adapterDemo } from './adapter-demo.ts';
import { logDemoTime } from './demo-time.ts';
import { fireCronsUntil } from './fire-crons.ts';
import { findKeysNamed, forgetConnections } from './local-statements.ts';
import { untilReady } from './until-ready.ts';

const DEMO_KEY_NAME = 'Local demo';
/** A server that prints nothing for so long does not start any more, even on a slow machine. */
const STALLED_AFTER_MS = 5 * 60_000;
const OF_MODULES = new Map([...MODULE_VARIABLES, ...MODULE_SECRETS]);

// Offline, the lookup of Request.cf only produces a warning.
process.env['CLOUDFLARE_CF_FETCH_ENABLED'] = 'false';

const args = process.argv.slice(2);
const at = args.indexOf('--adapter');
const [, psa] = at === -1 ? [] : args.splice(at, 2);
const { values: options } = parseArgs({
  args,
  strict: false,
  options: {
    var: { type: 'string', multiple: true },
    'env-file': { type: 'string', multiple: true },
    port: { type: 'string' },
    ip: { type: 'string', default: 'localhost' },
    'persist-to': { type: 'string' },
  },
});
const persistTo = typeof options['persist-to'] === 'string' ? options['persist-to'] : undefined;
const envFiles = [options['env-file'] ?? []].flat().filter((path) => typeof path === 'string');
// Without the option, wrangler would also read variables from .env, which this script does not read.
process.env['CLOUDFLARE_LOAD_DEV_VARS_FROM_DOT_ENV'] = String(envFiles.length > 0);
const host = options.ip === '0.0.0.0' || options.ip === '*' ? 'localhost' : String(options.ip);
const port = Number(String(options.port ?? 8787));
if (!Number.isInteger(port) || port < 1 || port > 65_535)
  fail(`--port ${options.port} is not a port. Write a number from 1 to 65535: npm start -- --port 8080`);
const baseUrl = `http://${host}:${port}`;

const vars = readVariables();
const values = Object.fromEntries(Array.from(vars, ([name, { value }]) => [name, value]));
const config = readConfig();
const demo =
  at === -1 ? undefined : await adapterDemo(psa ?? '', values, port).catch((err: Error) => fail(err.message));
warnOfUnknownVariables();
// Wrangler would use another port without a message.
if (await isInUse())
  fail(`${baseUrl} is in use. End what runs there, or choose another port: npm start -- --port 8080`);
const key = await withLocalD1(persistTo, prepareDatabase).catch((err: unknown) => {
  if (err instanceof CommandFailure) return fail(err.message);
  throw err;
});
await serve();

/** Ends the start with one sentence, because a stack trace would hide it. */
function fail(message: string): never {
  console.error(message);
  process.exit(1);
}

/** As `wrangler dev`: `--env-file PATH` takes the place of .dev.vars, and `--var NAME:value` overrides both. */
function readVariables(): Map<string, { value: string; source: string }> {
  const given = [options.var].flat().filter((pair) => typeof pair === 'string');
  const files = envFiles.length > 0 ? envFiles : ['.dev.vars'].filter((path) => existsSync(path));
  const sources = {
    ...Object.fromEntries(files.map((path) => [path, Object.entries(parseEnv(readFileSync(path, 'utf8')))])),
    '--var': given.map((pair) => [pair.split(':', 1)[0] ?? '', pair.slice(pair.indexOf(':') + 1)] as const),
  };
  return new Map(
    Object.entries(sources).flatMap(([source, entries]) =>
      entries.map(([name, value = '']) => [name, { value, source }] as const),
    ),
  );
}

function readConfig(): Config {
  try {
    for (const [name, parse] of OF_MODULES) reader(values)(name, parse);
    return parseConfig(values);
  } catch (err) {
    if (!(err instanceof Error)) throw err;
    return fail(err.message);
  }
}

function warnOfUnknownVariables(): void {
  const known = new Set<string>([...VARIABLES, ...SECRETS, ...OF_MODULES.keys(), ...(demo?.known ?? [])]);
  for (const [name, { source }] of vars)
    if (!known.has(name))
      console.error(`Warning: ${name} (${source}) is not a variable of this service, and has no effect.`);
}

function isInUse(): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, host);
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}

/** Returns the new demo key. @throws CommandFailure if the database has another schema */
async function prepareDatabase(db: D1Database): Promise<string> {
  await refuseOtherSchema(db, removalAdvice(persistTo));
  await migrate(db);
  return prepareDemo(db);
}

async function prepareDemo(db: D1Database): Promise<string> {
  const directory = await importDirectory(
    db,
    (await readFile(fileURLToPath(import.meta.resolve('./demo-directory.ndjson')), 'utf8')) + (demo?.directory ?? ''),
    // A developer may have tried an erasure.
    { recreate: true },
  );
  if (!directory.ok)
    throw new Error(directory.errors.map(({ at, subject, detail }) => `line ${at}, ${subject}: ${detail}`).join('\n'));

  const ctx: AdminContext = {
    db,
    now: Date.now,
    deadlineAt: Date.now() + STALLED_AFTER_MS,
    requestId: timeOrderedId(Date.now()),
    actor: demo?.actor ?? { organizationId: 'northwind', userId: 'ada' },
    source: { address: null, userAgent: 'npm start' },
  };
  const earlier = await query(ctx, 'nothing_written', (d1) =>
    findKeysNamed(d1, ctx.actor.organizationId, DEMO_KEY_NAME),
  );
  for (const { id } of earlier) await revokeAsAdministrator(ctx, id);
  // The adapter of an earlier start would be reported as silent.
  await query(ctx, 'safe_to_repeat', forgetConnections);
  // A developer may have tried the key rules.
  const rules = await getKeyRules(ctx);
  const today = dateIn(await administratorsTimeZone(ctx), ctx.now());
  const created = await createApiKey(ctx, config.keyPrefix, {
    name: DEMO_KEY_NAME,
    scopes: [...SCOPE_IDS],
    ...(rules.expiryRequired && { expires: lastDayAllowed(rules, today) ?? addDays(today, 365) }),
  });
  if (!demo) await logDemoTime(ctx, created.value);
  return created.value;
}

async function serve(): Promise<void> {
  // --test-scheduled adds the address that fires a cron trigger.
  // The local runtime has no jurisdictions.
  const flags = ['--test-scheduled', '--show-interactive-dev-session=false', '--var', 'JURISDICTION:'];
  // Wrangler looks for the local data beside its configuration.
  if (demo && persistTo === undefined) flags.push('--persist-to', '.wrangler/state');
  const entry = demo ? ['-c', demo.path] : ['src/dev/index.tsx'];
  const server = spawnWrangler(['dev', ...entry, ...flags, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => server.kill(signal));
  let heardAt = Date.now();
  const ended = once(server, 'close').then(([code]) => {
    process.exitCode ||= code ?? 0;
    heardAt = 0;
    return 'ended' as const;
  });
  for (const stream of [server.stdout, server.stderr]) stream?.on('data', () => (heardAt = Date.now()));
  server.stderr?.pipe(process.stderr);
  const early = printLines(server.stdout);
  const outcome = await announce(console.log, `Starting ${baseUrl}`, () =>
    Promise.race([ended, untilReady(`${baseUrl}/dev/ready`, () => heardAt, STALLED_AFTER_MS)]),
  );
  const lines = early();
  if (outcome === 'ready') {
    console.log(welcome());
    fireCronsUntil(ended, baseUrl);
    return void (await ended);
  }
  console.error(lines.join('\n'));
  if (outcome === 'stalled') {
    console.error(
      `${baseUrl} does not answer, and wrangler has printed nothing for five minutes. Run npm start again.`,
    );
    process.exitCode = 1;
    server.kill();
  }
  await ended;
}

/**
 * Prints what a server prints once the returned function is called, which returns what it printed before: a list of
 * bindings, which helps only if it does not start.
 */
function printLines(stdout: Readable | null): () => string[] {
  let early: string[] | undefined = [];
  if (stdout)
    createInterface({ input: stdout }).on('line', (line) => {
      if (early) early.push(line);
      else if (!isWranglerInfo(line)) console.log(line);
    });
  return () => {
    const lines = early ?? [];
    early = undefined;
    return lines;
  };
}

/** Wrangler's request lines, ready message and build command, which no option omits. */
function isWranglerInfo(line: string): boolean {
  return /^\[(wrangler:info|custom build\] Running)/.test(stripVTControlCharacters(line));
}

function welcome(): string {
  const { actor, ticketId = '1001', fake } = demo ?? {};
  const curl = (path: string, body: string, ticket = ticketId) =>
    `  curl -i ${baseUrl}/api/v1/tickets/${ticket}/${path} -H 'Authorization: Bearer ${key}' -H 'Content-Type: application/json' -H 'Idempotency-Key: first-try-${ticket}-${Date.now()}' -d '${body}'`;
  const env = Object.entries(fake?.env ?? {}).map(([name, value]) => `${name}="${value}"`);
  const settings = `The settings of the fake, also for adapter:doctor:\n\n  ${env.join('\n  ')}\n\n`;
  const newTicket = `Create a ticket in the fake, and write to it immediately: the request waits until the adapter has sent the ticket.

  curl -X POST ${fake?.url}/tickets/600
${curl('notes', '{"message": "New ticket read."}', '600')}

`;
  return `
Ready. A new key for the demo organization ${actor?.organizationId ?? 'northwind'} (the key of the previous start is revoked):

  ${key}

${demo ? 'Once the adapter is connected (about 15 seconds), write' : 'Write'} a note on ticket ${ticketId}. Send it twice: the second response is the same note, marked as a replay.

${curl('notes', '{"message": "Disk was full, old logs removed."}')}

${fake ? settings : ''}Log 30 minutes on the ticket. Then approve it: open ${fake ? `${fake.url}/approve` : 'the settings, choose Ada, and open Time'}.

${curl('time-entries', '{"minutes": 30, "description": "Removed old logs", "billable": true}')}

${fake ? newTicket : ''}  API            ${baseUrl}/api/v1
  Documentation  ${baseUrl}/docs
  AI agents      ${baseUrl}/mcp   (settings of clients: ${baseUrl}/docs/agents)
  Your PSA       ${baseUrl}/psa   (${vars.get('PSA_SECRET')?.value ? 'PSA_SECRET is set' : '404 without PSA_SECRET'}; see ${baseUrl}/docs/psa)
  Settings       ${baseUrl}/settings   (sign in by choosing an administrator)

Stop with Ctrl-C.
`;
}
