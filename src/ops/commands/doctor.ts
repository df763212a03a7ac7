import { Option } from '@commander-js/extra-typings';
import { cloudflareAccount, operatorCommand, withoutBrackets } from '../command.ts';
import { deployedBindings, jurisdictionFaults } from '../deployments.ts';
import { diagnose } from '../diagnose.ts';
import { diagnoseReplication } from '../diagnose-replication.ts';
import { diagnoseVariables } from '../diagnose-variables.ts';
import { FindingsPrinter } from '../findings.ts';
import { OPS_MODULES } from '../modules.ts';
import { print } from '../output.ts';
import { check, Failure, type Finding } from '../probe.ts';
import { readKeyValue } from '../secret.ts';
import { parseServiceAddress } from '../service-address.ts';
import { databaseId, MAIN_CONFIG, readWranglerConfig } from '../wrangler-config.ts';

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
    'Also compare JURISDICTION in this wrangler.toml with the deployed one, and say whether the database has read replicas. Needs CLOUDFLARE_ACCOUNT_ID and CLOUDFLARE_API_TOKEN.',
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

  const printer = new FindingsPrinter();
  await printer.show(diagnose(url, key));
  await printer.show(diagnoseVariables(readWranglerConfig(options.config ?? MAIN_CONFIG).vars));
  if (options.config !== undefined) {
    await printer.show(diagnoseJurisdiction(options.config));
    const config = readWranglerConfig(options.config);
    const target = { ...(await cloudflareAccount()), databaseId: databaseId(config) };
    await printer.show(diagnoseReplication(target, { origin: url.origin, keyPrefix: config.vars['KEY_PREFIX'] ?? '' }));
  }
  for (const probe of probes) await printer.show(probe(url.origin));
  for (const { option, unchecked } of CHECKS)
    if (unchecked !== undefined && options[option.attributeName()] === undefined) await print(`--    ${unchecked}\n`);
  await printer.end();
}

/** Compares JURISDICTION in a wrangler.toml with the bucket in it, and with the deployed value. */
async function* diagnoseJurisdiction(file: string): AsyncGenerator<Finding> {
  const config = readWranglerConfig(file);
  const bindings = await deployedBindings(await cloudflareAccount(), config.name);
  const deployed = bindings?.find(({ name }) => name === 'JURISDICTION')?.text ?? '';
  yield await check('JURISDICTION', async () => {
    const faults = jurisdictionFaults(file, config, bindings && deployed);
    if (faults.length > 0) throw new Failure(faults.join(' '));
    return deployed === '' ? 'none, as in the file' : `${deployed}, as in the file`;
  });
}
