import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { describeApi } from '../../src/docs/api-openapi.ts';
import { PROBLEMS, UNAUTHORIZED_PROBLEM } from '../../src/http/problems.ts';

const readme = await readFile('README.md', 'utf8');

/** The rows of the README's table whose head begins with this cell. */
function table(firstHead: string): string[] {
  const [, rows = ''] = new RegExp(`^\\| ${firstHead} \\|.*\\n\\|--.*\\n((?:\\|.*\\n)+)`, 'm').exec(readme) ?? [];
  return rows.trim().split('\n');
}

const row = (...cells: (string | number)[]) => `| ${cells.join(' | ')} |`;

test('the README lists every endpoint with its success statuses', () => {
  const limit = { quota: 1, windowMs: 1_000 };
  const document = describeApi(
    { keyPrefix: 'twb', ipLimit: limit, keyLimit: limit, dayLimits: { key: null, organization: null } },
    'https://tickets.example',
  );
  const operations = z.record(
    z.string(),
    z.object({ summary: z.string(), responses: z.record(z.string(), z.unknown()) }),
  );
  const rows = Object.entries(document.paths ?? {}).flatMap(([path, methods]) =>
    Object.entries(operations.parse(methods)).map(([method, { summary, responses }]) => {
      const success = Object.keys(responses).filter((status) => status < '300');
      return row(`\`${method.toUpperCase()} /api/v1${path}\``, summary, success.join(', '));
    }),
  );
  expect(table('endpoint')).toEqual(rows);
});

test('the README lists every error with its status and code', () => {
  const problems = Object.entries(PROBLEMS).map(([code, { status, title }]) => ({
    status,
    code: `\`${code}\``,
    title,
  }));
  const all = [...problems, { ...UNAUTHORIZED_PROBLEM, code: 'none' }].sort((a, b) => a.status - b.status);
  expect(table('status')).toEqual(all.map(({ status, code, title }) => row(status, code, title)));
});
