import { glob, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { is } from 'drizzle-orm';
import { getTableConfig, SQLiteTable } from 'drizzle-orm/sqlite-core';
import { expect, test } from 'vitest';
import * as audit from '../../src/db/schema/audit.ts';
import * as directory from '../../src/db/schema/directory.ts';
import * as keys from '../../src/db/schema/keys.ts';
import * as modules from '../../src/db/schema/modules.ts';
import * as work from '../../src/db/schema/work.ts';

const tables = [directory, keys, work, audit, modules]
  .flatMap((group) => Object.values(group).filter((table) => is(table, SQLiteTable)))
  .map(getTableConfig);

const names = new Set(
  tables
    .flatMap((table) => [table.name, ...table.columns.map(({ name }) => name)])
    // A word such as `notes` is also a name in the API; one with an underscore is hardly anything else.
    .filter((name) => name.includes('_')),
);

/** The beginning of a statement, up to the name of a table. */
const STATEMENT = new RegExp(
  `^\\W*(?:select|insert|update|delete|with)\\s.*?\\b(${tables.map(({ name }) => name).join('|')})\\b`,
  's',
);

/** Strings that have such a name with another meaning. */
const EXCEPTIONS = [
  // Paths and fields of the PSA's own API.
  'adapters/redmine/redmine.ts: time_entries',
  // The kind of target in an action of the audit log.
  'domain/audit-actions.ts: key_rules',
  'http/settings/key-rules.tsx: key_rules',
  // The name of a job.
  'jobs.ts: refused_requests',
  // The message of a trigger, by which its refusal is recognized.
  'services/call-d1.ts: directory_clock',
  // The kind of target again.
  'services/keys/change-key-rules.ts: key_rules',
];

/** What ends the present place: in code, comments, regular expressions and strings are whole. */
const IN_CODE =
  /\/\/.*|\/\*[\s\S]*?\*\/|(?<=[(,=:!&|?[>]\s*)\/(?:[^/\\\n[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/|'(?:[^'\\\n]|\\.)*'|"[^"\n]*"|\\.|[`{}]/g;
const IN_TEMPLATE = /\\.|\$\{|`/g;

/** The names of tables and columns in strings, and in templates other than those of `sql`. */
function namesInStrings(source: string): string[] {
  const found: string[] = [];
  const look = (text: string) => {
    const words = (text.match(/[a-z_]+/g) ?? []).filter((word) => names.has(word));
    const [, table] = STATEMENT.exec(text) ?? [];
    if (table !== undefined && !names.has(table)) words.push(table);
    found.push(...words);
  };
  /** The templates, substitutions and blocks around the present place, with what was read of each. */
  const within: { place: 'sql' | 'text' | 'code'; text: string }[] = [];
  let position = 0;
  for (;;) {
    const inner = within.at(-1) ?? { place: 'code', text: '' };
    const pattern = inner.place === 'code' ? IN_CODE : IN_TEMPLATE;
    pattern.lastIndex = position;
    const match = pattern.exec(source);
    if (!match) break;
    const [token] = match;
    const before = source.slice(position, match.index);
    position = pattern.lastIndex;
    inner.text += before;
    if (token === '`' && inner.place === 'code')
      within.push({ place: /\bsql(?:<[^`]*>)?$/.test(before) ? 'sql' : 'text', text: '' });
    else if (token === '{' || token === '${') within.push({ place: 'code', text: '' });
    else if (token === '`' || token === '}') within.pop();
    else if (/^['"]/.test(token)) look(token);
    if (token === '`' && inner.place === 'text') look(inner.text);
  }
  if (within.length > 0) throw new Error('a template or block has no end');
  return found;
}

const isForeign = (path: string) => /(^|\/)(node_modules|dist)$/.test(path);

test('no string contains the name of a table or column', async () => {
  const found: string[] = [];
  for await (const path of glob('**/*.{ts,tsx}', { cwd: 'src', exclude: isForeign })) {
    if (path.startsWith('db/schema/') || path.endsWith('.d.ts')) continue;
    const inFile = namesInStrings(await readFile(join('src', path), 'utf8'));
    found.push(...new Set(inFile.map((name) => `${path}: ${name}`)));
  }
  expect(found.sort()).toEqual(EXCEPTIONS);
});

test.each([
  ['a string', "run('select 1 from api_keys');", ['api_keys']],
  ['a template', 'run(`select 1 from key_days`);', ['key_days']],
  ['a statement with a name that is also a word', "run('select 1 from notes');", ['notes']],
  ['a statement with a substitution', `run(\`delete \${x} from notes\`);`, ['notes']],
  ['other text with such a word', "print('notes', `updated tickets`);", []],
  ['code after a regular expression with quotes', "match(/['`{]/); run('api_keys');", ['api_keys']],
  ['a template of sql', 'run(sql`api_keys`, sql<number>`key_days`);', []],
  ['a comment', "// It's in api_keys\n/** `key_days` */", []],
])('finds the names in %s', (_, source, expected) => {
  expect(namesInStrings(source)).toEqual(expected);
});
