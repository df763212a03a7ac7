import { readdir, readFile } from 'node:fs/promises';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { REVIEW_DECISIONS } from '../../src/domain/access-review.ts';
import { ACTOR_TYPES } from '../../src/domain/audit-actions.ts';
import { MAX_REASON_LENGTH } from '../../src/domain/decision-reason.ts';
import { MAX_TEXT_LENGTH } from '../../src/domain/fields.ts';
import { MAX_HOURLY_RATE_MINOR } from '../../src/domain/money.ts';
import { AGREEMENT_SOURCES, MAX_MINUTES, TIME_ENTRY_STATUSES } from '../../src/domain/time-entry.ts';
import { LONG_DAY } from '../../src/domain/unusual.ts';

const schema = await readFile('src/db/schema.sql', 'utf8');
const names = (await readdir('migrations')).filter((name) => name.endsWith('.sql')).sort();
const migrations = await Promise.all(names.map((name) => readFile(`migrations/${name}`, 'utf8')));

/** The statements of all tables, indexes and triggers, by their names. */
function statementsOf(scripts: readonly string[]) {
  const db = new DatabaseSync(':memory:');
  for (const script of scripts) db.exec(script);
  const objects = db.prepare(
    "select name, sql from sqlite_schema where sql is not null and name not like 'sqlite\\_%' escape '\\'",
  );
  return Object.fromEntries(objects.all().map(({ name, sql }) => [name, withoutStyle(String(sql))]));
}

/** A statement without its comments, quotes, capital letters and white space, except in literals. */
function withoutStyle(sql: string): string {
  const parts = sql.replaceAll(/--.*/g, '').match(/'[^']*'|[^']+/g) ?? [];
  return parts
    .map((part) => (part.startsWith("'") ? part : part.toLowerCase().replaceAll(/[`"]/g, '').replaceAll(/\s+/g, ' ')))
    .join('')
    .replaceAll(' on update no action on delete no action', '')
    .replaceAll(/ ?([(),]) ?/g, '$1');
}

test('schema.sql is what the migrations create', () => {
  const migrated = statementsOf(migrations);
  expect(Object.keys(migrated).length).toBeGreaterThan(80);
  expect(statementsOf([schema])).toEqual(migrated);
});

const oneOf = (column: string, values: readonly string[]) =>
  values.map((value) => `${column} = '${value}'`).join(' or ');
const WHITE_SPACE = Array.from({ length: 0x10000 }, (_, code) => code).filter(
  (code) => String.fromCharCode(code).trim() === '',
);
const TEXT = `char(${WHITE_SPACE.join(',')}))) between 1 and ${MAX_TEXT_LENGTH}`;

test.each([
  ['agreements_rate', `between 0 and ${MAX_HOURLY_RATE_MINOR}`],
  ['organizations_rate', `between 0 and ${MAX_HOURLY_RATE_MINOR}`],
  ['time_entries_rate', `between 0 and ${MAX_HOURLY_RATE_MINOR}`],
  ['time_entries_minutes', `between 1 and ${MAX_MINUTES}`],
  ['notes_message', TEXT],
  ['time_entries_description', TEXT],
  ['psa_refusals_reason', TEXT],
  ['access_review_decisions_reason', `between 1 and ${MAX_REASON_LENGTH}`],
  ['access_review_decisions_decision', oneOf('decision', REVIEW_DECISIONS)],
  ['audit_log_actor_type', oneOf('actor_type', ACTOR_TYPES)],
  ['time_entries_source', oneOf('agreement_source', AGREEMENT_SOURCES)],
  ['time_entries_status', oneOf('status', TIME_ENTRY_STATUSES)],
  ['key_days_long', `where minutes >= ${LONG_DAY.minutes}`],
])('%s in schema.sql has the rule of the domain', (name, rule) => {
  const lines = schema.split('\n').filter((line) => line.includes(` ${name} `));
  expect(lines).toHaveLength(1);
  expect(lines[0]).toContain(rule);
});
