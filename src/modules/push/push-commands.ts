import { Command } from '@commander-js/extra-typings';
import { callPsa } from '../../ops/call-psa.ts';
import { byOption } from '../../ops/command.ts';

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
