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
  expect(everyStatement.length).toBeGreaterThan(60);
});

/** Statements whose fragments are in several files, so that their source does not show the whole text. */
const ASSEMBLED = [
  'explainNote',
  'explainServiceTimeEntry',
  'explainTechnicianTimeEntry',
  'insertNote',
  'insertServiceTimeEntry',
  'insertTechnicianTimeEntry',
  'AUDIT_ROWS.api_key.ofRecord.',
  'countRecord.',
  'findKeyByHash',
  'findChanges',
  'findCursorPosition',
  'FACT_SOURCES.',
  'REVIEW_DUE.',
  'findAuditPage.',
  'findAuditPageOfKey.',
  'findAuditRowsAbout',
];

test('statements.sql contains the statements of a write, the feed, the facts and the audit log', async () => {
  // The statement of a page differs from the one of all organizations only in its range.
  const assembled = titled.filter(
    ({ title }) => ASSEMBLED.some((name) => title.includes(`: ${name}`)) && !title.endsWith('.ofPage'),
  );
  const list = assembled.map(({ title, text }) => `-- ${title}\n${layOut(text)};\n`);
  await expect(list.sort().join('\n')).toMatchFileSnapshot('./statements.sql');
});

/** The text without the indentation of the code. Long lists have one member per line, so that a diff is short. */
function layOut(text: string): string {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const indentation = (line: string) => line.search(/\S/);
  const least = Math.min(...lines.filter((line, index) => index > 0 || indentation(line) > 0).map(indentation));
  return lines
    .map((line) => ' '.repeat(Math.max(0, indentation(line) - least)) + line.trim())
    .flatMap((line) => (line.length > 120 ? splitList(line) : line))
    .join('\n');
}

/** Breaks a line after the commas that are in no string and in no brackets but those of the whole list. */
function splitList(line: string): string[] {
  const indentation = `${' '.repeat(line.search(/\S/))}    `;
  const parts = [''];
  let depth = 0;
  for (const [token] of line.matchAll(/'[^']*'|, |./g)) {
    if (token === '(') depth += 1;
    if (token === ')') depth -= 1;
    if (token === ', ' && depth === 0) parts[parts.length - 1] += ',';
    else parts[parts.length - 1] += token;
    if (token === ', ' && depth === 0) parts.push(indentation);
  }
  return parts;
}
