import { env } from 'cloudflare:workers';
import { expect, test } from 'vitest';
import { numberParameters } from '../../src/db/statement.ts';
import { everyStatement, statementFiles } from './every-statement.ts';

const titled = everyStatement.map(({ path, names, statement: { text } }) => ({
  title: `src/${path}: ${names.join('.')}`,
  text,
}));

test.each(titled)('D1 accepts the SQL of $title', async ({ text }) => {
  const { sql, names } = numberParameters(text);
  const explained = env.DB.prepare(`explain query plan ${sql}`).bind(...names.map(() => null));
  await expect(explained.all()).resolves.toMatchObject({ success: true });
});

test('Every file exports its statements', () => {
  const exported = Map.groupBy(everyStatement, ({ path }) => path);
  const missing = statementFiles.filter(({ path, calls }) => (exported.get(path)?.length ?? 0) < calls);
  expect(missing).toEqual([]);
  expect(everyStatement.length).toBeGreaterThan(0);
});
