import { D1Failure } from '../db/call.ts';
import { ServiceError } from '../domain/errors.ts';
import { timeOrderedId } from '../domain/record-id.ts';
import type { ActorContext, SystemActor } from '../services/context.ts';
import { withLocalD1, wranglerConfig } from './local.ts';
import { RemoteD1 } from './remote-d1.ts';

/** How long an operator waits for one call to the database. */
const DEADLINE_MS = 60_000;

/** Thrown for what is wrong with how a command was called. */
export class UsageError extends Error {
  override name = 'UsageError';
}

/** The options that choose the database: the local one, in wrangler's own folder or another, or the deployed one. */
export const databaseOptions = {
  remote: { type: 'boolean', default: false },
  'persist-to': { type: 'string' },
} as const;

/** Opens the chosen database for as long as `use` runs. */
export function withDatabase<T>(
  options: { remote: boolean; 'persist-to'?: string | undefined },
  use: (db: D1Database) => Promise<T>,
): Promise<T> {
  if (!options.remote) return withLocalD1(options['persist-to'], use);
  return use(
    new RemoteD1({
      baseUrl: process.env['CLOUDFLARE_API_BASE_URL'] ?? 'https://api.cloudflare.com/client/v4',
      accountId: required('CLOUDFLARE_ACCOUNT_ID'),
      apiToken: required('CLOUDFLARE_API_TOKEN'),
      databaseId:
        process.env['D1_DATABASE_ID'] ??
        wranglerConfig.d1_databases.find(({ binding }) => binding === 'DB')?.database_id ??
        '',
    }),
  );
}

function required(name: string): string {
  const value = process.env[name];
  if (!value) throw new UsageError(`--remote needs ${name} in the environment`);
  return value;
}

/** The context of a verb that an operator calls. */
export function operatorContext(db: D1Database): ActorContext<SystemActor> {
  const source = { address: null, userAgent: 'operator' };
  return {
    db,
    now: Date.now,
    deadlineAt: Date.now() + DEADLINE_MS,
    requestId: timeOrderedId(Date.now()),
    actor: 'operator',
    source,
  };
}

/** Runs a command: whatever goes wrong is one message on standard error and an exit code of 1, or 2 if it was called wrongly. */
export async function runCommand(usage: string, run: () => Promise<void>): Promise<void> {
  try {
    await run();
  } catch (err) {
    const misused =
      err instanceof UsageError ||
      (err instanceof TypeError && 'code' in err && String(err.code).startsWith('ERR_PARSE_ARGS'));
    console.error(`${explain(err)}${misused ? `\n\nUsage: ${usage}` : ''}`);
    process.exitCode = misused ? 2 : 1;
  }
}

function explain(err: unknown): string {
  if (err instanceof D1Failure) {
    return /no such (table|column)/.test(err.reason)
      ? 'The database is not migrated: run `npx wrangler d1 migrations apply DB` with --local or --remote first (npm start does it locally).'
      : `The database failed: ${err.reason}`;
  }
  // Of a database failure the cause is what an operator can act on.
  if (err instanceof ServiceError) return err.cause instanceof D1Failure ? explain(err.cause) : err.detail;
  if (err instanceof UsageError) return err.message;
  if (err instanceof Error && 'code' in err) return err.message;
  return err instanceof Error ? (err.stack ?? err.message) : String(err);
}
