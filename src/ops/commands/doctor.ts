import { Option } from '@commander-js/extra-typings';
import { operatorCommand, withoutBrackets } from '../command.ts';
import { readDeployment } from '../deployment.ts';
import { diagnose } from '../diagnose.ts';
import { diagnoseReplicas } from '../diagnose-replicas.ts';
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
    'https://HOST [--key-stdin] [--deployment NAME]',
    ...CHECKS.map(({ flags }) => `[${withoutBrackets(flags)}]`),
  ].join(' '),
  example: 'doctor https://tickets.example',
  failure: 'at least one check failed',
})
  .argument('<https://HOST>', 'The address of the deployment.')
  .option('--key-stdin', 'Also check the key on standard input.')
  .option(
    '--deployment <NAME>',
    'Also say whether the database of this deployment has read replicas. Needs CLOUDFLARE_API_TOKEN.',
  )
  .action(run);

for (const { option } of CHECKS) doctor.addOption(option);

async function run(
  address: string,
  options: { keyStdin?: true; deployment?: string } & Record<string, unknown>,
): Promise<void> {
  const url = parseServiceAddress(address);
  const probes = CHECKS.flatMap(({ option, prepare }) => {
    const value = options[option.attributeName()];
    return value === undefined ? [] : [prepare(typeof value === 'string' ? value : '', options)];
  });
  const key = options.keyStdin ? await readKeyValue() : undefined;

  const deployment = options.deployment === undefined ? undefined : await readDeployment(options.deployment);
  const unchecked = CHECKS.filter(({ option }) => options[option.attributeName()] === undefined);
  await printFindings(
    [
      diagnose(url, key),
      ...(deployment === undefined ? [] : [diagnoseReplicas(deployment, url.origin)]),
      ...probes.map((probe) => probe(url.origin)),
    ],
    { notes: unchecked.flatMap(({ unchecked: note }) => note ?? []) },
  );
}
