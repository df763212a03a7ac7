import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { ACTOR_TYPES } from '../../src/domain/audit-actions.ts';
import { MAX_TEXT_LENGTH } from '../../src/domain/fields.ts';
import { MAX_HOURLY_RATE_MINOR } from '../../src/domain/money.ts';
import { AGREEMENT_SOURCES, MAX_MINUTES, TIME_ENTRY_STATUSES } from '../../src/domain/record-kinds.ts';

const schema = await readFile('migrations/0000_schema.sql', 'utf8');
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
  ['audit_log_actor_type', oneOf('actor_type', ACTOR_TYPES)],
  ['time_entries_source', oneOf('agreement_source', AGREEMENT_SOURCES)],
  ['time_entries_status', oneOf('status', TIME_ENTRY_STATUSES)],
])('%s in the schema has the rule of the domain', (name, rule) => {
  const lines = schema.split('\n').filter((line) => line.includes(` ${name} `));
  expect(lines).toHaveLength(1);
  expect(lines[0]).toContain(rule);
});
