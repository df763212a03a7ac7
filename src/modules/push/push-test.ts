import { Command } from '@commander-js/extra-typings';
import { parseWebhookUrl } from '../../domain/webhook.ts';
import { printFindings } from '../../ops/findings.ts';
import { readAddress, secretsIn } from '../../ops/input.ts';
import { checkReceiver, checkSamples } from './check-receiver.ts';

export const pushTest = new Command('push:test')
  .summary('send samples of messages to a receiver')
  .description(
    'Sends signed samples to a receiver of the push, and prints its correct and wrong reactions: a note, a time entry, an approval, a redaction, an alert, 100 changes, the same again, a note that its system must refuse, and messages that it must refuse itself. The receiver writes them into its system, so use one for tests. Needs WEBHOOK_SECRET in the environment.',
  )
  .argument('<URL>', 'The address of the receiver, as in WEBHOOK_URL.')
  .option('--organization <ID>', 'The organization of the samples. Default: northwind.')
  .option('--ticket <ID>', 'The ticket of the samples. Default: 1001.')
  .option('--user <ID>', 'The technician of the samples. Default: tess.')
  .action(async (address, names) => {
    const url = readAddress('URL', address, parseWebhookUrl, 'write the address of WEBHOOK_URL');
    const secrets = secretsIn('WEBHOOK_SECRET', 'push:test');
    await printFindings([checkReceiver(url, secrets), checkSamples(url, secrets, names)]);
  });
