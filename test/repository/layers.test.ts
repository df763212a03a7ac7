import { glob, readFile } from 'node:fs/promises';
import { dirname, join, normalize } from 'node:path';
import { expect, test } from 'vitest';

/** The names of stylesheet and script, which src/dev/static-files.ts writes. */
const BUILT = '../build/page-files.json';

const HTTP = ['http', 'services', 'domain', 'lib', 'config.ts', 'module.ts'];

/**
 * What each part of src may import: other parts, and packages. A part is a folder, or a file
 * directly in src; the longest name that matches a file counts. Each folder of `modules` is a part
 * with the same row. Everything that is not listed is forbidden.
 */
const ALLOWED: Record<string, { parts: readonly string[]; packages?: readonly string[] }> = {
  lib: { parts: [] },
  domain: { parts: ['lib'], packages: ['zod/mini', 'uuid', 'ipaddr.js', '@date-fns/tz'] },
  db: { parts: ['domain', 'lib'], packages: ['drizzle-orm'] },
  // A file with SQL, wherever it is.
  statements: { parts: ['db', 'domain', 'lib'], packages: ['drizzle-orm'] },
  services: { parts: ['db', 'domain', 'lib'], packages: ['drizzle-orm', 'zod/mini'] },
  'durable-objects': { parts: ['domain'], packages: ['cloudflare:workers'] },
  'config.ts': { parts: ['domain', 'lib'], packages: ['jose'] },
  http: { parts: HTTP, packages: ['hono', '@hono/zod-validator', 'zod/mini'] },
  'http/api': { parts: HTTP, packages: ['hono', 'zod/mini'] },
  'http/page': { parts: [BUILT], packages: ['hono'] },
  [BUILT]: { parts: [] },
  'http/settings': { parts: [...HTTP, 'http/page'], packages: ['hono', '@hono/zod-validator', 'zod/mini', 'jose'] },
  // The interface of the optional modules: types, and how they are started.
  'module.ts': { parts: ['http', 'services', 'config.ts'], packages: ['hono'] },
  // An optional module imports the core, never another module.
  modules: {
    parts: [...HTTP, 'db', 'ops'],
    packages: [
      'hono',
      'zod/mini',
      'drizzle-orm',
      'cloudflare:workers',
      '@modelcontextprotocol/server',
      '@commander-js/extra-typings',
    ],
  },
  // Its documentation, which also imports the rest of its module.
  'modules/docs': { parts: [...HTTP, 'http/page', 'docs'], packages: ['zod', 'zod-openapi'] },
  // The lists of the modules: nothing else imports one, except for the Durable Object of the push.
  'modules.ts': { parts: ['modules', 'module.ts'] },
  agents: { parts: ['http', 'modules', 'module.ts'], packages: ['hono'] },
  'jobs.ts': { parts: ['services', 'domain', 'lib', 'config.ts', 'module.ts'] },
  'startup.ts': { parts: ['modules.ts', 'module.ts', 'config.ts'], packages: ['cloudflare:workers'] },
  rpc: { parts: ['services', 'domain', 'startup.ts', 'module.ts'], packages: ['cloudflare:workers'] },
  'app.ts': { parts: ['http', 'http/api', 'http/settings', 'domain', 'config.ts', 'module.ts'], packages: ['hono'] },
  'index.ts': {
    parts: ['app.ts', 'jobs.ts', 'startup.ts', 'durable-objects', 'rpc'],
    packages: ['cloudflare:workers'],
  },
  ops: {
    parts: ['services', 'db', 'domain', 'lib', 'config.ts', 'adapters/kit'],
    packages: ['node', 'zod', 'miniflare', 'smol-toml', '@commander-js/extra-typings'],
  },
  // Workers of their own. An adapter imports the kit, never another adapter, and nothing imports an adapter.
  'adapters/kit': { parts: ['rpc', 'domain', 'lib'], packages: ['zod', 'cloudflare:workers'] },
  adapters: { parts: ['adapters/kit', 'domain', 'lib'], packages: ['zod'] },
  // Packages for others, outside the Worker.
  'connectors/client-typescript': { parts: [] },
  'connectors/n8n-nodes-ticket-write-back': { parts: [], packages: ['n8n-workflow'] },
  docs: {
    parts: ['http', 'http/api', 'http/page', 'services', 'domain', 'lib', 'config.ts'],
    packages: ['hono', 'marked', 'node', 'zod', 'zod-openapi'],
  },
  dev: {
    parts: [
      'app.ts',
      'agents',
      'jobs.ts',
      'startup.ts',
      'module.ts',
      // Only src/dev/static-files.ts, which runs it in the build.
      'docs',
      'ops',
      'adapters/kit',
      'durable-objects',
      'http/page',
      'rpc',
      'services',
      'domain',
      'config.ts',
    ],
    packages: ['node', 'esbuild', 'hono', 'jose', 'modern-tar', 'zod', 'cloudflare:workers'],
  },
};

/** Imports by files whose parts may not have them. */
const MORE: Record<string, readonly string[]> = {
  // Shapes for the documents: the Workers import only their types.
  'domain/psa-shapes.ts': ['zod'],
  'domain/response-shapes.ts': ['zod'],
  // `npm start -- --adapter PSA` shows the fakes of the tests.
  'dev/adapter-demo.ts': ['../test/adapters/serve-fake.ts'],
  // The pages of the adapters, and their common texts.
  'docs/adapters.ts': ['../build/adapter-pages.json', 'adapters/kit'],
  'docs/render.tsx': ['../CHANGELOG.md?raw'],
  'ops/modules.ts': ['modules'],
  'docs/modules.ts': ['modules/docs'],
  'index.ts': ['modules/push/pusher.ts'],
  'dev/index.tsx': ['modules/push/pusher.ts'],
};

/** Files that only these files may import, whatever their parts allow. */
const ONLY_FROM: Record<string, readonly string[]> = {
  // A change and its audit row are sent together or not at all.
  'db/audit/audit-row.ts': ['services/audit/write-with-audit.ts'],
};

/** Whether a folder of src contains code that is not the project's own TypeScript. */
const isForeign = (path: string) => path === 'assets' || /(^|\/)(node_modules|dist)$/.test(path);

/** The part that a file of src belongs to. Of the modules, it is the folder of one. */
function partOf(path: string): string | undefined {
  const module = /^(?:modules\/[^/]+(?:\/docs(?=[/.]))?|adapters\/[^/]+)/.exec(path)?.[0];
  const names = Object.keys(ALLOWED).filter((name) => path === name || path.startsWith(`${name}/`));
  return module ?? names.sort((a, b) => b.length - a.length)[0];
}

/** The name of a part's row. */
const rowOf = (part: string) => part.replace(/^(modules|adapters)\/(?!kit)[^/]+/, '$1');

/** `import … from '…'`, `export … from '…'`, `import '…'` and `import('…')`. */
const IMPORT = /^(?:import|export)(?:[^'";]*?\bfrom)?\s*'([^']+)'|\bimport\('([^']+)'\)/gm;

/** Imports, type-only ones included, of a file of src that its part may not have. */
function forbidden(path: string, source: string): string[] {
  const part = partOf(path) ?? '';
  const allowed = ALLOWED[path.endsWith('-statements.ts') ? 'statements' : rowOf(part)];
  if (!allowed) return ['is in no part'];
  const imports = Array.from(source.matchAll(IMPORT), ([, specifier = '', dynamic = specifier]) => dynamic);
  const more = MORE[path] ?? [];
  return imports.filter((specifier) => {
    if (!specifier.startsWith('.')) {
      return ![...(allowed.packages ?? []), ...more].some(
        (name) => specifier === name || specifier.startsWith(`${name}/`) || specifier.startsWith(`${name}:`),
      );
    }
    const target = normalize(join(dirname(path), specifier));
    const importers = ONLY_FROM[target];
    if (importers && !importers.includes(path)) return true;
    const targetPart = partOf(target) ?? '';
    if (targetPart === part || part === `${targetPart}/docs`) return false;
    const names = [...allowed.parts, ...more];
    return !names.some((name) => name === target || name === rowOf(targetPart));
  });
}

test('every file imports only files that its part may import', async () => {
  const found: string[] = [];
  for await (const path of glob('**/*.{ts,tsx}', { cwd: 'src', exclude: isForeign })) {
    if (path.endsWith('.d.ts')) continue;
    found.push(
      ...forbidden(path, await readFile(join('src', path), 'utf8')).map((specifier) => `${path}: ${specifier}`),
    );
  }
  expect(found).toEqual([]);
});

test('tests outside test/modules import no test support of a module', async () => {
  const found: string[] = [];
  for await (const path of glob('test/**/*.{ts,tsx}', {
    exclude: (name) => isForeign(name) || name === 'test/modules',
  }))
    for (const [, specifier = '', dynamic = specifier] of (await readFile(path, 'utf8')).matchAll(IMPORT))
      if (normalize(join(dirname(path), dynamic)).startsWith('test/modules/')) found.push(`${path}: ${dynamic}`);
  expect(found).toEqual([]);
});

test('only modules/mcp/serve.ts imports the MCP library', async () => {
  const found: string[] = [];
  for await (const path of glob('**/*.{ts,tsx}', { cwd: 'src', exclude: isForeign })) {
    if ((await readFile(join('src', path), 'utf8')).includes("'@modelcontextprotocol/")) found.push(path);
  }
  expect(found).toEqual(['modules/mcp/serve.ts']);
});

test('only services/call-d1.ts opens a database with Drizzle, without a schema', async () => {
  const found: string[] = [];
  for await (const path of glob('**/*.{ts,tsx}', { cwd: 'src', exclude: isForeign }))
    for (const [call] of (await readFile(join('src', path), 'utf8')).matchAll(/\bdrizzle(?:\([^)]*\)| as \w+)/g))
      found.push(`${path}: ${call}`);
  expect(found).toEqual(['services/call-d1.ts: drizzle(d1)']);
});

/** The files of src that a file loads, itself included. */
async function loadedBy(path: string, loaded = new Set<string>()): Promise<Set<string>> {
  if (loaded.has(path)) return loaded;
  loaded.add(path);
  const source = await readFile(join('src', path), 'utf8');
  for (const [, specifier = '', dynamic = specifier] of source.matchAll(IMPORT))
    if (dynamic.startsWith('.')) await loadedBy(normalize(join(dirname(path), dynamic)), loaded);
  return loaded;
}

test('the Worker loads nothing of the commands, and the commands load no page', async () => {
  const worker = [...(await loadedBy('index.ts')), ...(await loadedBy('agents/index.ts'))];
  expect(worker.filter((path) => /^ops\/|\/ops\.ts$/.test(path))).toEqual([]);
  const commands = [...(await loadedBy('ops/program.ts'))];
  expect(commands).toContain('modules/push/ops.ts');
  expect(commands.filter((path) => path.endsWith('.tsx') || path === 'modules.ts')).toEqual([]);
});

test.each([
  ['lib/x.ts', "import { x } from '../domain/fields.ts';"],
  ['domain/x.ts', "import type { Hono } from 'hono';"],
  ['domain/x.ts', "import * as z from 'zod';"],
  ['services/x.ts', "import * as z from 'zod/v4';"],
  ['http/settings/x.ts', "import type * as z from 'zod';"],
  ['modules/mcp/x.ts', "import * as z from 'zod';"],
  ['domain/x.ts', "import { findKeyByHash } from '../db/keys/find-key-statements.ts';"],
  ['db/x.ts', "import { z } from 'zod';"],
  ['modules/push/x-statements.ts', "import { counted } from '../../http/settings/pages/components.tsx';"],
  ['services/work/x.ts', "import { problem } from '../../http/problems.ts';"],
  ['services/work/x.ts', "import { AUDIT_ROWS } from '../../db/audit/audit-row.ts';"],
  ['http/api/x.ts', "import { createDocs } from '../../docs/routes.tsx';"],
  ['http/page/x.ts', "const api = await import('../api/writes.ts');"],
  ['http/x.ts', "import type { KeyRow } from '../db/keys/find-key-statements.ts';"],
  ['modules/mcp/x.ts', "import { wakeDue } from '../push/wake-due.ts';"],
  ['services/x.ts', "import { wakeDue } from '../modules/push/wake-due.ts';"],
  ['modules/psa/x.ts', "import { openapi } from '../../docs/openapi.ts';"],
  ['modules/psa/x.ts', "import { describePsa } from './docs/psa-openapi.ts';"],
  ['modules/psa/docs/x.ts', "import { alertText } from '../../alerts/alert.ts';"],
  ['modules/psa/docs.ts', "import { pushDocs } from '../push/docs.ts';"],
  ['modules.ts', "import { psaDocs } from './modules/psa/docs.ts';"],
  ['docs/render.tsx', "import { psaDocs } from '../modules/psa/docs.ts';"],
  ['app.ts', "import { createDocs } from './docs/render.tsx';"],
  ['app.ts', "import { MODULES } from './modules.ts';"],
  ['index.ts', "import { push } from './modules/push/module.ts';"],
  ['ops/program.ts', "import { pushOps } from '../modules/push/ops.ts';"],
  ['http/api/x.ts', "import type { Server } from '@modelcontextprotocol/server';"],
  ['http/api/x.ts', "import { oneKey } from '../settings/key.tsx';"],
  ['http/settings/x.ts', "import { notes } from '../api/writes.ts';"],
  ['http/settings/pages/x.tsx', "import { createApp } from '../../../app.ts';"],
  ['index.ts', "export { x } from './dev/start.ts';"],
  ['connectors/client-typescript/src/x.ts', "import { MAX_TEXT_LENGTH } from '../../../domain/fields.ts';"],
  ['dev/x.ts', "import { limitText } from '../connectors/client-typescript/src/index.ts';"],
  ['adapters/kit/x.ts', "import { redmine } from '../redmine/redmine.ts';"],
  ['adapters/redmine/x.ts', "import { definition } from '../connectwise/definition.ts';"],
  ['adapters/redmine/x.ts', "import type { Connection } from '../../rpc/connection.ts';"],
  ['ops/x.ts', "import { definition } from '../adapters/redmine/definition.ts';"],
  ['services/x.ts', "import { sender } from '../adapters/kit/send.ts';"],
  ['elsewhere/x.ts', "import './y.ts';"],
])('%s may not hold: %s', (path, source) => {
  expect(forbidden(path, source)).toHaveLength(1);
});
