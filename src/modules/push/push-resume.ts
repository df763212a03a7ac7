import {
  byOption,
  CommandFailure,
  DATABASE_USAGE,
  operatorCommand,
  operatorContext,
  persistToOption,
  remoteOption,
  requireBy,
  withDatabase,
} from '../../ops/command.ts';
import { resumePush } from './order-push.ts';

export const pushResume = operatorCommand({
  name: 'push:resume',
  summary: 'go on with a push that is stopped or waits',
  purpose:
    'Orders the next attempt for an organization, whether its push was stopped by a 410 or waits after a failure. The Worker carries the order out within 5 minutes. The audit log says who asked for it.',
  usage: `ORGANIZATION --by NAME ${DATABASE_USAGE}`,
  example: 'push:resume northwind --by "Ada, the receiver is repaired"',
  failure: 'failure: there is no such organization, it was never pushed, or the database failed',
})
  .argument('<ORGANIZATION>', 'The id of the organization.')
  .addOption(byOption)
  .addOption(remoteOption)
  .addOption(persistToOption)
  .action(run);

interface Options {
  by?: string | undefined;
  remote?: true | undefined;
  persistTo?: string | undefined;
}

async function run(organization: string, options: Options): Promise<void> {
  const by = requireBy(options.by);
  const { status } = await withDatabase(options, (db) => resumePush(operatorContext(db), { organization, by }));
  if (status === 'never_pushed')
    throw new CommandFailure(`Organization ${organization} was never pushed, so there is nothing to resume.`);
  console.log(
    `The push of organization ${organization} goes on within 5 minutes. See push:status --organization ${organization}`,
  );
}
