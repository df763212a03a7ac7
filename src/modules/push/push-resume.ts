import { callPsa } from '../../ops/call-psa.ts';
import { byOption, operatorCommand, requireBy } from '../../ops/command.ts';

export const pushResume = operatorCommand({
  name: 'push:resume',
  summary: 'try again now, if the push is stopped or waits',
  purpose:
    'Resumes a push immediately, whether it was stopped by a 410 or waits after a failure. The command signs a message to /psa with PSA_SECRET in the environment. The audit log shows who asked for it.',
  usage: 'https://HOST ORGANIZATION --by NAME',
  example: 'push:resume https://tickets.example northwind --by "Ada, the receiver is repaired"',
  failure: 'failure: there is no such organization, the deployment pushes nothing, or it did not respond',
})
  .argument('<https://HOST>', 'The address of the deployment.')
  .argument('<ORGANIZATION>', 'The id of the organization.')
  .addOption(byOption)
  .action(async (address, organization, options) => {
    const by = requireBy(options.by);
    const status = await callPsa('push:resume', address, 'push.resume', { organization, by });
    console.log(
      status === 'resumed'
        ? `The push of organization ${organization} tries again now.`
        : `The push of organization ${organization} was neither stopped nor waiting.`,
    );
  });
