import { Command, Option, type OptionValues } from '@commander-js/extra-typings';
import { D1Failure } from '../db/run-d1.ts';
import { parseCursor } from '../domain/change-cursor.ts';
import { ServiceError } from '../domain/errors.ts';
import { timeOrderedId } from '../domain/record-id.ts';
import type { ObjectStore } from '../lib/object-store.ts';
import type { ActorContext, Ports, SystemActor } from '../services/service-context.ts';
import { printable } from './printable.ts';
import { archiveBucketName, databaseId, MAIN_CONFIG, readWranglerConfig } from './wrangler-config.ts';

const DEADLINE_MS = 60_000;

/** Thrown for a wrong call: the message is followed by the usage, and the exit code is 2. */
export class UsageError extends Error {
  override name = 'UsageError';
}

/** An expected failure: the operator sees only the message, and the exit code is 1. */
export class CommandFailure extends Error {
  override name = 'CommandFailure';
}

/** The texts of a command's help that its arguments and options do not give. */
interface CommandHelp {
  name: string;
  /** One line in the list of commands, without a period. */
  summary: string;
  /** What the command does and what to know before calling it. */
  purpose: string;
  /** Arguments and options as they are typed after the name. */
  usage: string;
  /** One call, complete from the name on. */
  example: string;
  failure: string;
}

/** A command of `npm run ops`. Add its arguments, options and action. */
export function operatorCommand({ name, summary, purpose, usage, example, failure }: CommandHelp): Command {
  return new Command(name)
    .summary(summary)
    .description(purpose)
    .helpOption('-h, --help', 'Show this help.')
    .configureHelp({
      commandUsage: () => `npm run ops -- ${name} ${usage}`.trim(),
      optionTerm: ({ flags }) => withoutBrackets(flags),
    })
    .addHelpText(
      'after',
      `\nExample:\n  npm run ops -- ${example}\n\nExit codes:\n  0  success\n  1  ${failure}\n  2  wrong call`,
    )
    .exitOverride()
    .configureOutput({ outputError: () => {} });
}

/** As the help shows a name: commander's definitions have `<NAME>`. */
export const withoutBrackets = (text: string) => text.replaceAll(/[<>]/g, '');

// The options that choose the database: the deployed one, or a local one other than npm start's
// own.

export const remoteOption = new Option(
  '--remote',
  'Work on the deployed database. Needs CLOUDFLARE_ACCOUNT_ID and CLOUDFLARE_API_TOKEN.',
).conflicts('persistTo');
export const persistToOption = new Option(
  '--persist-to <DIRECTORY>',
  'Work on the local database of a server that was started with the same option.',
);
export const configOption = new Option(
  '--config <FILE>',
  'The wrangler.toml of the deployment, where there are several. Default: wrangler.toml.',
);
/** How the options that choose the database appear in a usage. */
export const DATABASE_USAGE = '[--remote [--config FILE] | --persist-to DIRECTORY]';

export const byOption = new Option('--by <NAME>', 'Who asked for this. It is kept in the database.');

/** @throws UsageError if `--by` is missing */
export function requireBy(by: string | undefined): string {
  if (by === undefined) throw new UsageError('Add --by NAME: who asked for this. It is kept in the database.');
  return by;
}

/** @throws UsageError unless the value of an option is a cursor; `advice` says what to do */
export function requireCursor(option: string, text: string, advice: string): string {
  if (parseCursor(text)) return text;
  throw new UsageError(`${option} ${printable(text)} is not a cursor. ${advice}`);
}

/** The database on which a command works. */
export interface Database {
  db: D1Database;
  archive: ObjectStore | undefined;
  /** A context for the next call: each has its own deadline. */
  context: () => ActorContext<SystemActor>;
}

/** Opens the database that the options choose, for as long as `use` runs. */
export interface WithDatabase {
  <T>(use: (database: Database) => Promise<T>): Promise<T>;
  vars(): Record<string, string>;
}

/**
 * A command on the database. `define` adds its arguments and options, to which those that choose the
 * database are added. `run` gets their values, and opens the database with `withDatabase` when it has
 * checked them.
 */
export function databaseCommand<Args extends unknown[], Options extends OptionValues>(
  help: CommandHelp,
  define: (command: Command) => Command<Args, Options>,
  run: (withDatabase: WithDatabase, ...values: [...Args, Options]) => Promise<void>,
): Command<Args, Options> {
  const command = define(operatorCommand({ ...help, usage: `${help.usage} ${DATABASE_USAGE}`.trim() }));
  command.addOption(remoteOption).addOption(configOption).addOption(persistToOption);
  const text = (name: string) => {
    const value = command.getOptionValue(name);
    return typeof value === 'string' ? value : undefined;
  };
  const open = <T>(use: (database: Database) => Promise<T>) => {
    const chosen = {
      remote: command.getOptionValue('remote') === true,
      persistTo: text('persistTo'),
      config: text('config'),
    };
    return withDatabase(chosen, async (db, archive) => {
      // Not at the start: the commands of modules import this file.
      const { portsOf } = await import('./modules.ts');
      const ports = portsOf(archive);
      return use({ db, archive, context: () => operatorContext(db, ports) });
    });
  };
  const onDatabase = Object.assign(open, { vars: () => readWranglerConfig(text('config') ?? MAIN_CONFIG).vars });
  return command.action(() => run(onDatabase, ...command.processedArgs, command.opts()));
}

/** Opens the chosen database, and the bucket of its archive, for as long as `use` runs. */
export async function withDatabase<T>(
  options: { remote?: boolean | undefined; persistTo?: string | undefined; config?: string | undefined },
  use: (db: D1Database, archive: ObjectStore | undefined) => Promise<T>,
): Promise<T> {
  // Loaded when needed: miniflare takes longer to load than a help text to print.
  const { withLocalD1 } = await import('./local.ts');
  const config = readWranglerConfig(options.config ?? MAIN_CONFIG);
  if (!options.remote) return withLocalD1(options.persistTo, use, config);
  const { RemoteD1 } = await import('./remote-d1.ts');
  const { remoteArchive } = await import('./remote-store.ts');
  const account = await cloudflareAccount();
  const bucket = process.env['R2_BUCKET_NAME'] ?? archiveBucketName(config);
  return use(
    new RemoteD1({ ...account, databaseId: process.env['D1_DATABASE_ID'] ?? databaseId(config) }),
    bucket === undefined ? undefined : remoteArchive({ ...account, bucket }),
  );
}

/** How Cloudflare's API is reached: with the variables that wrangler reads. @throws UsageError */
export async function cloudflareAccount() {
  const { API_PACE, Pace } = await import('./pace.ts');
  return {
    baseUrl: process.env['CLOUDFLARE_API_BASE_URL'] ?? 'https://api.cloudflare.com/client/v4',
    accountId: required('CLOUDFLARE_ACCOUNT_ID'),
    apiToken: required('CLOUDFLARE_API_TOKEN'),
    pace: new Pace(API_PACE, Date.now()),
  };
}

function required(name: string): string {
  const value = process.env[name];
  if (!value) throw new UsageError(`--remote needs ${name} in the environment.`);
  return value;
}

export function operatorContext(db: D1Database, ports: Ports = {}): ActorContext<SystemActor> {
  const source = { address: null, userAgent: 'operator' };
  return {
    ...ports,
    db,
    now: Date.now,
    deadlineAt: Date.now() + DEADLINE_MS,
    requestId: timeOrderedId(Date.now()),
    waitsForLock: true,
    actor: 'operator',
    source,
  };
}

/** The operator's view of a failure. */
export function explain(err: unknown): string {
  if (err instanceof D1Failure) {
    if (/SQLITE_(BUSY|LOCKED)|is locked/.test(err.reason))
      return 'Another program is writing to this local database. Run the command again.';
    return /no such (table|column)/.test(err.reason)
      ? 'The database is not migrated: run `npx wrangler d1 migrations apply DB` with --local or --remote first (npm start does it locally). If npm start runs with --persist-to DIRECTORY, add the same option to this command.'
      : `The database failed: ${err.reason}`;
  }
  // Of a database failure the cause is what an operator can act on.
  if (err instanceof ServiceError) return err.cause instanceof D1Failure ? explain(err.cause) : err.detail;
  if (err instanceof UsageError || err instanceof CommandFailure) return err.message;
  if (err instanceof Error && 'code' in err) return explainFile(err);
  return err instanceof Error ? (err.stack ?? err.message) : String(err);
}

/** What the operator sees of an error of a file, which names its system call and code. */
function explainFile({ message, code, path }: Error & { code: unknown; path?: unknown }): string {
  const name = typeof path === 'string' ? printable(path) : 'The file';
  switch (code) {
    case 'ENOENT':
      return `${name} does not exist, or its directory does not.`;
    case 'EACCES':
    case 'EPERM':
      return `${name} cannot be opened: its permissions do not allow it.`;
    case 'EISDIR':
      return `${name} is a directory; name a file.`;
    case 'ENOSPC':
      return 'There is no space left on the disk.';
    default:
      return message;
  }
}
