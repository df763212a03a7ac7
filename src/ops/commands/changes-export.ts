import { databaseCommand, onCode, requireCursor } from '../command.ts';
import { exportChanges, withoutOption } from '../export-changes.ts';
import { CommandFailure } from '../failures.ts';
import { count, print, progress } from '../output.ts';
import { printableJson } from '../printable.ts';

export const changesExport = databaseCommand(
  {
    name: 'changes:export',
    summary: 'write the changes of an organization as lines of JSON',
    purpose:
      'Writes all changes of an organization, oldest first, as lines of JSON, those in the archive included. The last line on standard error has the cursor with which a later export continues.',
    example: 'changes:export northwind > northwind.ndjson',
    failure: 'failure: the lines written so far are right, and the last cursor among them continues',
  },
  (command) =>
    command
      .argument('<ORGANIZATION>', 'The id of the organization.')
      .option('--cursor <CURSOR>', 'Start after the change with this cursor.')
      .addOption(withoutOption),
  async (withDatabase, organization, { cursor: after, without }) => {
    const advice = 'Take one from a line of an earlier export, or leave the option out to start from the beginning.';
    const from = after === undefined ? null : requireCursor('--cursor', after, advice);
    const write = (lines: string) => print(printableJson(lines));
    const { cursor, count: exported } = await withDatabase(({ context }) =>
      exportChanges(context, organization, from, write, {
        without,
        onProgress: (changes) => progress(`${count(changes, 'change')} exported`),
      }),
    ).catch(
      onCode('cursor_reset', () => {
        throw new CommandFailure(
          'The position of the cursor is not in this database, which was restored or replaced. Leave out --cursor to start from the beginning.',
        );
      }),
    );
    progress();
    const next = cursor === null ? 'The organization has no changes.' : `Continue later with --cursor ${cursor}`;
    console.error(`${count(exported, 'change')}. ${next}`);
  },
);
