import { byOption, CommandFailure, databaseCommand, requireBy, requireCursor, UsageError } from '../../ops/command.ts';
import { skipPush } from './order-push.ts';

export const pushSkip = databaseCommand(
  {
    name: 'push:skip',
    summary: 'leave out changes that the receiver refuses',
    purpose:
      'Orders that the changes of an organization up to a cursor are not pushed, and that the push goes on after them. They stay in the feed, where the PSA can read them. The Worker carries the order out within 5 minutes. The audit log says which changes were left out, and who asked for it. A push that was stopped stays stopped until push:resume.',
    usage: 'ORGANIZATION --to CURSOR --by NAME',
    example: 'push:skip northwind --to 9f86d081884c7d65.150.0198c0de-0000-7000-8000-000000000000 --by "Ada, ticket 77"',
    failure:
      'failure: the cursor is not after the last confirmed change, is of another organization or database, or the database failed',
  },
  (command) =>
    command
      .argument('<ORGANIZATION>', 'The id of the organization.')
      .option('--to <CURSOR>', 'The cursor of the last change to leave out, as changes:export prints it.')
      .addOption(byOption),
  async (withDatabase, organization, options) => {
    const { to } = options;
    if (to === undefined) throw new UsageError('Add --to CURSOR: the cursor of the last change to leave out.');
    requireCursor('--to', to, 'Take one from a line of changes:export.');
    const by = requireBy(options.by);
    const skipped = await withDatabase(({ context }) => skipPush(context(), { organization, to, by }));
    if (skipped.status === 'moved')
      throw new CommandFailure(
        'The push has advanced meanwhile. Nothing was ordered; look at push:status and call again.',
      );
    console.log(
      `Changes ${skipped.from} to ${skipped.to} of organization ${organization} are left out; the push goes on after them within 5 minutes. See push:status --organization ${organization}`,
    );
  },
);
