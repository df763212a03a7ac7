import { releaseChanges } from '../../services/work/release-changes.ts';
import { databaseCommand, onCode, requireCursor } from '../command.ts';
import { CommandFailure } from '../failures.ts';

export const workRelease = databaseCommand(
  {
    name: 'work:release',
    summary: 'confirm that the PSA has stored the changes up to a cursor',
    purpose:
      'Confirms, in the place of the PSA, that it has stored all changes of an organization up to a cursor. Only what is released is archived. A release cannot be taken back.',
    example: 'work:release northwind --cursor 9f86d081884c7d65.150.0198c0de-0000-7000-8000-000000000000',
    failure: 'failure: the cursor is of another organization or database, or the database failed',
  },
  (command) =>
    command
      .argument('<ORGANIZATION>', 'The id of the organization.')
      .requiredOption(
        '--cursor <CURSOR>',
        'The cursor of the last change that is stored, as changes:export prints it.',
      ),
  async (withDatabase, organization, { cursor }) => {
    requireCursor('--cursor', cursor, 'Take one from a line of changes:export.');
    const { status, seq } = await withDatabase(({ context }) =>
      releaseChanges(context(), { organization, cursor }).catch(
        onCode('cursor_reset', () => {
          throw new CommandFailure(
            `The cursor is not one of organization ${organization} in this database. Nothing was released. Take one from a line of changes:export.`,
          );
        }),
      ),
    );
    const earlier = status === 'released' ? '' : ' They were released before; nothing has changed.';
    console.log(`The changes of organization ${organization} up to ${seq} are released.${earlier}`);
  },
);
