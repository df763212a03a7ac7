import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { build } from 'esbuild';
import { expect, test } from 'vitest';
import { productionBundle } from '../support/shared.ts';

/** The code in a directory with a bundle, without source maps. */
async function codeIn(directory: string): Promise<string> {
  const files = (await readdir(directory)).filter((file) => !file.endsWith('.map') && file !== 'README.md');
  return (await Promise.all(files.map((file) => readFile(join(directory, file), 'utf8')))).join('\n');
}

/** The names that a bundle exports. */
function exportsOf(code: string): string[] {
  const list = /export\s*\{([^}]*)\}/.exec(code)?.[1] ?? '';
  return [...list.matchAll(/(\w+)\s*(?:,|$)/g)].map(([, name = '']) => name).sort();
}

const LOCAL_ONLY = ['/dev/sign-in', 'local-sign-in', 'local.invalid'];

test('the production bundle contains nothing of the local sign-in, and exports the same entrypoints as the local one', async () => {
  const production = await codeIn(await productionBundle());
  expect(production).toMatch(/\/pages\.[0-9a-f]{8}\.css/);
  for (const text of LOCAL_ONLY) expect(production).not.toContain(text);

  const { outputFiles } = await build({
    entryPoints: ['src/dev/index.tsx'],
    ...{ bundle: true, format: 'esm', conditions: ['workerd', 'worker'], external: ['cloudflare:*', 'node:*'] },
    write: false,
  });
  const [local = ''] = outputFiles.map(({ text }) => text);
  for (const text of LOCAL_ONLY) expect(local).toContain(text);
  expect(exportsOf(production)).toEqual(['Api', 'Connection', 'Pusher', 'RateLimiter', 'default']);
  // The local Worker contains the Worker for AI agents, which needs the entry point `Api` elsewhere.
  expect(['Api', ...exportsOf(local)]).toEqual(exportsOf(production));
});
