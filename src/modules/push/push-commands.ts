import { callPsa } from '../../ops/call-psa.ts';
import { byOption, operatorCommand, requireCursor } from '../../ops/command.ts';

export const pushResume = operatorCommand({
  name: 'push:resume',
  summary: 'try again now, if the push is stopped or waits',
  purpose:
    'Resumes a push immediately, whether it was stopped by a 410 or waits after a failure. The command signs a message to /psa with PSA_SECRET in the environment. The audit log shows who asked for it.',
  example: 'push:resume https://tickets.example northwind --by "Ada, the receiver is repaired"',
  failure: 'failure: there is no such organization, the deployment pushes nothing, or it did not respond',
})
  .argument('<https://HOST>', 'The address of the deployment.')
  .argument('<ORGANIZATION>', 'The id of the organization.')
  .addOption(byOption)
  .action(async (address, organization, { by }) => {
    const status = await callPsa('push:resume', address, 'push.resume', { organization, by });
    console.log(
      status === 'resumed'
        ? `The push of organization ${organization} tries again now.`
        : `The push of organization ${organization} was neither stopped nor waiting, or an attempt began less than 10 seconds ago.`,
    );
  });

export const pushSkip = operatorCommand({
  name: 'push:skip',
  summary: 'leave out changes that the receiver refuses',
  purpose:
    'Leaves out changes of an organization up to a cursor, and tries again after them. They stay in the feed, where the PSA can read them. The command signs a message to /psa with PSA_SECRET in the environment. The audit log shows which changes were left out, and who asked for it. A push that was stopped stays stopped until push:resume.',
  example:
    'push:skip https://tickets.example northwind --to 9f86d081884c7d65.150.0198c0de-0000-7000-8000-000000000000 --by "Ada, ticket 77"',
  failure: 'failure: the cursor is of another organization or database, or the deployment did not respond',
})
  .argument('<https://HOST>', 'The address of the deployment.')
  .argument('<ORGANIZATION>', 'The id of the organization.')
  .requiredOption('--to <CURSOR>', 'The cursor of the last change to leave out, as changes:export prints it.')
  .addOption(byOption)
  .action(async (address, organization, { to, by }) => {
    requireCursor('--to', to, 'Take one from a line of changes:export.');
    const status = await callPsa('push:skip', address, 'push.skip', { organization, to, by });
    console.log(
      status === 'skipped'
        ? `The changes of organization ${organization} up to the cursor are left out.`
        : `The changes of organization ${organization} up to the cursor were delivered or left out before.`,
    );
  });
