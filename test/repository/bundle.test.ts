import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { expect, onTestFinished, test } from 'vitest';
import * as z from 'zod';
import { productionBuild, productionBundle } from '../support/shared.ts';

/** The files that a bundle was made from, as its source map lists them. */
async function sourcesOf(directory: string): Promise<string[]> {
  const map = JSON.parse(await readFile(join(directory, 'index.js.map'), 'utf8'));
  return z.object({ sources: z.array(z.string()) }).parse(map).sources;
}

/** The packages that only MCP needs, and the module. */
const OF_MCP = /@modelcontextprotocol|@cfworker|modules\/mcp\//;
/** The files and packages that only the documentation needs. */
const OF_DOCS = /zod-openapi|src\/docs\/|shapes\.ts$/;
/** What `zod/mini` does without: methods, messages and JSON Schema. */
const OF_CLASSIC_ZOD = /zod\/v4\/(classic|locales)\/|json-schema/;

test('the bundle of the main Worker starts, stays under 200 KB gzipped, and contains neither MCP, documentation nor the classic API of zod', async () => {
  const { code, output } = await productionBuild();
  expect([code, output]).toEqual([0, expect.stringMatching(/main starts: \d+\.\d KB gzipped, at most 200 KB/)]);
  const sources = await sourcesOf(await productionBundle());
  expect(sources.some((source) => source.endsWith('zod/v4/mini/schemas.js'))).toBe(true);
  expect(sources.filter((source) => [OF_MCP, OF_DOCS, OF_CLASSIC_ZOD].some((pattern) => pattern.test(source)))).toEqual(
    [],
  );
});

test('the bundle of the Worker for AI agents starts, stays under 110 KB gzipped, and contains no SQL, no service and no other module', async () => {
  const { code, output } = await productionBuild();
  expect([code, output]).toEqual([0, expect.stringMatching(/agents starts: \d+\.\d KB gzipped, at most 110 KB/)]);
  const sources = await sourcesOf(await productionBundle('agents'));
  expect(sources.filter((source) => OF_MCP.test(source)).length).toBeGreaterThan(10);
  expect(
    sources.filter((source) =>
      /src\/(docs|db|services|durable-objects|http\/settings|rpc|modules\/(?!mcp))\//.test(source),
    ),
  ).toEqual([]);
});

test('the stylesheet of all pages stays under 44 KB, and stylesheet and script under 13 KB as they are sent', async () => {
  expect((await stat('src/assets/pages.css')).size).toBeLessThan(44_000);
  const names = z.record(z.string(), z.string()).parse(JSON.parse(await readFile('build/page-files.json', 'utf8')));
  const files = await Promise.all(Object.values(names).map((name) => readFile(join('build/static', name))));
  expect(files.reduce((sum, file) => sum + gzipSync(file).length, 0)).toBeLessThan(13_000);
});

test('the bundle loads no locale when it starts, because that would add a fifth to the time', async () => {
  const directory = await productionBundle();
  const program = `import { startBundle } from './src/dev/start-bundle.ts';
    const refuse = class { constructor() { throw new Error('a locale was loaded'); } };
    Object.assign(Intl, { Collator: refuse, DateTimeFormat: refuse, NumberFormat: refuse, PluralRules: refuse });
    Number.prototype.toLocaleString = Date.prototype.toLocaleString = () => new refuse();
    await startBundle(${JSON.stringify(join(directory, 'index.js'))}, {});`;
  await promisify(execFile)('node', ['--input-type=module', '-e', program]);
});

test('the bundle builds at most 98 shapes when it starts, because all of them would add a tenth to the time', async () => {
  const directory = await productionBundle();
  const program = `import { startBundle } from './src/dev/start-bundle.ts';
    let shapes = 0;
    globalThis.__zod_globalConfig = { postProcessor: () => { shapes += 1; } };
    await startBundle(${JSON.stringify(join(directory, 'index.js'))}, {});
    console.log(shapes);`;
  const { stdout } = await promisify(execFile)('node', ['--input-type=module', '-e', program]);
  expect(Number(stdout)).toBeGreaterThan(20);
  expect(Number(stdout)).toBeLessThanOrEqual(98);
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
