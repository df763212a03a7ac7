import { access, readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';

const manifest: { dependencies: object; devDependencies: object } = JSON.parse(await readFile('package.json', 'utf8'));
const installed = { ...manifest.dependencies, ...manifest.devDependencies };

test.each([
  'hono',
  '@hono/zod-validator',
  'zod',
  'drizzle-orm',
  'wrangler',
  '@cloudflare/workers-types',
  'vitest',
  '@cloudflare/vitest-plugin',
])('%s is a dependency', (name) => {
  expect(Object.keys(installed)).toContain(name);
});

test.each(['package.json', 'tsconfig.json', 'wrangler.toml', 'src', 'migrations', 'test', 'README.md'])(
  '%s is at the top level',
  async (path) => {
    await expect(access(path)).resolves.toBeUndefined();
  },
);
