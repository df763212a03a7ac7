import { readdir } from 'node:fs/promises';
import { Command, Option } from '@commander-js/extra-typings';
import { remoteDeploymentOption, remoteOption } from '../command.ts';
import { configOf, readDeployment } from '../deploy/deployment-file.ts';
import { diagnose } from '../diagnose.ts';
import type { ExpectedDatabase } from '../diagnose-database.ts';
import { UsageError } from '../failures.ts';
import { printFindings } from '../findings.ts';
import { parseServiceAddress, readKeyValue } from '../input.ts';
import { OPS_MODULES } from '../modules.ts';
import { databaseOf } from '../open-database.ts';

const CHECKS = OPS_MODULES.flatMap(({ checks }) => checks ?? []).map((check) => ({
  ...check,
  option: new Option(check.flag, check.description),
}));

export const doctor = new Command('doctor')
  .summary('check a deployment from outside')
  .description(
    'Checks a deployment from outside, as an automation sees it, and with the options also with a key, as the PSA does, and in its database. Failures say what they mean and what to do. The last lines name what was not checked. Nothing is written, except for one note on the ticket of --ticket and the test text of --alerts.',
  )
  .argument('<https://HOST>', 'The address of the deployment.')
  .option('--key-stdin', 'Also check the key on standard input.')
  .option('--ticket <ID>', 'With a key: also write one note on this ticket. Take one that is there for tests.')
  .option('--json', 'Print a line of JSON for each check, with its request id.')
  .addOption(remoteDeploymentOption)
  .addOption(remoteOption)
  .action(async (address, options) => {
    const url = parseServiceAddress(address);
    const { keyStdin, ticket, json = false, remote } = options;
    if (ticket !== undefined && !keyStdin) throw new UsageError('--ticket needs a key: add --key-stdin.');
    const given: Readonly<Record<string, unknown>> = options;
    const isGiven = ({ option }: (typeof CHECKS)[number]) => given[option.attributeName()] !== undefined;
    const probes = CHECKS.filter(isGiven).map(({ prepare }) => prepare());
    const key = keyStdin && (await readKeyValue());
    const deployment = remote && (await readDeployment(options.deployment));

    const notes = [
      ...(key === undefined ? ['No key is checked: add --key-stdin.'] : []),
      ...(ticket === undefined ? ['No note is written: add a key and --ticket ID.'] : []),
      ...(deployment ? [] : ['The database is not checked: add --remote.']),
      ...CHECKS.filter((check) => !isGiven(check)).flatMap(({ unchecked }) => unchecked ?? []),
    ];
    const show = (database?: ExpectedDatabase) =>
      printFindings([diagnose({ url, key, ticket, database }), ...probes.map((probe) => probe(url.origin))], {
        json,
        notes,
      });
    if (!deployment) return show();
    const limit = configOf(deployment).databaseLimit;
    const migrations = (await readdir('migrations')).filter((name) => name.endsWith('.sql'));
    await databaseOf(options)(({ db, context }) => show({ db, context, limit, migrations }));
  });

for (const { option } of CHECKS) doctor.addOption(option);
