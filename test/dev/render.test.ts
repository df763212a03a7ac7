import { execFile } from 'node:child_process';
import { cp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { checkout } from '../support/checkout.ts';

const run = promisify(execFile);

test('the static files are made again after a change of a source or for a deployment, and not before', async () => {
  const cwd = await checkout();
  await cp('build', join(cwd, 'build'), { recursive: true });
  await rm(join(cwd, 'src'));
  await cp('src', join(cwd, 'src'), { recursive: true });
  const page = join(cwd, 'build/static/404.html');
  const render = async () => {
    await writeFile(page, 'old');
    await run('node', ['src/dev/render.ts'], { cwd });
    return readFile(page, 'utf8');
  };

  const made = await readFile(page, 'utf8');
  expect(await render()).toBe(made);
  expect(await render()).toBe('old');
  await expect(run('node', ['src/dev/render.ts', '--deployment', 'eu'], { cwd })).rejects.toThrow('no deployment');
  expect(await render()).toBe(made);
});
