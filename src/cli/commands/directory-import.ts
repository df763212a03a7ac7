// npm run directory:import: brings a directory file into the database.
import { open } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import type { DirectoryDifference } from '../../services/directory/differences.ts';
import { databaseOptions, runCommand, UsageError, withDatabase } from '../command.ts';
import { importDirectory } from '../import/import-directory.ts';
import { printable } from '../printable.ts';

await runCommand('npm run directory:import -- FILE|- [--dry-run] [--remote | --persist-to DIRECTORY]', async () => {
  const { values: options, positionals } = parseArgs({
    allowPositionals: true,
    options: { ...databaseOptions, 'dry-run': { type: 'boolean', default: false } },
  });
  const [file, ...rest] = positionals;
  if (file === undefined || rest.length > 0) throw new UsageError('Name one file, or - for standard input.');
  const dryRun = options['dry-run'];
  const source = file === '-' ? process.stdin : (await open(file)).createReadStream();

  const result = await withDatabase(options, (db) =>
    importDirectory(db, source, {
      dryRun,
      ...(dryRun && { onChange: (organization, change) => console.log(printable(describe(organization, change))) }),
      ...(process.stderr.isTTY && {
        onProgress: ({ step, done, total }) =>
          process.stderr.write(`\r${step} ${done} of ${total} organizations${done === total ? '\n' : ''}`),
      }),
    }),
  );
  if (!result.ok) {
    for (const { at, subject, pointer, code, detail } of result.errors) {
      console.error(printable(`line ${at}, ${subject}${pointer === '' ? '' : `, ${pointer}`} (${code}): ${detail}`));
    }
    console.error(`\n${count(result.errors.length, 'error')}; nothing was written.`);
    process.exitCode = 1;
    return;
  }
  const { records, organizations, created, changed, rowsWritten } = result;
  const did = dryRun ? 'would be ' : '';
  console.log(
    `${count(records, 'record')} of ${count(organizations, 'organization')}: ${created} ${did}created, ${changed} ${did}changed, ${count(rowsWritten, 'row')} written.`,
  );
});

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}

/** One line that says what would become of a record, such as `northwind ticket 1002: company globex → acme`. */
function describe(organization: string, { type, id, before, after }: DirectoryDifference): string {
  const subject = type === 'organization' ? `organization ${id}` : `${organization} ${type} ${id}`;
  if (before === null) return `${subject}: new`;
  const fields = Object.entries(before).filter(([field, value]) => value !== comparable(after[field]));
  return `${subject}: ${fields.map(([field, value]) => `${field} ${shown(field, value)} → ${shown(field, after[field])}`).join(', ')}`;
}

/** A value as SQLite holds it. */
function comparable(value: unknown): unknown {
  return typeof value === 'boolean' ? Number(value) : value;
}

function shown(field: string, value: unknown): string {
  if (/rate$/i.test(field)) return (Number(value) / 100).toFixed(2);
  return value === 0 ? 'false' : value === 1 ? 'true' : JSON.stringify(value);
}
