import { execFile } from 'node:child_process';
import { glob, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const run = promisify(execFile);

test('a route without authentication does not compile', async () => {
  // In node_modules, where packages resolve, and where no other tool checks files.
  const directory = await mkdtemp(join('node_modules', '.probe-'));
  const route = (guards: string) => `import { Hono } from 'hono';
import { type AppEnv, apiContext } from '../../src/http/context.ts';
import { guard } from '../../src/http/middleware/guard.ts';
export const used = guard;
export const probe = new Hono<AppEnv>().get('/probe', ${guards}(c) => c.json(apiContext(c).actor.keyName));
`;
  const compile = async (content: string) => {
    await writeFile(join(directory, 'probe.ts'), content);
    return run('tsc', ['-p', directory]).then(
      () => '',
      (err: { stdout: string }) => err.stdout,
    );
  };
  try {
    const config = { extends: '../../tsconfig.json', include: [], files: ['probe.ts', '../../src/bindings.d.ts'] };
    await writeFile(join(directory, 'tsconfig.json'), JSON.stringify(config));
    expect(await compile(route('...guard(), '))).toBe('');
    expect(await compile(route(''))).toMatch(/probe\.ts.*error TS2345/);
  } finally {
    await rm(directory, { recursive: true });
  }
});

test('every property test has a number of runs that PROPERTY_RUNS multiplies', async () => {
  for await (const path of glob('test/**/*.test.{ts,tsx}')) {
    const text = await readFile(path, 'utf8');
    expect([path, text.split('numRuns: runs(').length]).toEqual([
      path,
      text.replaceAll('fc.check', 'fc.assert').split('fc.assert(').length,
    ]);
  }
});
