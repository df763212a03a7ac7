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

const names = new Set(
  [directory, keys, work, audit, modules]
    .flatMap((group) => Object.values(group).filter((table) => is(table, SQLiteTable)))
    .flatMap((table) => [getTableConfig(table).name, ...getTableConfig(table).columns.map(({ name }) => name)])
    // A word such as `notes` is also a name in the API; one with an underscore is hardly anything else.
    .filter((name) => name.includes('_')),
);

/** Strings that have such a name with another meaning. */
const EXCEPTIONS = [
  // The message of a trigger, by which its refusal is recognized.
  'services/call-d1.ts: directory_clock',
  // The kind of target in an action of the audit log.
  'services/keys/change-key-rules.ts: key_rules',
];

/** What ends the present place: in code, comments and strings are whole. */
const IN_CODE = /\/\/.*|\/\*[\s\S]*?\*\/|'(?:[^'\\\n]|\\.)*'|"[^"\n]*"|\\.|[`{}]/g;
const IN_TEMPLATE = /\\.|\$\{|`/g;

/** The names of tables and columns in strings, and in templates other than those of `sql`. */
function namesInStrings(source: string): string[] {
  const found: string[] = [];
  const look = (text: string) => found.push(...(text.match(/[a-z_]+/g) ?? []).filter((word) => names.has(word)));
  /** The templates, substitutions and blocks around the present place. */
  const within: ('sql' | 'text' | 'code')[] = [];
  let position = 0;
  for (;;) {
    const place = within.at(-1) ?? 'code';
    const pattern = place === 'code' ? IN_CODE : IN_TEMPLATE;
    pattern.lastIndex = position;
    const match = pattern.exec(source);
    if (!match) break;
    const [token] = match;
    const before = source.slice(position, match.index);
    position = pattern.lastIndex;
    if (place === 'text') look(before);
    if (token === '`' && place === 'code') within.push(/\bsql(?:<[^`]*>)?$/.test(before) ? 'sql' : 'text');
    else if (token === '`' || token === '}') within.pop();
    else if (token === '{' || token === '${') within.push('code');
    else if (/^['"]/.test(token)) look(token);
  }
  if (within.length > 0) throw new Error('a template or block has no end');
  return found;
}

test('no name of a table or column stands in a string', async () => {
  const found: string[] = [];
  for await (const path of glob('{db,services,modules}/**/*.{ts,tsx}', { cwd: 'src' })) {
    if (path.startsWith('db/schema/')) continue;
    const inFile = namesInStrings(await readFile(join('src', path), 'utf8'));
    found.push(...inFile.map((name) => `${path}: ${name}`));
  }
  expect(found.sort()).toEqual(EXCEPTIONS);
});

test.each([
  ['a string', "run('select 1 from api_keys');", ['api_keys']],
  ['a template', 'run(`select 1 from key_days`);', ['key_days']],
  ['a template of sql', 'run(sql`api_keys`, sql<number>`key_days`);', []],
  ['a comment', "// It's in api_keys\n/** `key_days` */", []],
])('finds the names in %s', (_, source, expected) => {
  expect(namesInStrings(source)).toEqual(expected);
});
