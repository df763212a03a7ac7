import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { wrangler } from '../support/command.ts';
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

  const directory = await mkdtemp(join(tmpdir(), 'twb-local-'));
  try {
    await wrangler('deploy', 'src/dev/index.tsx', '--dry-run', '--outdir', directory);
    const local = await codeIn(directory);
    for (const text of LOCAL_ONLY) expect(local).toContain(text);
    expect(exportsOf(production)).toEqual(['Connection', 'Directory', 'Pusher', 'RateLimiter', 'Work', 'default']);
    expect(exportsOf(local)).toEqual(exportsOf(production));
  } finally {
    await rm(directory, { recursive: true });
  }
});
