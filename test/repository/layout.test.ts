import { execFile } from 'node:child_process';
import { glob, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const run = promisify(execFile);

/** Lints files (path → content) under this project's rules, in a directory of their own: the rules each of them breaks. */
async function lint(files: Record<string, string>): Promise<Record<string, string[]>> {
  const directory = await mkdtemp(join(tmpdir(), 'layout-'));
  try {
    const rules: object = JSON.parse(await readFile('biome.json', 'utf8'));
    await writeFile(join(directory, 'biome.json'), JSON.stringify({ ...rules, vcs: { enabled: false } }));
    for (const [path, content] of Object.entries(files)) {
      await mkdir(dirname(join(directory, path)), { recursive: true });
      await writeFile(join(directory, path), content);
    }
    const biome = run('biome', ['lint', '--reporter=json', '--max-diagnostics=none', '.'], { cwd: directory });
    const { stdout } = await biome.catch((err: { stdout: string }) => err);
    const report: { diagnostics: { category: string; location: { path: string } }[] } = JSON.parse(stdout);
    const broken: Record<string, string[]> = {};
    for (const { category, location } of report.diagnostics) {
      broken[location.path] = [...(broken[location.path] ?? []), category];
    }
    return broken;
  } finally {
    await rm(directory, { recursive: true });
  }
}

const importing = (source: string) => `import { x } from '${source}';\n\nexport const y = x;\n`;

test('the linter keeps the layers apart', async () => {
  const forbidden = {
    'src/domain/db.ts': '../db/client.ts',
    'src/domain/env.ts': '../env.ts',
    'src/domain/hono.ts': 'hono',
    'src/db/services.ts': '../services/write.ts',
    'src/services/http.ts': '../http/problem.ts',
    'src/services/hono.ts': 'hono/http-exception',
    'src/services/cloudflare.ts': 'cloudflare:workers',
    'src/durable-objects/db.ts': '../db/client.ts',
    'src/http/durable-objects.ts': '../durable-objects/rate-limiter.ts',
    'src/http/drizzle.ts': 'drizzle-orm',
    'src/http/middleware/app.ts': '../../app.ts',
    'src/http/api/docs.ts': '../docs/routes.tsx',
    'src/http/api/settings.ts': '../settings/keys.tsx',
    'src/http/docs/api.ts': '../api/notes.ts',
    'src/http/docs/settings.ts': '../settings/keys.tsx',
    'src/http/settings/api.ts': '../api/notes.ts',
    'src/http/settings/docs.ts': '../docs/routes.tsx',
    'src/http/settings/pages/docs.ts': '../../docs/routes.tsx',
    'src/http/api/dev.ts': '../../dev/local.ts',
    'src/rpc/http.ts': '../http/problem.ts',
    'src/dev.ts': './dev/start.ts',
  };
  const allowed = {
    'src/http/services.ts': '../services/write.ts',
    'src/services/db.ts': '../db/client.ts',
    'src/db/drizzle.ts': 'drizzle-orm',
    'src/durable-objects/cloudflare.ts': 'cloudflare:workers',
  };
  const files = Object.entries({ ...forbidden, ...allowed }).map(([path, source]) => [path, importing(source)]);
  const broken = await lint(Object.fromEntries(files));
  expect(broken).toEqual(Object.fromEntries(Object.keys(forbidden).map((path) => [path, ['lint/style/noRestrictedImports']])));
});

test('the linter finds promises that nobody awaits', async () => {
  const floating = 'async function g(): Promise<void> {}\n\nexport function f(): void {\n  g();\n}\n';
  expect(await lint({ 'src/domain/floating.ts': floating })).toEqual({ 'src/domain/floating.ts': ['lint/nursery/noFloatingPromises'] });
});

test('a route that forgets authentication does not compile', async () => {
  // Below node_modules, where packages resolve and no other tool looks.
  const directory = await mkdtemp(join('node_modules', '.probe-'));
  const route = (guards: string) => `import { Hono } from 'hono';
import type { AppEnv } from '../../src/config.ts';
import { guard } from '../../src/http/guard.ts';
import { apiContext } from '../../src/http/service-context.ts';
export const used = guard;
export const probe = new Hono<AppEnv>().get('/probe', ${guards}(c) => c.json(apiContext(c).principal.keyName));
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

test('no test is left out, and every property test says how many runs it makes and makes more when asked to', async () => {
  for await (const path of glob('test/**/*.test.{ts,tsx}')) {
    const text = await readFile(path, 'utf8');
    expect([path, text.match(/\b(?:test|describe)\.(?:skip|only|todo|skipIf|runIf|fails)\b/g)]).toEqual([path, null]);
    expect([path, text.split('numRuns: runs(').length]).toEqual([path, text.split('fc.assert(').length]);
  }
});
