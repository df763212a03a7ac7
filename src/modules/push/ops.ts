import { parseWebhookUrl } from '../../domain/webhook.ts';
import { UsageError } from '../../ops/command.ts';
import { readAddress, secretsIn } from '../../ops/input.ts';
import type { OpsModule } from '../../ops/module.ts';
import { diagnoseReceiver, diagnoseSamples } from './diagnose-receiver.ts';
import { pushResume, pushSkip } from './push-commands.ts';
import { pushStatus } from './push-status.ts';
import { pushTest } from './push-test.ts';
import { parsePageLimit } from './rules.ts';

export const pushOps: OpsModule = {
  variables: { WEBHOOK_LIMIT: parsePageLimit },
  databaseCommands: [pushStatus],
  commands: [pushResume, pushSkip, pushTest],
  checks: [
    {
      flags: '--receiver <URL>',
      description: 'Also send signed test events to the receiver of the push. Needs WEBHOOK_SECRET in the environment.',
      prepare: (text) => {
        const { url, secrets } = receiverIn(text);
        return () => diagnoseReceiver(url, secrets);
      },
    },
    {
      flags: '--sample',
      description:
        'With --receiver: also send a sample of every kind of message. The receiver writes them into its system.',
      prepare: (_, { receiver }) => {
        if (typeof receiver !== 'string') throw new UsageError('--sample needs --receiver URL.');
        const { url, secrets } = receiverIn(receiver);
        return () => diagnoseSamples(url, secrets);
      },
    },
  ],
};

/** @throws UsageError */
function receiverIn(text: string) {
  const url = readAddress('--receiver', text, parseWebhookUrl, 'write the address of WEBHOOK_URL');
  return { url, secrets: secretsIn('WEBHOOK_SECRET', '--receiver') };
}
