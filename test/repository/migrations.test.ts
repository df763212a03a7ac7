import { readdir, readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';

/** The first migration: no release runs before it. */
const FIRST = '0000_schema.sql';

const migrations = await Promise.all(
  (await readdir('migrations'))
    .filter((name) => name.endsWith('.sql'))
    .map(async (name) => ({ name, sql: await readFile(`migrations/${name}`, 'utf8') })),
);

/**
 * The statements after which the previous release may fail, because they remove what it reads or
 * refuse what it writes. A comment above such a statement allows it: `-- since 1.4: nothing reads
 * it`.
 */
function breaking(sql: string): string[] {
  const created = new Set(Array.from(sql.matchAll(/create table [`"]?(\w+)/gi), ([, table]) => table));
  return sql.split(/-->\s*statement-breakpoint/).flatMap((part) => {
    const lines = part.trim().split('\n');
    const statement = lines.filter((line) => !line.startsWith('--')).join('\n');
    const removes = /^\s*drop (table|index|view)|\b(drop|rename)\b(?! trigger)/i.test(
      statement.replace(/^\s*drop trigger.*/i, ''),
    );
    const [, table] = /\bon [`"]?(\w+)/i.exec(statement) ?? [];
    const refuses = /^\s*create (unique index|trigger)/i.test(statement) && !created.has(table);
    return (removes || refuses) && !/^-- since \S+: /m.test(part)
      ? [lines.find((line) => !line.startsWith('--')) ?? '']
      : [];
  });
}

test('no migration removes or refuses anything that the previous release uses', () => {
  const found = migrations.filter(({ name }) => name !== FIRST).map(({ name, sql }) => [name, breaking(sql)]);
  expect(found.filter(([, statements]) => statements?.length !== 0)).toEqual([]);
});
