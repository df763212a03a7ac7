import { byOption, CommandFailure, databaseCommand, requireBy } from '../../ops/command.ts';
import { resumePush } from './order-push.ts';

export const pushResume = databaseCommand(
  {
    name: 'push:resume',
    summary: 'go on with a push that is stopped or waits',
    purpose:
      'Orders the next attempt for an organization, whether its push was stopped by a 410 or waits after a failure. The Worker carries the order out within 5 minutes. The audit log says who asked for it.',
    usage: 'ORGANIZATION --by NAME',
    example: 'push:resume northwind --by "Ada, the receiver is repaired"',
    failure: 'failure: there is no such organization, it was never pushed, or the database failed',
  },
  (command) => command.argument('<ORGANIZATION>', 'The id of the organization.').addOption(byOption),
  async (withDatabase, organization, options) => {
    const by = requireBy(options.by);
    const { status } = await withDatabase(({ context }) => resumePush(context(), { organization, by }));
    if (status === 'never_pushed')
      throw new CommandFailure(`Organization ${organization} was never pushed, so there is nothing to resume.`);
    console.log(
      `The push of organization ${organization} goes on within 5 minutes. See push:status --organization ${organization}`,
    );
  },
);
