import { type Command, InvalidArgumentError, Option, type OptionValues } from '@commander-js/extra-typings';
import * as z from 'zod';
import { parseCursor } from '../domain/change.ts';
import { ServiceError } from '../domain/errors.ts';
import { LoggableError } from '../lib/log.ts';
import { D1Failure, LOCKED } from '../services/call-d1.ts';
import type { SystemContext } from '../services/service-context.ts';
import { CommandFailure, UsageError } from './failures.ts';

// The options that choose the database: the deployed one, or another local one than npm start's.

export const remoteOption = new Option(
  '--remote',
  'Work on the deployed database. Needs CLOUDFLARE_API_TOKEN.',
).conflicts('persistTo');
const persistToOption = new Option(
  '--persist-to <DIRECTORY>',
  'Work on the local database of a server that was started with the same option.',
);
const DEPLOYMENT_HELP = 'The deployment with the file .deployments/NAME.toml. Default, if one is needed: the only one.';
export const deploymentOption = new Option('--deployment <NAME>', DEPLOYMENT_HELP);
export const remoteDeploymentOption = new Option('--deployment <NAME>', DEPLOYMENT_HELP).implies({ remote: true });

export const byOption = new Option(
  '--by <NAME>',
  'Who asked for this. It is kept in the database.',
).makeOptionMandatory();

/** Parses an option whose value is a cursor. */
export function cursorOption(text: string): string {
  if (parseCursor(text)) return text;
  throw new InvalidArgumentError('It is not a cursor; take one from a line of changes:export.');
}

/** The value that `parse` returns. @throws UsageError if it throws a RangeError; `name` is what was parsed */
export function parseOption<T>(name: string, parse: () => T): T {
  try {
    return parse();
  } catch (err) {
    if (!(err instanceof RangeError)) throw err;
    throw new UsageError(`${name}: ${err.message}.`);
  }
}

export interface Database {
  db: D1Database;
  /** A context for the next call: each has its own deadline. */
  context: () => SystemContext;
}

/** Opens the database that the options choose, for as long as `use` runs. */
export interface WithDatabase {
  <T>(use: (database: Database) => Promise<T>): Promise<T>;
  /** The variables of the deployment; none for a local database. */
  variables(): Promise<Record<string, string>>;
}

const databaseChoice = z.object({
  remote: z.literal(true).optional(),
  persistTo: z.string().optional(),
  deployment: z.string().optional(),
});
export type DatabaseChoice = z.output<typeof databaseChoice>;
export type DatabaseOf = (choice: DatabaseChoice) => WithDatabase;

/**
 * Adds the options that choose the database. `run` opens it when it has checked the values of arguments and options.
 * The program passes what opens it, which imports the modules, whose commands import this file.
 */
export function databaseCommand<Args extends unknown[], Options extends OptionValues>(
  command: Command<Args, Options>,
  run: (withDatabase: WithDatabase, ...values: [...Args, Options]) => Promise<void>,
) {
  command.addOption(remoteOption).addOption(remoteDeploymentOption).addOption(persistToOption);
  return (databaseOf: DatabaseOf): Command<Args, Options> =>
    command.action(() =>
      run(databaseOf(databaseChoice.parse(command.opts())), ...command.processedArgs, command.opts()),
    );
}

export function explain(err: unknown): string {
  if (err instanceof D1Failure) {
    if (err.reason === LOCKED) return 'Another program is writing to this local database. Run the command again.';
    return /no such (table|column)/.test(err.reason)
      ? 'The database is not migrated: run `npm run deploy -- --migrate`; npm start migrates a local one. If npm start runs with --persist-to DIRECTORY, add the same option to this command.'
      : `The database failed: ${err.reason}`;
  }
  // The cause is what an operator can act on.
  if (err instanceof ServiceError) {
    if (err.cause instanceof D1Failure) return explain(err.cause);
    return err.cause instanceof LoggableError ? `${err.detail}\nCause: ${err.cause.message}` : err.detail;
  }
  if (err instanceof UsageError || err instanceof CommandFailure) return err.message;
  // Of the file system, which names file and fault.
  if (err instanceof Error && 'code' in err) return err.message;
  return err instanceof Error ? (err.stack ?? err.message) : String(err);
}

/** Whether an error is that of `parseArgs` for a wrong argument. */
const isWrongArgument = (err: unknown) =>
  err instanceof Error && 'code' in err && String(err.code).startsWith('ERR_PARSE_ARGS_');

/**
 * Runs a script, or prints its help for `--help`. A failure is one message on standard error and exit code 1. After a
 * wrong call, the first paragraph of the help follows, and the exit code is 2.
 */
export async function runScript(help: string, script: () => Promise<void>): Promise<void> {
  if (process.argv.includes('--help')) return console.log(help);
  try {
    await script();
  } catch (err) {
    const isMisuse = err instanceof UsageError || isWrongArgument(err);
    console.error(isMisuse ? `${explain(err)}\n\n${help.split('\n\n', 1)}` : explain(err));
    process.exitCode = isMisuse ? 2 : 1;
  }
}
