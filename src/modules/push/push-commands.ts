import { Command } from '@commander-js/extra-typings';
import { callPsa } from '../../ops/call-psa.ts';
import { byOption, cursorOption } from '../../ops/command.ts';

export const pushResume = new Command('push:resume')
  .summary('try again now, if the push is stopped or waits')
  .description(
    'Resumes a push immediately, whether it was stopped by a 410 or waits after a failure. The command signs a message to /psa with PSA_SECRET in the environment. The audit log shows who asked for it.',
  )
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

export const pushSkip = new Command('push:skip')
  .summary('leave out changes that the receiver refuses')
  .description(
    'Leaves out changes of an organization up to a cursor, and tries again after them. They stay in the feed, where the PSA can read them. The command signs a message to /psa with PSA_SECRET in the environment. The audit log shows which changes were left out, and who asked for it. A push that was stopped stays stopped until it is resumed.',
  )
  .argument('<https://HOST>', 'The address of the deployment.')
  .argument('<ORGANIZATION>', 'The id of the organization.')
  .requiredOption(
    '--to <CURSOR>',
    'The cursor of the last change to leave out, as changes:export prints it.',
    cursorOption,
  )
  .addOption(byOption)
  .action(async (address, organization, { to, by }) => {
    const status = await callPsa('push:skip', address, 'push.skip', { organization, to, by });
    console.log(
      status === 'skipped'
        ? `The changes of organization ${organization} up to the cursor are left out.`
        : `The changes of organization ${organization} up to the cursor were delivered or left out before.`,
    );
  });
