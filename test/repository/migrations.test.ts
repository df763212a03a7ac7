import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';

/**
 * Every migration with the SHA-256 of its file. A database remembers a migration by its name alone,
 * so one that is edited after it has been applied somewhere changes new databases and never the old
 * ones. A new migration is added here; its line may change until it lands.
 */
const LANDED: Record<string, string> = {
  '0000_foundation.sql': 'b014579c0ce1bab9cf57d3bb0cb7eee1ccf2b701b9f50242ef8be17b7f08bc26',
};
/** The first one: there is no previous release that it must work with. */
const FOUNDATION = '0000_foundation.sql';

const migrations = await Promise.all(
  (await readdir('migrations'))
    .filter((name) => name.endsWith('.sql'))
    .map(async (name) => ({ name, sql: await readFile(`migrations/${name}`, 'utf8') })),
);

/**
 * The statements under which the code of the release before may fail: what it reads is gone, or
 * what it writes is refused. Such a statement is let through if a comment right above it says what
 * it is safe with: `-- since 1.4: nothing reads it`.
 */
function breaking(sql: string): string[] {
  const created = new Set(Array.from(sql.matchAll(/create table [`"]?(\w+)/gi), ([, table]) => table));
  return sql.split(/-->\s*statement-breakpoint/).flatMap((part) => {
    const lines = part.trim().split('\n');
    const statement = lines.filter((line) => !line.startsWith('--')).join('\n');
    const taken = /^\s*drop (table|index|view)|\b(drop|rename)\b(?! trigger)/i.test(
      statement.replace(/^\s*drop trigger.*/i, ''),
    );
    const [, table] = /\bon [`"]?(\w+)/i.exec(statement) ?? [];
    const refused = /^\s*create (unique index|trigger)/i.test(statement) && !created.has(table);
    return (taken || refused) && !/^-- since \S+: /m.test(part)
      ? [lines.find((line) => !line.startsWith('--')) ?? '']
      : [];
  });
}

test('migrations that have landed are as they were', () => {
  const found = migrations.map(({ name, sql }) => [name, createHash('sha256').update(sql).digest('hex')]);
  expect(Object.fromEntries(found)).toEqual(LANDED);
});

test('a migration works under the release before: it takes nothing away and refuses nothing new', () => {
  const found = migrations.filter(({ name }) => name !== FOUNDATION).map(({ name, sql }) => [name, breaking(sql)]);
  expect(found.filter(([, statements]) => statements?.length !== 0)).toEqual([]);
});

test('what breaks the release before is known', () => {
  const separate = (...statements: string[]) => statements.join('--> statement-breakpoint\n');
  const harmless = separate(
    'CREATE TABLE `t` (`id` text NOT NULL);',
    'CREATE UNIQUE INDEX `t_id` ON `t` (`id`);',
    'CREATE INDEX `k` ON `api_keys` (`name`);',
    'ALTER TABLE `api_keys` ADD `note` text;',
    'DROP TRIGGER `t_old`;',
    '-- since 1.4: nothing reads it\nALTER TABLE `api_keys` DROP COLUMN `old`;',
  );
  expect(breaking(harmless)).toEqual([]);
  for (const statement of [
    'DROP TABLE `notes`;',
    'DROP INDEX `api_keys_hint`;',
    'ALTER TABLE `notes` DROP COLUMN `message`;',
    'ALTER TABLE `notes` RENAME TO `texts`;',
    'ALTER TABLE `notes` RENAME COLUMN `message` TO `text`;',
    'CREATE UNIQUE INDEX `one` ON `notes` (`ticket_id`);',
    'CREATE TRIGGER `no` BEFORE INSERT ON `notes` BEGIN SELECT raise(ABORT, 1); END;',
  ]) {
    expect(breaking(separate(harmless, statement))).toEqual([statement]);
  }
});
