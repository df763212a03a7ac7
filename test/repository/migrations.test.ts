import { readdir, readFile } from 'node:fs/promises';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';

/** The first migration: no release runs before it. */
const FIRST = '0000_schema.sql';

const migrations = await Promise.all(
  (await readdir('migrations'))
    .filter((name) => name.endsWith('.sql'))
    .sort()
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

test('an alert that was stored before it was a message is sent as one', () => {
  const db = new DatabaseSync(':memory:');
  const at = migrations.findIndex(({ name }) => name === '0014_alert_messages.sql');
  for (const { sql } of migrations.slice(0, at)) db.exec(sql);
  const data = { organization: 'o', key: null, since: '2026-11-22T08:00:00.000Z', level: 1, text: 'T.', advice: 'A.' };
  const insert = db.prepare("insert into alerts values (?, 'push_failing', '', ?, 1, 'alert_1', 1500, ?, 0, 0, null)");
  insert.run('o', 'push', JSON.stringify(data));
  insert.run('o', 'chat', JSON.stringify(data));
  insert.run('', 'chat', JSON.stringify({ ...data, organization: null }));
  insert.run('o', 'log', JSON.stringify(data));
  for (const { sql } of migrations.slice(at)) db.exec(sql);
  const stored = db.prepare('select organization_id as id, channel, data from alerts order by channel, id').all();
  expect(stored.map(({ id, channel, data }) => [id, channel, JSON.parse(String(data))])).toEqual([
    ['', 'chat', { text: 'T.' }],
    ['o', 'chat', { text: 'o: T.' }],
    ['o', 'log', { text: 'T. A.' }],
    [
      'o',
      'push',
      { type: 'alert.push_failing', timestamp: '1970-01-01T00:00:01.500Z', data: { ...data, settingsUrl: null } },
    ],
  ]);
});
