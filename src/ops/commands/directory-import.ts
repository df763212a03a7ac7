import { open } from 'node:fs/promises';
import { Command } from '@commander-js/extra-typings';
import { databaseCommand } from '../command.ts';
import { importDirectory } from '../import/import-directory.ts';
import { count } from '../output.ts';
import { printable } from '../printable.ts';

export const directoryImport = databaseCommand(
  new Command('directory:import')
    .summary('import a directory file into the database')
    .description(
      'Imports a directory file: organizations, users, companies, agreements and tickets, one JSON object on each line. The whole file is checked first. Each organization is then written in one transaction, and only what differs; a second import of the same file writes nothing.',
    )
    .argument('<FILE>', 'The directory file; - reads standard input.')
    .option('--dry-run', 'Write nothing; print how many records of each type and organization would change.')
    .option(
      '--recreate',
      'Create organizations of the file again that were erased. Their earlier records stay erased.',
    ),
  async (withDatabase, file, options) => {
    const { dryRun = false, recreate = false } = options;
    const source = file === '-' ? process.stdin : (await open(file)).createReadStream();
    const counts = new Map<string, number>();
    const result = await withDatabase(({ db }) =>
      importDirectory(db, source, {
        dryRun,
        recreate,
        onChange: (organization, { type, status }) => {
          const what = `${organization}, ${type} ${status}`;
          counts.set(what, (counts.get(what) ?? 0) + 1);
        },
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
    if (dryRun) for (const [what, number] of counts) console.log(`${what}: ${number}`);
    const { records, organizations, created, changed, rowsWritten } = result;
    const did = dryRun ? 'would be ' : '';
    console.log(
      `${count(records, 'record')} of ${count(organizations, 'organization')}: ${created} ${did}created, ${changed} ${did}changed, ${count(rowsWritten, 'row')} written.`,
    );
  },
);
