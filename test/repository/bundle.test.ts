import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const build = (...args: string[]) => promisify(execFile)('node', ['src/dev/build.ts', ...args]);

test('the production bundle stays under 150 KB gzipped, static files aside', async () => {
  const { stdout } = await build();
  expect(stdout).toMatch(/The bundle: \d+\.\d KB gzipped, at most 150 KB\./);
});

test('a bundle that is larger fails the build', async () => {
  await expect(build('--max-kb', '100')).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/too large: \d+\.\d KB gzipped, at most 100 KB/),
  });
});
