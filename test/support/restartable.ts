import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { importDirectory } from '../../src/cli/import/import-directory.ts';
import type { NewApiKey } from '../../src/domain/key-input.ts';
import { SCOPE_IDS } from '../../src/domain/scopes.ts';
import type { ActorContext, AdminActor } from '../../src/services/context.ts';
import { type CreatedKey, createApiKey } from '../../src/services/keys/create-key.ts';
import { bundleProduction, type ProductionWorker } from './production-worker.ts';
import { freePort } from './server.ts';

/** A limit that no load of ours reaches. */
export const UNLIMITED = '10000/1s';

/** The production bundle, served by workerd alone on a port and data that stay the same however often it ends and is started again. */
export interface RestartableServer {
  readonly url: URL;
  /** Of the process group that workerd is in. */
  groupId(): number;
  /** Starts the server; resolves once it answers. */
  start(): Promise<void>;
  /** Ends server and workerd at once, by SIGKILL, in the middle of whatever they do. */
  kill(): Promise<void>;
  /** Ends them in peace. */
  stop(): Promise<void>;
}

/** Bundles the Worker as a deployment does. `vars` replace some of those in wrangler.toml; `persistTo` is a migrated database. */
export async function restartable(persistTo: string, vars: Record<string, string>): Promise<RestartableServer> {
  const bundle = join(persistTo, 'bundle');
  await bundleProduction(bundle);
  const options: ProductionWorker = { bundle, persistTo, port: await freePort(), vars };

  let child: ChildProcess | undefined;
  let ended: Promise<unknown> = Promise.resolve();
  return {
    url: new URL(`http://127.0.0.1:${options.port}`),
    groupId: () => child?.pid ?? 0,
    start: async () => {
      const script = join(import.meta.dirname, 'restartable-server.ts');
      // A group of its own, so that workerd can be killed with it; its standard input ends with this process, however that ends.
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
      if (line !== 'ready') throw new Error(`restartable-server.ts said ${line}`);
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

/** Organizations of the demo directory whose plan includes PSA, with an administrator of each. */
const ADMINISTRATORS = { northwind: 'ada', fabrikam: 'fay' };
type OrganizationId = keyof typeof ADMINISTRATORS;
export const ORGANIZATIONS: readonly OrganizationId[] = ['northwind', 'fabrikam'];

/** Acting as the organization's administrator. */
export function asAdministrator(db: D1Database, organizationId: OrganizationId): ActorContext<AdminActor> {
  const deadlineAt = Date.now() + 30_000;
  const source = { address: null, userAgent: null };
  return {
    db,
    now: Date.now,
    deadlineAt,
    requestId: crypto.randomUUID(),
    actor: { organizationId, userId: ADMINISTRATORS[organizationId] },
    source,
  };
}

/** Makes a key with both scopes. */
export function makeKey(
  db: D1Database,
  organization: OrganizationId,
  name: string,
  changes: Partial<NewApiKey> = {},
): Promise<CreatedKey> {
  return createApiKey(asAdministrator(db, organization), 'twb', { name, scopes: [...SCOPE_IDS], ...changes });
}

/** Imports the demo directory and makes so many keys for each organization. */
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
