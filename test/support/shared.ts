import { join } from 'node:path';
import { type Browser, chromium } from 'playwright-core';
import { inject } from 'vitest';
import { makeKey } from '../reliability/restartable.ts';
import { copyOf, type LocalDatabase } from './command.ts';
import { serveProduction } from './production-worker.ts';
import type { ResourceName, Shared } from './shared-setup.ts';

async function ask<Name extends ResourceName>(name: Name): Promise<Shared<Name>> {
  const response = await fetch(`${inject('sharedUrl')}/${name}`);
  if (!response.ok) throw new Error(await response.text());
  return response.json();
}

/** What `npm run build` printed in this run of the tests, its exit code, and a copy of its output. */
export const productionBuild = () => ask('build');

/** The directory of the bundle of a Worker. */
export async function productionBundle(worker: 'main' | 'agents' = 'main'): Promise<string> {
  const { directory, code, output } = await productionBuild();
  if (code !== 0) throw new Error(output);
  return join(directory, worker);
}

/**
 * The local server that all tests share. Its demo key must stay usable: make other keys to revoke.
 */
export const sharedServer = () => ask('server');

/** A connection to the browser that all tests share. */
export async function connectBrowser(): Promise<Browser> {
  return chromium.connect((await ask('browser')).endpoint);
}

/** A folder for the files of deployments. It is removed after all tests. */
export const deploymentsDirectory = async () => (await ask('deployments')).directory;

/** A migrated local database of a test's own: empty, or with the demo directory. */
export async function copyDatabase(from: 'database' | 'demo' = 'database'): Promise<LocalDatabase> {
  return copyOf((await ask(from)).persistTo);
}

/** The production bundle in workerd with the demo directory, and a key of northwind. */
export async function startProduction(vars: Record<string, string>) {
  const { persistTo, remove } = await copyDatabase('demo');
  const worker = await serveProduction({
    bundle: await productionBundle(),
    ...{ vars, port: 0, persistTo, objectsInMemory: true },
  });
  const db = await worker.getD1Database('DB', 'api');
  const { value: key } = await makeKey(db, 'northwind', 'Production');
  const close = () => worker.dispose().finally(remove);
  return { url: await worker.unsafeGetDirectURL('api'), db, key, persistTo, close };
}
