import { Command } from '@commander-js/extra-typings';
import { cursorOption, databaseCommand } from '../command.ts';
import { exportChanges } from '../export-changes.ts';
import { count, print } from '../output.ts';
import { printableJson } from '../printable.ts';

export const changesExport = databaseCommand(
  new Command('changes:export')
    .summary('write the changes of an organization as lines of JSON')
    .description(
      'Writes all changes of an organization, oldest first, as lines of JSON. The last line on standard error has the cursor with which a later export continues. After a failure, the lines written so far are right.',
    )
    .argument('<ORGANIZATION>', 'The id of the organization.')
    .option('--cursor <CURSOR>', 'Start after the change with this cursor.', cursorOption),
  async (withDatabase, organization, { cursor: from = null }) => {
    const write = (lines: string) => print(printableJson(lines));
    const { cursor, count: exported } = await withDatabase(({ context }) =>
      exportChanges(context, organization, from, write),
    );
    const next = cursor === null ? 'The organization has no changes.' : `Continue later with --cursor ${cursor}`;
    console.error(`${count(exported, 'change')}. ${next}`);
  },
);
