import { cp, mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { importDirectory } from '../../src/ops/import/import-directory.ts';
import { withLocalD1 } from '../../src/ops/local.ts';
import { launchBrowser } from './browser.ts';
import { copyOf, type LocalDatabase } from './command.ts';
import { listen } from './listen.ts';
import { localDatabase } from './local-database.ts';
import { buildProduction } from './production-worker.ts';
import { type StartedServer, startServerOn } from './server.ts';
import { insertServerData } from './server-data.ts';

// Vitest's global setup of the tests on Node: what takes seconds to start is started once per run,
// when the first test asks for it. Tests run in other processes, so they ask over HTTP, with the
// functions of shared.ts.

type ServerKeys = Awaited<ReturnType<typeof insertServerData>>;

/** What a value is made by, and how it is cleaned up afterwards. */
interface Resource<Value> {
  value: Value;
  close: () => Promise<void>;
}

let database: Promise<LocalDatabase> | undefined;
/** The migrated, empty database. The first call creates it. */
function migratedDatabase(): Promise<LocalDatabase> {
  database ??= localDatabase();
  return database;
}
const copyOfMigrated = async () => copyOf((await migratedDatabase()).persistTo);

/** A build: what it printed, its exit code, and a copy of its output. */
async function build(): Promise<Resource<{ directory: string; code: number | null; output: string }>> {
  const directory = await mkdtemp(join(tmpdir(), 'twb-build-'));
  const { outdir, code, output } = await buildProduction();
  if (code === 0) await cp(outdir, directory, { recursive: true });
  return { value: { directory, code, output }, close: () => rm(directory, { recursive: true }) };
}

const RESOURCES = {
  build,
  /** A migrated, empty database. Tests copy it. */
  database: async (): Promise<Resource<{ persistTo: string }>> => {
    const { persistTo } = await migratedDatabase();
    return { value: { persistTo }, close: async () => undefined };
  },
  /** Such a database with the demo directory. Tests copy it. */
  demo: async (): Promise<Resource<{ persistTo: string }>> => {
    const { persistTo, remove } = await copyOfMigrated();
    const demo = await readFile('src/dev/demo-directory.ndjson', 'utf8');
    const imported = await withLocalD1(persistTo, (db) => importDirectory(db, demo));
    if (!imported.ok) throw new Error(JSON.stringify(imported.errors));
    return { value: { persistTo }, close: remove };
  },
  /** A folder for the files of deployments. */
  deployments: async (): Promise<Resource<{ directory: string }>> => {
    const directory = await mkdtemp(join(tmpdir(), 'twb-deployments-'));
    return { value: { directory }, close: () => rm(directory, { recursive: true }) };
  },
  /** A local server as `npm start` runs it. */
  server: async (): Promise<Resource<Omit<StartedServer, 'close' | 'persistTo'> & { keys: ServerKeys }>> => {
    const local = await copyOfMigrated();
    const keys = await withLocalD1(local.persistTo, insertServerData);
    const { url, key, close } = await startServerOn(local, '--inspector-port', '0');
    return { value: { url, key, keys }, close };
  },
  /** A browser to connect to. */
  browser: async (): Promise<Resource<{ endpoint: string }>> => {
    const browser = await launchBrowser();
    return { value: { endpoint: browser.wsEndpoint() }, close: () => browser.close() };
  },
};
export type ResourceName = keyof typeof RESOURCES;
/** What a test receives. */
export type Shared<Name extends ResourceName> = Awaited<ReturnType<(typeof RESOURCES)[Name]>>['value'];

declare module 'vitest' {
  export interface ProvidedContext {
    /** Where the shared resources are asked for. */
    sharedUrl: string;
  }
}

const isResourceName = (name: string): name is ResourceName => Object.hasOwn(RESOURCES, name);

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const started = new Map<ResourceName, Promise<Resource<unknown>>>();
  const get = (name: ResourceName) => {
    const resource = started.get(name) ?? RESOURCES[name]();
    started.set(name, resource);
    return resource;
  };
  const broker = createServer((request, response) => {
    const name = request.url?.slice(1) ?? '';
    if (!isResourceName(name)) return void response.writeHead(404).end();
    get(name).then(
      ({ value }) => response.end(JSON.stringify(value)),
      (err: unknown) => response.writeHead(500).end(String(err)),
    );
  });
  project.provide('sharedUrl', await listen(broker));

  return async () => {
    broker.close();
    broker.closeAllConnections();
    const ends = await Promise.allSettled([...started.values()].map(async (resource) => (await resource).close()));
    await database?.then(({ remove }) => remove());
    const failures = ends.flatMap((end) => (end.status === 'rejected' ? [end.reason] : []));
    if (failures.length > 0) throw new AggregateError(failures, failures.join('\n'));
  };
}
