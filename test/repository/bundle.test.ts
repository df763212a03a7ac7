import { execFile } from 'node:child_process';
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { productionBuild } from '../support/shared.ts';

test('the production bundle starts, and stays under 265 KB gzipped without the static files', async () => {
  const { code, output } = await productionBuild();
  expect([code, output]).toEqual([0, expect.stringMatching(/The bundle starts: \d+\.\d KB gzipped, at most 265 KB/)]);
});

test('the stylesheet of all pages stays under 40 KB', async () => {
  expect((await stat('src/assets/pages.css')).size).toBeLessThan(40_000);
});

test('the build fails if the bundle throws while it starts', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'twb-bundle-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  // In a process of its own: Vitest has other hooks for imports.
  const start = async (name: string, code: string) => {
    const path = join(directory, name);
    await writeFile(path, code);
    const program = `import { startBundle } from './src/dev/start-bundle.ts';
      await startBundle(${JSON.stringify(path)}, { KEY_PREFIX: 'twb' });`;
    return promisify(execFile)('node', ['--input-type=module', '-e', program]);
  };
  const starts = `import { DurableObject, env } from 'cloudflare:workers';
    export class Counter extends DurableObject {}
    if (env.KEY_PREFIX !== 'twb') throw new Error('no variables');`;
  await start('starts.mjs', starts);
  await expect(start('throws.mjs', `${starts} new (void 0)();`)).rejects.toThrow('is not a constructor');
});
