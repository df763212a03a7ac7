import { isWellFormedKey } from '../../domain/api-key.ts';
import { operatorCommand, UsageError } from '../command.ts';
import { diagnose } from '../diagnose.ts';
import { count, print } from '../output.ts';
import { printable } from '../printable.ts';
import { readSecret } from '../secret.ts';

export const doctor = operatorCommand({
  name: 'doctor',
  summary: 'check a deployment from outside',
  purpose:
    'Checks a deployment from outside, as an automation sees it. Each failure says what it means and what to do. Nothing is written.',
  usage: 'https://HOST [--key-stdin]',
  example: 'doctor https://tickets.example',
  failure: 'at least one check failed',
})
  .argument('<https://HOST>', 'The address of the deployment.')
  .option('--key-stdin', 'Also check the key on standard input.')
  .action(run);

async function run(address: string, options: { keyStdin?: true | undefined }): Promise<void> {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (!url || !/^https?:$/.test(url.protocol) || url.pathname !== '/') {
    throw new UsageError('The address begins with https:// and ends with the host, such as https://tickets.example.');
  }
  const key = options.keyStdin ? await readKey() : undefined;

  let failed = 0;
  for await (const { ok, check, says } of diagnose(url, key)) {
    if (!ok) failed += 1;
    await print(`${printable(`${ok ? 'ok  ' : 'FAIL'}  ${check}: ${says}`)}\n`);
  }
  await print(failed === 0 ? '\nAll checks passed.\n' : `\n${count(failed, 'check')} failed.\n`);
  if (failed > 0) process.exitCode = 1;
}

async function readKey(): Promise<string> {
  const key = (await readSecret('The key (not shown): ')).trim().replace(/^Bearer\s+/i, '');
  if (!isWellFormedKey(key, key.slice(0, key.indexOf('_'))))
    throw new UsageError('Standard input has no complete key value.');
  return key;
}
