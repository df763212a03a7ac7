import type { Statement } from '../../src/db/statement.ts';

const sources = import.meta.glob<string>('../../src/**/*.ts', { eager: true, query: '?raw', import: 'default' });
const modules = import.meta.glob<Record<string, unknown>>('../../src/**/*.ts');

/** A statement, and where it is exported: as itself, or in a list or record of statements. */
interface NamedStatement {
  /** The file in `src`. */
  path: string;
  /** The names of the export and, in a list or record, of the statement in it. */
  names: string[];
  statement: Statement<Record<string, string | number | null>, Record<string, unknown>>;
}

const isStatement = (value: object): value is NamedStatement['statement'] => 'text' in value && 'bind' in value;

function statementsIn(path: string, names: string[], value: unknown): NamedStatement[] {
  if (typeof value !== 'object' || value === null) return [];
  if (isStatement(value)) return [{ path, names, statement: value }];
  return Object.entries(value).flatMap(([name, member]) => statementsIn(path, [...names, name], member));
}

/** The files that define statements, by their paths in `src`, and how many calls of `statement` or `factSource` each has. */
export const statementFiles = Object.entries(sources).flatMap(([path, text]) => {
  if (!/from '[./]*\/(?:db\/)?(?:statement|fact-statements)\.ts'/.test(text)) return [];
  const calls = [...text.matchAll(/(?<!function |\w)(?:statement|factSource)(?=[<(])/g)].length;
  return calls > 0 ? [{ path: path.replace('../../src/', ''), calls }] : [];
});

/** Every statement that a file of `src` exports. */
export const everyStatement = (
  await Promise.all(
    statementFiles.map(async ({ path }) => {
      const exported = await modules[`../../src/${path}`]?.();
      return Object.entries(exported ?? {}).flatMap(([name, value]) => statementsIn(path, [name], value));
    }),
  )
).flat();
