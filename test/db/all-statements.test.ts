import { env } from 'cloudflare:workers';
import { expect, test } from 'vitest';

const modules = import.meta.glob<Record<string, unknown>>('../../src/db/**/*.ts', { eager: true });
const sources = import.meta.glob<string>('../../src/db/**/*.ts', { eager: true, query: '?raw', import: 'default' });

/**
 * The SQL of every statement in a value: the value itself, or one in a list or a record of
 * statements.
 */
function sqlIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  if ('sql' in value && 'bind' in value && typeof value.sql === 'string') return [value.sql];
  return Object.values(value).flatMap(sqlIn);
}

// The schema of drizzle-kit holds no statements, and its tables refer to each other in circles.
const exported = Object.entries(modules).flatMap(([path, exports]) =>
  path.endsWith('/schema.ts')
    ? []
    : Object.entries(exports).flatMap(([name, value]) =>
        sqlIn(value).map((sql) => ({ path: path.replace('../../src/', ''), name, sql })),
      ),
);

test.each(exported)('D1 accepts the SQL of $name in $path', async ({ sql }) => {
  const parameters = Math.max(0, ...Array.from(sql.matchAll(/'[^']*'|\?(\d+)/g), ([, number = '0']) => Number(number)));
  const values = Array.from({ length: parameters }, () => null);
  const explained = env.DB.prepare(`explain query plan ${sql}`).bind(...values);
  await expect(explained.all()).resolves.toMatchObject({ success: true });
});

test('every module with statements exports them', () => {
  const withStatements = Object.entries(sources).filter(([, text]) => /[^n] statement[<(]/.test(text));
  const missing = withStatements
    .map(([path]) => path.replace('../../src/', ''))
    .filter((path) => !exported.some((one) => one.path === path));
  expect(missing).toEqual([]);
  expect(exported.length).toBeGreaterThan(60);
});
