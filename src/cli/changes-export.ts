// npm run changes:export: writes what happened in an organization as lines of JSON.
import { open } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { databaseOptions, runCommand, UsageError, withDatabase } from './command.ts';
import { exportChanges, intoFile } from './export-changes.ts';

const usage = 'npm run -s changes:export -- ORGANIZATION [--cursor CURSOR] [--output FILE] [--remote | --persist-to DIRECTORY]';

await runCommand(usage, async () => {
  const { values: options, positionals } = parseArgs({
    allowPositionals: true,
    options: { ...databaseOptions, cursor: { type: 'string' }, output: { type: 'string' } },
  });
  const [organization, ...rest] = positionals;
  if (organization === undefined || rest.length > 0) throw new UsageError('Name one organization.');
  const output = options.output === undefined ? undefined : await open(options.output, 'a', 0o600);
  try {
    const write = output ? intoFile(output) : toStandardOutput;
    const { cursor, count } = await withDatabase(options, (db) => exportChanges(db, organization, options.cursor ?? null, write));
    console.error(`${count} changes. ${cursor === null ? 'Nothing has happened yet.' : `Go on later with --cursor ${cursor}`}`);
  } finally {
    await output?.close();
  }
});

function toStandardOutput(lines: string): Promise<void> {
  return new Promise((resolve, reject) => process.stdout.write(lines, (err) => (err ? reject(err) : resolve())));
}
