// npm run changes:export: writes what happened in an organization as lines of JSON.
import { open } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { databaseOptions, runCommand, UsageError, withDatabase } from '../command.ts';
import { exportChanges, intoFile, PRIVATE, withFile } from '../export-changes.ts';

const usage =
  'npm run -s changes:export -- ORGANIZATION [--cursor CURSOR] [--output FILE] [--remote | --persist-to DIRECTORY]';

await runCommand(usage, async () => {
  const { values: options, positionals } = parseArgs({
    allowPositionals: true,
    options: { ...databaseOptions, cursor: { type: 'string' }, output: { type: 'string' } },
  });
  const [organization, ...rest] = positionals;
  if (organization === undefined || rest.length > 0) throw new UsageError('Name one organization.');
  const exportTo = async (write: (lines: string) => Promise<unknown>) => {
    const { cursor, count } = await withDatabase(options, (db) =>
      exportChanges(db, organization, options.cursor ?? null, write),
    );
    console.error(
      `${count} changes. ${cursor === null ? 'Nothing has happened yet.' : `Go on later with --cursor ${cursor}`}`,
    );
  };
  const { output } = options;
  if (output === undefined) return exportTo(toStandardOutput);
  await withFile(
    output,
    () => open(output, 'a', PRIVATE),
    (file) => exportTo(intoFile(file)),
  );
});

function toStandardOutput(lines: string): Promise<void> {
  return new Promise((resolve, reject) => process.stdout.write(lines, (err) => (err ? reject(err) : resolve())));
}
