import { type Browser, chromium } from 'playwright-core';
import { inject } from 'vitest';
import { copyOf, type LocalDatabase } from './command.ts';
import type { Shared } from './shared-setup.ts';

async function ask<Name extends 'build' | 'build:agents' | 'database' | 'demo' | 'server' | 'browser'>(
  name: Name,
): Promise<Shared<Name>> {
  const response = await fetch(`${inject('sharedUrl')}/${name}`);
  if (!response.ok) throw new Error(await response.text());
  return response.json();
}

/** What `npm run build` or `npm run build:agents` printed in this run of the tests, and its exit code. */
export const productionBuild = (script: 'build' | 'build:agents' = 'build') => ask(script);

/** The directory of the main Worker's bundle, or of the Worker for AI agents. */
export async function productionBundle(script: 'build' | 'build:agents' = 'build'): Promise<string> {
  const { directory, code, output } = await productionBuild(script);
  if (code !== 0) throw new Error(output);
  return directory;
}

/**
 * The local server that all tests share. Its demo key must stay usable: make other keys to revoke.
 */
export const sharedServer = () => ask('server');

/** A connection to the browser that all tests share. */
export async function connectBrowser(): Promise<Browser> {
  return chromium.connect((await ask('browser')).endpoint);
}

/** A migrated local database of a test's own: empty, or with the demo directory. */
export async function copyDatabase(from: 'database' | 'demo' = 'database'): Promise<LocalDatabase> {
  return copyOf((await ask(from)).persistTo);
}
