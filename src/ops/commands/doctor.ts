import { Option } from '@commander-js/extra-typings';
import { isWellFormedKey } from '../../domain/api-key.ts';
import { operatorCommand, UsageError, withoutBrackets } from '../command.ts';
import { diagnose } from '../diagnose.ts';
import { OPS_MODULES } from '../modules.ts';
import { count, print } from '../output.ts';
import { printable } from '../printable.ts';
import type { Finding } from '../probe.ts';
import { readSecret } from '../secret.ts';

/** The checks of the modules, each with its option. */
const CHECKS = OPS_MODULES.flatMap(({ checks }) => checks ?? []).map((check) => ({
  ...check,
  option: new Option(check.flags, check.description),
}));

export const doctor = operatorCommand({
  name: 'doctor',
  summary: 'check a deployment from outside',
  purpose:
    'Checks a deployment from outside, as an automation sees it, and with the options as the PSA does. Each failure says what it means and what to do. Nothing is written, except for the test text of --alerts.',
  usage: ['https://HOST [--key-stdin]', ...CHECKS.map(({ flags }) => `[${withoutBrackets(flags)}]`)].join(' '),
  example: 'doctor https://tickets.example',
  failure: 'at least one check failed',
})
  .argument('<https://HOST>', 'The address of the deployment.')
  .option('--key-stdin', 'Also check the key on standard input.')
  .action(run);

for (const { option } of CHECKS) doctor.addOption(option);

async function run(address: string, options: { keyStdin?: true } & Record<string, unknown>): Promise<void> {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (!url || !/^https?:$/.test(url.protocol) || url.pathname !== '/') {
    throw new UsageError('The address begins with https:// and ends with the host, such as https://tickets.example.');
  }
  const probes = CHECKS.flatMap(({ option, prepare }) => {
    const value = options[option.attributeName()];
    return value === undefined ? [] : [prepare(typeof value === 'string' ? value : '')];
  });
  const key = options.keyStdin ? await readKey() : undefined;

  let failed = 0;
  const show = async (findings: AsyncIterable<Finding>) => {
    for await (const { ok, check, says } of findings) {
      if (!ok) failed += 1;
      await print(`${printable(`${ok ? 'ok  ' : 'FAIL'}  ${check}: ${says}`)}\n`);
    }
  };
  await show(diagnose(url, key));
  for (const probe of probes) await show(probe(url.origin));
  for (const { option, unchecked } of CHECKS)
    if (unchecked !== undefined && options[option.attributeName()] === undefined) await print(`--    ${unchecked}\n`);
  await print(failed === 0 ? '\nAll checks passed.\n' : `\n${count(failed, 'check')} failed.\n`);
  if (failed > 0) process.exitCode = 1;
}

async function readKey(): Promise<string> {
  const key = (await readSecret('The key (not shown): ')).trim().replace(/^Bearer\s+/i, '');
  if (!isWellFormedKey(key, key.slice(0, key.indexOf('_'))))
    throw new UsageError('Standard input has no complete key value.');
  return key;
}
