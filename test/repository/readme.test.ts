import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { API } from '../support/api-document.ts';

const readme = await readFile('README.md', 'utf8');

/** The rows of the README's table whose head begins with this cell. */
function table(firstHead: string): string[] {
  const [, rows = ''] = new RegExp(`^\\| ${firstHead} \\|.*\\n\\|--.*\\n((?:\\|.*\\n)+)`, 'm').exec(readme) ?? [];
  return rows.trim().split('\n');
}

const row = (...cells: (string | number)[]) => `| ${cells.join(' | ')} |`;

test('the README lists every endpoint with its success statuses', () => {
  const operations = z.record(
    z.string(),
    z.object({ summary: z.string(), responses: z.record(z.string(), z.unknown()) }),
  );
  const rows = Object.entries(API.paths ?? {}).flatMap(([path, methods]) =>
    Object.entries(operations.parse(methods)).map(([method, { summary, responses }]) => {
      const success = Object.keys(responses).filter((status) => status < '300');
      return row(`\`${method.toUpperCase()} /api/v1${path}\``, summary, success.join(', '));
    }),
  );
  expect(table('endpoint')).toEqual(rows);
});

test('the package and the contract of the API have the version of the latest entry in the changelog', async () => {
  const [, latest] = /^## (\d+\.\d+\.\d+)/m.exec(await readFile('CHANGELOG.md', 'utf8')) ?? [];
  const { version } = z.object({ version: z.string() }).parse(JSON.parse(await readFile('package.json', 'utf8')));
  expect([version, API.info.version]).toEqual([latest, latest]);
});
