import { Command } from '@commander-js/extra-typings';
import { releaseChanges } from '../../services/work/release-changes.ts';
import { cursorOption, databaseCommand } from '../command.ts';

export const workRelease = databaseCommand(
  new Command('work:release')
    .summary('confirm that the PSA has stored the changes up to a cursor')
    .description(
      'Confirms, in the place of the PSA, that it has stored all changes of an organization up to a cursor. A release cannot be taken back.',
    )
    .argument('<ORGANIZATION>', 'The id of the organization.')
    .requiredOption(
      '--cursor <CURSOR>',
      'The cursor of the last change that is stored, as changes:export prints it.',
      cursorOption,
    ),
  async (withDatabase, organization, { cursor }) => {
    const { status, seq } = await withDatabase(({ context }) => releaseChanges(context(), { organization, cursor }));
    const earlier = status === 'released' ? '' : ' They were released before; nothing has changed.';
    console.log(`The changes of organization ${organization} up to ${seq} are released.${earlier}`);
  },
);
