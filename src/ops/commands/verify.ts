import { readdir, readFile } from 'node:fs/promises';
import { parseDatabaseLimit } from '../../domain/database-limit.ts';
import { operatorCommand, persistToOption, remoteDeploymentOption, remoteOption } from '../command.ts';
import { configOf, readDeployment } from '../deployment.ts';
import { printFindings } from '../findings.ts';
import { parseKeyValue, parseServiceAddress, readKeyValue } from '../input.ts';
import { withDatabase } from '../open-database.ts';
import { type ExpectedDatabase, verify } from '../verify.ts';

export const verifyCommand = operatorCommand({
  name: 'verify',
  summary: 'check with a key that a deployment keeps its promises',
  purpose:
    'Checks a deployment from outside with a key, and prints a line for each promise: ping, a note and its replay, a mismatch, the 401, a 422, security headers, and the interfaces that are on. Writes one note on the ticket. With --remote, also compares the limits of the deployment; with --remote or --persist-to, also reads schema, size, push and archive from the database.',
  usage:
    'https://HOST --ticket ID [--key-file FILE] [--limits] [--json] [--remote [--deployment NAME] | --persist-to DIRECTORY]',
  example: 'verify https://tickets.example --ticket 1001 --remote',
  failure: 'at least one check failed',
})
  .argument('<https://HOST>', 'The address of the deployment.')
  .requiredOption('--ticket <ID>', 'The ticket that gets the note. Take one that is there for tests.')
  .option('--key-file <FILE>', 'The file with the key. Default: standard input.')
  .option('--limits', 'Also send requests until the limit refuses one. The key is then refused for up to 10 s.')
  .option('--json', 'Print a line of JSON for each check, with its request id.')
  .addOption(remoteDeploymentOption)
  .addOption(remoteOption)
  .addOption(persistToOption)
  .action(async (address, options) => {
    const url = parseServiceAddress(address);
    const { ticket, keyFile, limits = false, json = false, remote } = options;
    const key = keyFile === undefined ? await readKeyValue() : parseKeyValue(await readFile(keyFile, 'utf8'));
    const expected = remote && configOf(await readDeployment(options.deployment));
    const show = (database?: ExpectedDatabase) =>
      printFindings([verify({ url, key, ticket, limits, expected, database })], { json });
    if (!remote && options.persistTo === undefined) return show();
    const limit = expected?.databaseLimit ?? parseDatabaseLimit();
    const migrations = (await readdir('migrations')).filter((name) => name.endsWith('.sql'));
    await withDatabase(options, (db, archive) => show({ db, archive, limit, migrations }));
  });
