import { isWellFormedKey } from '../../domain/api-key.ts';
import { parseNoticeUrl, parseWebhookSecrets, parseWebhookUrl, type WebhookSecret } from '../../domain/webhook.ts';
import { diagnoseNotices } from '../../modules/alerts/diagnose-notices.ts';
import { diagnosePsa, diagnoseReceiver } from '../../modules/psa/diagnose-psa.ts';
import { operatorCommand, UsageError } from '../command.ts';
import { diagnose } from '../diagnose.ts';
import { count, print } from '../output.ts';
import { printable } from '../printable.ts';
import type { Finding } from '../probe.ts';
import { readSecret } from '../secret.ts';

export const doctor = operatorCommand({
  name: 'doctor',
  summary: 'check a deployment from outside',
  purpose:
    'Checks a deployment from outside, as an automation sees it, and with the options as the PSA does. Each failure says what it means and what to do. Nothing is written, except for the test text of --notices.',
  usage: 'https://HOST [--key-stdin] [--psa] [--receiver URL] [--notices]',
  example: 'doctor https://tickets.example',
  failure: 'at least one check failed',
})
  .argument('<https://HOST>', 'The address of the deployment.')
  .option('--key-stdin', 'Also check the key on standard input.')
  .option('--psa', 'Also send signed messages to /psa. Needs PSA_SECRET in the environment.')
  .option(
    '--receiver <URL>',
    'Also send signed test events to the receiver of the push. Needs WEBHOOK_SECRET in the environment.',
  )
  .option('--notices', 'Also send a test text to the address in NOTICE_URL in the environment.')
  .action(run);

interface Options {
  keyStdin?: true | undefined;
  psa?: true | undefined;
  receiver?: string | undefined;
  notices?: true | undefined;
}

async function run(address: string, options: Options): Promise<void> {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (!url || !/^https?:$/.test(url.protocol) || url.pathname !== '/') {
    throw new UsageError('The address begins with https:// and ends with the host, such as https://tickets.example.');
  }
  const psaSecrets = options.psa ? secretsIn('PSA_SECRET', '--psa') : [];
  const receiver =
    options.receiver === undefined
      ? undefined
      : readUrl('--receiver', options.receiver, parseWebhookUrl, 'write the address of WEBHOOK_URL');
  const receiverSecrets = receiver === undefined ? [] : secretsIn('WEBHOOK_SECRET', '--receiver');
  const noticeUrl = options.notices
    ? readUrl('NOTICE_URL', process.env['NOTICE_URL'] ?? '', parseNoticeUrl, '--notices needs it in the environment')
    : undefined;
  const key = options.keyStdin ? await readKey() : undefined;

  let failed = 0;
  const show = async (findings: AsyncIterable<Finding>) => {
    for await (const { ok, check, says } of findings) {
      if (!ok) failed += 1;
      await print(`${printable(`${ok ? 'ok  ' : 'FAIL'}  ${check}: ${says}`)}\n`);
    }
  };
  await show(diagnose(url, key));
  if (options.psa) await show(diagnosePsa(url.origin, psaSecrets));
  if (receiver !== undefined) await show(diagnoseReceiver(receiver, receiverSecrets));
  if (noticeUrl !== undefined) await show(diagnoseNotices(noticeUrl));
  await print(failed === 0 ? '\nAll checks passed.\n' : `\n${count(failed, 'check')} failed.\n`);
  if (failed > 0) process.exitCode = 1;
}

/** The secrets in a variable of the environment. @throws UsageError */
function secretsIn(name: string, option: string): WebhookSecret[] {
  try {
    const secrets = parseWebhookSecrets(process.env[name] ?? '');
    if (secrets.length > 0) return secrets;
  } catch (err) {
    if (err instanceof RangeError) throw new UsageError(`${name}: ${err.message}.`);
    throw err;
  }
  throw new UsageError(`${option} needs ${name} in the environment.`);
}

/** The address in an option or variable with this name. @throws UsageError */
function readUrl(name: string, text: string, parse: typeof parseWebhookUrl, ifEmpty: string): string {
  try {
    const url = parse(text);
    if (url !== undefined) return url;
  } catch (err) {
    if (err instanceof RangeError) throw new UsageError(`${name}: ${err.message}.`);
    throw err;
  }
  throw new UsageError(`${name} is empty; ${ifEmpty}.`);
}

async function readKey(): Promise<string> {
  const key = (await readSecret('The key (not shown): ')).trim().replace(/^Bearer\s+/i, '');
  if (!isWellFormedKey(key, key.slice(0, key.indexOf('_'))))
    throw new UsageError('Standard input has no complete key value.');
  return key;
}
