import { glob, readFile } from 'node:fs/promises';
import { dirname, join, normalize } from 'node:path';
import { expect, test } from 'vitest';

/** What optional modules may import: the core, never another module. */
const MODULE = {
  parts: [
    'http',
    'http/middleware',
    'http/page',
    'http/settings',
    'services',
    'db',
    'domain',
    'lib',
    'config.ts',
    'ops',
  ],
  packages: ['hono', 'zod'],
} as const;

/**
 * What each part of src may import: other parts, and packages. A part is a folder, or a file
 * directly in src; the longest name that matches a file counts. Everything that is not listed is
 * forbidden.
 */
const ALLOWED: Record<string, { parts: readonly string[]; packages?: readonly string[] }> = {
  lib: { parts: [], packages: ['jose'] },
  domain: { parts: ['lib'], packages: ['zod', 'uuid', 'ipaddr.js', '@date-fns/tz'] },
  db: { parts: ['domain', 'lib'] },
  'db/schema.ts': { parts: ['domain'], packages: ['drizzle-orm'] },
  services: { parts: ['db', 'domain', 'lib'], packages: ['zod'] },
  'durable-objects': { parts: ['services', 'domain', 'lib', 'config.ts'], packages: ['cloudflare:workers'] },
  'config.ts': { parts: ['domain', 'lib'], packages: ['jose'] },
  http: { parts: ['services', 'domain', 'lib', 'config.ts'], packages: ['hono', 'zod'] },
  'http/middleware': {
    parts: ['http', 'services', 'domain', 'lib', 'config.ts'],
    packages: ['hono', 'zod', '@hono/zod-validator'],
  },
  'http/api': {
    parts: ['http', 'http/middleware', 'services', 'domain', 'config.ts'],
    packages: ['hono', 'zod', 'zod-openapi'],
  },
  'http/page': { parts: [], packages: ['hono'] },
  'http/settings': {
    parts: ['http', 'http/middleware', 'http/page', 'services', 'domain', 'lib', 'config.ts'],
    packages: ['hono', 'zod', 'jose'],
  },
  'modules/push': { ...MODULE, packages: ['hono', 'cloudflare:workers'] },
  'modules/alerts': MODULE,
  'modules/archive': MODULE,
  'modules/psa': MODULE,
  'modules/mcp': { ...MODULE, packages: ['hono', 'zod', '@modelcontextprotocol/server'] },
  rpc: { parts: ['services', 'domain', 'config.ts'], packages: ['cloudflare:workers'] },
  'daily.ts': { parts: ['services', 'domain', 'lib'] },
  'scheduled.ts': { parts: ['daily.ts', 'modules/push', 'modules/alerts', 'modules/archive', 'services', 'config.ts'] },
  'app.ts': {
    parts: ['http', 'http/middleware', 'http/api', 'http/settings', 'modules/psa', 'docs', 'domain', 'config.ts'],
    packages: ['hono'],
  },
  'index.ts': {
    parts: ['app.ts', 'config.ts', 'scheduled.ts', 'durable-objects', 'modules/push', 'rpc', 'lib'],
    packages: ['cloudflare:workers'],
  },
  agents: {
    parts: ['http', 'http/middleware', 'modules/mcp', 'modules/push', 'config.ts'],
    packages: ['hono', 'cloudflare:workers'],
  },
  docs: {
    parts: ['http', 'http/api', 'http/middleware', 'http/page', 'modules/alerts', 'modules/psa', 'domain', 'config.ts'],
    packages: ['hono', 'node', 'zod', 'zod-openapi'],
  },
  ops: {
    parts: [
      'modules/push',
      'modules/alerts',
      'modules/archive',
      'modules/psa',
      'services',
      'db',
      'domain',
      'lib',
      'config.ts',
    ],
    packages: ['node', 'zod', 'miniflare', 'smol-toml', '@commander-js/extra-typings'],
  },
  dev: {
    parts: [
      'agents',
      'app.ts',
      'ops',
      'docs',
      'config.ts',
      'scheduled.ts',
      'durable-objects',
      'modules/mcp',
      'modules/push',
      'rpc',
      'services',
      'domain',
    ],
    packages: ['node', 'hono', 'jose', 'cloudflare:workers'],
  },
};

/** Imports of one part by another that are still to be inverted. The list only gets shorter. */
const STILL_ALLOWED: Record<string, readonly string[]> = {
  'config.ts': ['modules/archive'],
  'daily.ts': ['modules/alerts'],
  http: ['modules/archive'],
  'http/middleware': ['modules/push'],
  'http/settings': ['modules/archive', 'modules/push'],
  'modules/alerts': ['modules/psa'],
  'modules/psa': ['docs'],
  rpc: ['modules/archive', 'modules/push'],
  services: ['modules/archive'],
};

/** Files that only these files may import, whatever their parts allow. */
const ONLY_FROM: Record<string, readonly string[]> = {
  // A change and its audit row are sent together or not at all.
  'db/audit/audit-row.ts': ['services/audit/write-with-audit.ts'],
};

/** The part that a file of src belongs to. */
function partOf(path: string): string | undefined {
  const names = Object.keys(ALLOWED).filter((name) => path === name || path.startsWith(`${name}/`));
  return names.sort((a, b) => b.length - a.length)[0];
}

/** `import … from '…'`, `export … from '…'`, `import '…'` and `import('…')`. */
const IMPORT = /^(?:import|export)(?:[^'";]*?\bfrom)?\s*'([^']+)'|\bimport\('([^']+)'\)/gm;

/** Imports, type-only ones included, of a file of src that its part may not have. */
function forbidden(path: string, source: string): string[] {
  const part = partOf(path);
  const allowed = part === undefined ? undefined : ALLOWED[part];
  if (!allowed) return ['is in no part'];
  const imports = Array.from(source.matchAll(IMPORT), ([, specifier = '', dynamic = specifier]) => dynamic);
  return imports.filter((specifier) => {
    if (!specifier.startsWith('.')) {
      return !(allowed.packages ?? []).some(
        (name) => specifier === name || specifier.startsWith(`${name}/`) || specifier.startsWith(`${name}:`),
      );
    }
    const target = normalize(join(dirname(path), specifier));
    const importers = ONLY_FROM[target];
    if (importers && !importers.includes(path)) return true;
    const targetPart = partOf(target);
    if (targetPart === part || STILL_ALLOWED[part ?? '']?.some((name) => name === targetPart)) return false;
    return !allowed.parts.some((name) => name === targetPart);
  });
}

test('every file imports only what its part may import', async () => {
  const found: string[] = [];
  for await (const path of glob('**/*.{ts,tsx}', { cwd: 'src', exclude: (name) => name === 'assets' })) {
    if (path.endsWith('.d.ts')) continue;
    found.push(
      ...forbidden(path, await readFile(join('src', path), 'utf8')).map((specifier) => `${path}: ${specifier}`),
    );
  }
  expect(found).toEqual([]);
});

test('only modules/mcp/serve.ts imports the MCP library', async () => {
  const found: string[] = [];
  for await (const path of glob('**/*.{ts,tsx}', { cwd: 'src', exclude: (name) => name === 'assets' })) {
    if ((await readFile(join('src', path), 'utf8')).includes("'@modelcontextprotocol/")) found.push(path);
  }
  expect(found).toEqual(['modules/mcp/serve.ts']);
});

test.each([
  ['lib/x.ts', "import { x } from '../domain/fields.ts';"],
  ['domain/x.ts', "import type { Hono } from 'hono';"],
  ['domain/x.ts', "import { runD1 } from '../db/call.ts';"],
  ['db/x.ts', "import { sql } from 'drizzle-orm';"],
  ['services/work/x.ts', "import { problem } from '../../http/problems.ts';"],
  ['services/work/x.ts', "import { AUDIT_ROWS } from '../../db/audit/audit-row.ts';"],
  ['http/api/x.ts', "import { createDocs } from '../../docs/routes.tsx';"],
  ['http/page/x.ts', "const api = await import('../api/notes.ts');"],
  ['http/x.ts', "import type { D1Counter } from '../db/call.ts';"],
  ['modules/mcp/x.ts', "import { archiveOf } from '../archive/bucket.ts';"],
  ['http/api/x.ts', "import type { Server } from '@modelcontextprotocol/server';"],
  ['http/settings/pages/x.tsx', "import { createApp } from '../../../app.ts';"],
  ['index.ts', "export { x } from './dev/start.ts';"],
  ['elsewhere/x.ts', "import './y.ts';"],
])('%s may not hold: %s', (path, source) => {
  expect(forbidden(path, source)).toHaveLength(1);
});
