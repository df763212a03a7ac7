import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';

let directory: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'bundle-'));
});
afterAll(() => rm(directory, { recursive: true }));

/** What a deployment of this entry would upload, source maps left out. */
async function bundle(name: string, ...entry: string[]): Promise<string> {
  const outdir = join(directory, name);
  await promisify(execFile)('wrangler', ['deploy', ...entry, '--dry-run', '--outdir', outdir], {
    env: { ...process.env, WRANGLER_SEND_METRICS: 'false' },
  });
  const files = (await readdir(outdir)).filter((file) => !file.endsWith('.map') && file !== 'README.md');
  return (await Promise.all(files.map((file) => readFile(join(outdir, file), 'utf8')))).join('\n');
}

/** The names that a bundle exports. */
function exportsOf(code: string): string[] {
  const list = /export\s*\{([^}]*)\}/.exec(code)?.[1] ?? '';
  return [...list.matchAll(/(\w+)\s*(?:,|$)/g)].map(([, name = '']) => name).sort();
}

const LOCAL_ONLY = ['/dev/sign-in', 'local-sign-in', 'Local sign-in', 'local.invalid'];

test('the production bundle holds nothing of the local sign-in, which the local one does', async () => {
  const production = await bundle('production');
  expect(production).toContain('/settings.css');
  for (const text of LOCAL_ONLY) expect(production).not.toContain(text);
  const local = await bundle('local', 'src/dev/index.tsx');
  for (const text of LOCAL_ONLY) expect(local).toContain(text);
  // What other Workers bind to is there locally too.
  expect(exportsOf(production)).toEqual(['Directory', 'RateLimiter', 'Work', 'default']);
  expect(exportsOf(local)).toEqual(exportsOf(production));
});
