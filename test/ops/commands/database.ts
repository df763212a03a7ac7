import { onTestFinished } from 'vitest';
import { hashKey } from '../../../src/domain/api-key.ts';
import { withLocalD1 } from '../../../src/ops/local.ts';
import { type CreatedKey, createApiKey } from '../../../src/services/keys/create-key.ts';
import { findKey } from '../../../src/services/keys/find-key.ts';
import type { ServiceContext } from '../../../src/services/service-context.ts';
import { createNote } from '../../../src/services/work/create-record.ts';
import type { LocalDatabase } from '../../support/command.ts';
import { serveRemoteD1 } from '../../support/remote-d1-stub.ts';
import { runCli } from '../../support/run-cli.ts';
import { copyDatabase } from '../../support/shared.ts';

export const DEMO = 'src/dev/demo-directory.ndjson';

/**
 * A migrated local database with the demo directory. A command opens it with the options. Only one
 * process at a time may have it open.
 */
export async function demoDatabase(): Promise<{
  persistTo: string;
  options: string[];
  remove: () => Promise<void>;
}> {
  const { persistTo, remove } = await copyDatabase('demo');
  return { persistTo, options: ['--persist-to', persistTo], remove };
}

interface RemoteDatabase {
  db: D1Database;
  /** The environment in which commands with `--remote` use this database. */
  env: Record<string, string>;
}

/** Opens a local database in this process and serves it as Cloudflare does, for as long as `use` runs. */
export function withRemote<T>(persistTo: string, use: (remote: RemoteDatabase) => Promise<T>): Promise<T> {
  return withLocalD1(persistTo, async (db) => {
    const { env, close } = await serveRemoteD1(db);
    try {
      return await use({ db, env });
    } finally {
      await close();
    }
  });
}

/** A database, by default one with the demo directory, served as Cloudflare does. Closing it removes the database. */
export async function remoteDatabase(
  database: Promise<LocalDatabase> = copyDatabase('demo'),
): Promise<RemoteDatabase & { close: () => Promise<void> }> {
  const { persistTo, remove } = await database;
  const opened = Promise.withResolvers<RemoteDatabase>();
  const closing = Promise.withResolvers<void>();
  const ended = withRemote(persistTo, (remote) => {
    opened.resolve(remote);
    return closing.promise;
  });
  ended.catch(opened.reject);
  const close = async () => {
    closing.resolve();
    await ended;
    await remove();
  };
  return { ...(await opened.promise), close };
}

/** A database with the demo directory for one test, served as Cloudflare does. */
export async function databaseOfTest(): Promise<RemoteDatabase> {
  const { close, ...remote } = await remoteDatabase();
  onTestFinished(close);
  return remote;
}

/** Runs commands on a database. */
export const commandsOf =
  ({ env }: { env: Record<string, string> }) =>
  (command: string, ...args: string[]) =>
    runCli(command, [...args, '--remote'], { env });

/** The context of what a test sets up. */
export const setUpContext = (db: D1Database): ServiceContext => ({
  db,
  now: Date.now,
  requestId: crypto.randomUUID(),
  deadlineAt: Date.now() + 30_000,
});
const source = { address: null, userAgent: null };

/** Makes a key for notes. */
export function makeKey(
  db: D1Database,
  name: string,
  actor = { organizationId: 'northwind', userId: 'ada' },
): Promise<CreatedKey> {
  return createApiKey({ ...setUpContext(db), actor, source }, 'twb', { name, scopes: ['tickets:note:write'] });
}

/** Writes notes with a new key of fabrikam; returns their ids. */
export async function writeNotes(db: D1Database, messages: string[]): Promise<string[]> {
  const { value } = await makeKey(db, 'n8n', { organizationId: 'fabrikam', userId: 'fay' });
  const actor = await findKey(setUpContext(db), await hashKey(value));
  if (!actor) throw new Error('no such key');
  const ids: string[] = [];
  for (const message of messages) {
    const target = { ticketId: '1001', idempotencyKey: undefined };
    const ctx = {
      ...setUpContext(db),
      actor,
      source,
      dayLimits: { key: null, organization: null },
      onDecided: () => undefined,
      onKeyDay: () => undefined,
    };
    ids.push((await createNote(ctx, target, { message })).row.id);
  }
  return ids;
}
