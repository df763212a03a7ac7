import { Option } from '@commander-js/extra-typings';
import { cloudflareApi } from '../cloudflare-api.ts';
import { operatorCommand, withoutBrackets } from '../command.ts';
import { diagnose } from '../diagnose.ts';
import { diagnoseConfig } from '../diagnose-config.ts';
import { printFindings } from '../findings.ts';
import { parseServiceAddress, readKeyValue } from '../input.ts';
import { OPS_MODULES } from '../modules.ts';

const CHECKS = OPS_MODULES.flatMap(({ checks }) => checks ?? []).map((check) => ({
  ...check,
  option: new Option(check.flags, check.description),
}));

export const doctor = operatorCommand({
  name: 'doctor',
  summary: 'check a deployment from outside',
  purpose:
    'Checks a deployment from outside, as an automation sees it, and with the options as the PSA does. Each failure says what it means and what to do. Nothing is written, except for the test text of --alerts.',
  usage: [
    'https://HOST [--key-stdin] [--config FILE]',
    ...CHECKS.map(({ flags }) => `[${withoutBrackets(flags)}]`),
  ].join(' '),
  example: 'doctor https://tickets.example',
  failure: 'at least one check failed',
})
  .argument('<https://HOST>', 'The address of the deployment.')
  .option('--key-stdin', 'Also check the key on standard input.')
  .option(
    '--config <FILE>',
    'Also say whether the database in this wrangler.toml has read replicas. Needs CLOUDFLARE_ACCOUNT_ID and CLOUDFLARE_API_TOKEN.',
  )
  .action(run);

for (const { option } of CHECKS) doctor.addOption(option);

async function run(
  address: string,
  options: { keyStdin?: true; config?: string } & Record<string, unknown>,
): Promise<void> {
  const url = parseServiceAddress(address);
  const probes = CHECKS.flatMap(({ option, prepare }) => {
    const value = options[option.attributeName()];
    return value === undefined ? [] : [prepare(typeof value === 'string' ? value : '', options)];
  });
  const key = options.keyStdin ? await readKeyValue() : undefined;

  const config = options.config;
  const unchecked = CHECKS.filter(({ option }) => options[option.attributeName()] === undefined);
  await printFindings(
    [
      diagnose(url, key),
      ...(config === undefined ? [] : [diagnoseConfig(cloudflareApi(), config, url.origin)]),
      ...probes.map((probe) => probe(url.origin)),
    ],
    { notes: unchecked.flatMap(({ unchecked: note }) => note ?? []) },
  );
}
