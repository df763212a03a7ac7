import { open } from 'node:fs/promises';
import { databaseCommand, onCode, requireCursor } from '../command.ts';
import { exportChanges, intoFile, PRIVATE, withFile, withoutOption } from '../export-changes.ts';
import { CommandFailure } from '../failures.ts';
import { count, print, progress } from '../output.ts';
import { printableJson } from '../printable.ts';

export const changesExport = databaseCommand(
  {
    name: 'changes:export',
    summary: 'write the changes of an organization as lines of JSON',
    purpose:
      'Writes all changes of an organization, oldest first, as lines of JSON, those in the archive included. The last line on standard error has the cursor with which a later export continues.',
    example: 'changes:export northwind --output northwind.ndjson',
    failure: 'failure: the lines written so far are right, and the last cursor among them continues',
  },
  (command) =>
    command
      .argument('<ORGANIZATION>', 'The id of the organization.')
      .option('--cursor <CURSOR>', 'Start after the change with this cursor.')
      .option('--output <FILE>', 'Append to this file instead of writing to standard output.')
      .addOption(withoutOption),
  async (withDatabase, organization, options) => {
    const advice = 'Take one from a line of an earlier export, or leave the option out to start from the beginning.';
    const from = options.cursor === undefined ? null : requireCursor('--cursor', options.cursor, advice);
    const exportTo = async (write: (lines: string) => Promise<unknown>) => {
      const { cursor, count: exported } = await withDatabase(({ context }) =>
        exportChanges(context, organization, from, write, {
          without: options.without,
          onProgress: (changes) => progress.show(`${count(changes, 'change')} exported`),
        }),
      ).catch(
        onCode('cursor_reset', () => {
          throw new CommandFailure(
            'The position of the cursor is not in this database, which was restored or replaced. Leave out --cursor to start from the beginning.',
          );
        }),
      );
      progress.clear();
      const next = cursor === null ? 'The organization has no changes.' : `Continue later with --cursor ${cursor}`;
      console.error(`${count(exported, 'change')}. ${next}`);
    };
    const { output } = options;
    if (output === undefined) return exportTo((lines) => print(printableJson(lines)));
    await withFile(
      output,
      () => open(output, 'a', PRIVATE),
      (file) => exportTo(intoFile(file)),
    );
  },
);
