import { parseWebhookUrl } from '../../domain/webhook.ts';
import { readAddress, secretsIn } from '../../ops/input.ts';
import type { OpsModule } from '../../ops/module.ts';
import { diagnoseReceiver } from './diagnose-receiver.ts';
import { pushResume, pushSkip } from './push-commands.ts';
import { pushStatus } from './push-status.ts';
import { pushTest } from './push-test.ts';

export const pushOps: OpsModule = {
  databaseCommands: [pushStatus],
  commands: [pushResume, pushSkip, pushTest],
  checks: [
    {
      flags: '--receiver <URL>',
      description: 'Also send signed test events to the receiver of the push. Needs WEBHOOK_SECRET in the environment.',
      prepare: (text) => {
        const url = readAddress('--receiver', text, parseWebhookUrl, 'write the address of WEBHOOK_URL');
        const secrets = secretsIn('WEBHOOK_SECRET', '--receiver');
        return () => diagnoseReceiver(url, secrets);
      },
    },
  ],
};
