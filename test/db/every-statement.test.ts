import { env } from 'cloudflare:workers';
import { expect, test } from 'vitest';
import { prepare } from '../../src/db/query.ts';
import { EXAMPLES, PARTS } from './statement-examples.ts';

const files = import.meta.glob<Record<string, unknown>>('../../src/{db/**/*,{dev,modules/*}/*-statements}.ts', {
  eager: true,
});

/** What statements are made of. */
const WITHOUT_EXAMPLES = /^db\/(?:schema\/|query\.ts$)/;

/** Whether an export is a function, or a list or record of functions. */
function hasFunctions(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return typeof value === 'function';
  const isPlain = Object.getPrototypeOf(value) === Object.prototype || Array.isArray(value);
  return isPlain && Object.values(value).some(hasFunctions);
}

const exported = Object.entries(files).flatMap(([file, values]) => {
  const path = file.replace('../../src/', '');
  if (WITHOUT_EXAMPLES.test(path)) return [];
  return Object.keys(values).flatMap((name) => (hasFunctions(values[name]) ? [`${path}: ${name}`] : []));
});
const examples = Object.entries(EXAMPLES).flatMap(([path, statements]) =>
  Object.entries(statements).map(([name, statement]) => ({
    title: `${path}: ${name}`,
    statements: [statement].flat(),
  })),
);
const parts = Object.entries(PARTS).flatMap(([path, names]) => names.map((name) => `${path}: ${name}`));

test('every exported statement has an example', () => {
  expect([...examples.map(({ title }) => title), ...parts].sort()).toEqual(exported.sort());
});

test.each(examples)('D1 runs $title, and its columns have different names', async ({ statements }) => {
  expect(statements).not.toEqual([]);
  for (const statement of statements) {
    const [columns] = await prepare(env.DB, statement).raw({ columnNames: true });
    expect(columns).toEqual([...new Set(columns)]);
  }
});
