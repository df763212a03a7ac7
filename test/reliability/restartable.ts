import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { NewApiKey } from '../../src/domain/key-input.ts';
import { SCOPE_IDS } from '../../src/domain/record-kinds.ts';
import { importDirectory } from '../../src/ops/import/import-directory.ts';
import { type CreatedKey, createApiKey } from '../../src/services/keys/create-key.ts';
import { administratorContext } from '../support/administrator-context.ts';
import type { LocalDatabase } from '../support/command.ts';
import type { ProductionWorker } from '../support/production-worker.ts';
import { freePort } from '../support/server.ts';

/** A limit that none of these loads reaches. */
const UNLIMITED = '10000/1s';
const HIGHEST_DAY_LIMIT = '10000000/10000MB';
/** Variables with limits that no test reaches. */
export const UNLIMITED_VARS = {
  IP_LIMIT: UNLIMITED,
  KEY_LIMIT: UNLIMITED,
  KEY_DAY_LIMIT: HIGHEST_DAY_LIMIT,
  ORGANIZATION_DAY_LIMIT: HIGHEST_DAY_LIMIT,
};

/**
 * What a run needs: a migrated, empty database that it may change, and the directory of the
 * production bundle.
 */
export interface LocalParts {
  database: LocalDatabase;
  bundle: string;
}

/**
 * The production bundle, served by workerd alone. Its port and data stay the same across restarts.
 */
interface RestartableServer {
  readonly url: URL;
  /** Where the Worker beside it is. */
  readonly besideUrl: URL;
  /** Starts the server; resolves when it answers. */
  start(): Promise<void>;
  /** Kills the server and workerd with SIGKILL. */
  kill(): Promise<void>;
  /** Stops them regularly. */
  stop(): Promise<void>;
}

/**
 * Prepares a server on a migrated database. The variables are read at each start.
 */
export async function restartable({
  beside,
  ...worker
}: Omit<ProductionWorker, 'port' | 'beside'> & {
  beside?: Omit<NonNullable<ProductionWorker['beside']>, 'port'>;
}): Promise<RestartableServer> {
  const options: ProductionWorker = { ...worker, port: await freePort() };
  const besidePort = await freePort();
  if (beside) options.beside = { ...beside, port: besidePort };

  let child: ChildProcess | undefined;
  let ended: Promise<unknown> = Promise.resolve();
  return {
    url: new URL(`http://127.0.0.1:${options.port}`),
    besideUrl: new URL(`http://127.0.0.1:${besidePort}`),
    start: async () => {
      const script = join(import.meta.dirname, 'restartable-server.ts');
      // In a process group of its own, so that workerd is killed with it. Its standard input ends
      // when this process ends.
      const started = spawn(process.execPath, [script, JSON.stringify(options)], {
        detached: true,
        stdio: ['pipe', 'pipe', 'inherit'],
      });
      child = started;
      ended = once(started, 'close').then(() => {
        child = undefined;
      });
      const ready = once(createInterface(started.stdout), 'line');
      const [line] = await Promise.race([ready, ended.then(() => ['nothing, and ended'])]);
      if (line !== 'ready') throw new Error(`restartable-server.ts printed ${line}`);
    },
    kill: async () => {
      if (child?.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
      await ended;
    },
    stop: async () => {
      child?.stdin?.end();
      await ended;
    },
  };
}

/** The organizations of the demo directory whose plan includes PSA, each with an administrator. */
const ADMINISTRATORS = { northwind: 'ada', fabrikam: 'fay' };
type OrganizationId = keyof typeof ADMINISTRATORS;
export const ORGANIZATIONS: readonly OrganizationId[] = ['northwind', 'fabrikam'];

/** Makes a key with both scopes, as the organization's administrator. */
export function makeKey(
  db: D1Database,
  organization: OrganizationId,
  name: string,
  changes: Partial<NewApiKey> = {},
): Promise<CreatedKey> {
  const ctx = administratorContext(db, organization, ADMINISTRATORS[organization]);
  return createApiKey(ctx, 'twb', { name, scopes: [...SCOPE_IDS], ...changes });
}

/** Writes a note or a time entry on ticket 1001. Returns the response when the write is acknowledged. */
export async function writeTo(
  { url }: Pick<RestartableServer, 'url'>,
  key: string,
  path: 'notes' | 'time-entries',
  body: object,
  idempotencyKey: string,
): Promise<Response> {
  const response = await fetch(new URL(`/api/v1/tickets/1001/${path}`, url), {
    method: 'POST',
    headers: {
      Authorization: `Bearer ${key}`,
      'Content-Type': 'application/json',
      'CF-Connecting-IP': '192.0.2.1',
      'Idempotency-Key': idempotencyKey,
    },
    body: JSON.stringify(body),
  });
  if (response.status !== 201) throw new Error(`answered ${response.status}: ${await response.text()}`);
  return response;
}

/** Imports the demo directory and makes this many keys for each organization. */
export async function seed(
  db: D1Database,
  keysEach: number,
): Promise<{ organization: OrganizationId; value: string }[]> {
  const imported = await importDirectory(db, await readFile('src/dev/demo-directory.ndjson', 'utf8'));
  if (!imported.ok) throw new Error(JSON.stringify(imported.errors));
  const keys: { organization: OrganizationId; value: string }[] = [];
  for (const organization of ORGANIZATIONS) {
    for (let number = 1; number <= keysEach; number++) {
      const { value } = await makeKey(db, organization, `Key ${number}`);
      keys.push({ organization, value });
    }
  }
  return keys;
}
