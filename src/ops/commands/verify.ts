import { readdir, readFile } from 'node:fs/promises';
import { parseDatabaseLimit } from '../../domain/database-limit.ts';
import { parseRequestLimit } from '../../domain/request-limit.ts';
import type { ObjectStore } from '../../lib/object-store.ts';
import { configOption, operatorCommand, persistToOption, remoteOption, withDatabase } from '../command.ts';
import { FindingsPrinter } from '../findings.ts';
import { parseKeyValue, readKeyValue } from '../secret.ts';
import { parseServiceAddress } from '../service-address.ts';
import { verify } from '../verify.ts';
import { MAIN_CONFIG, readWranglerConfig } from '../wrangler-config.ts';

export const verifyCommand = operatorCommand({
  name: 'verify',
  summary: 'check with a key that a deployment keeps its promises',
  purpose:
    'Checks a deployment from outside with a key, and prints a line for each promise: ping, a note and its replay, a mismatch, the 401, a 422, security headers, and the interfaces that are on. Writes one note on the ticket. With --config, also compares the limits of that file; with --remote or --persist-to, also reads schema, size, push and archive from the database.',
  usage:
    'https://HOST --ticket ID [--key-file FILE] [--limits] [--json] [--config FILE] [--remote | --persist-to DIRECTORY]',
  example: 'verify https://tickets.example --ticket 1001 --config wrangler.toml --remote',
  failure: 'at least one check failed',
})
  .argument('<https://HOST>', 'The address of the deployment.')
  .requiredOption('--ticket <ID>', 'The ticket that gets the note. Take one that is there for tests.')
  .option('--key-file <FILE>', 'The file with the key. Default: standard input.')
  .option('--limits', 'Also send requests until the limit refuses one. The key is then refused for up to 10 s.')
  .option('--json', 'Print a line of JSON for each check, with its request id.')
  .addOption(configOption)
  .addOption(remoteOption)
  .addOption(persistToOption)
  .action(run);

interface Options {
  ticket: string;
  keyFile?: string | undefined;
  limits?: true | undefined;
  json?: true | undefined;
  config?: string | undefined;
  remote?: true | undefined;
  persistTo?: string | undefined;
}

async function run(address: string, options: Options): Promise<void> {
  const url = parseServiceAddress(address);
  const { ticket, keyFile, limits = false, json = false, config: file } = options;
  const key = keyFile === undefined ? await readKeyValue() : parseKeyValue(await readFile(keyFile, 'utf8'));
  const { vars } = readWranglerConfig(file ?? MAIN_CONFIG);
  const expected =
    file === undefined
      ? undefined
      : { keyPrefix: vars['KEY_PREFIX'] ?? '', keyLimit: parseRequestLimit(vars['KEY_LIMIT'] ?? '') };
  const printer = new FindingsPrinter(json);
  const show = (db?: D1Database, archive?: ObjectStore, migrations: readonly string[] = []) =>
    printer.show(
      verify({
        ...{ url, key, ticket, limits, expected },
        database: db && { db, archive, limit: parseDatabaseLimit(vars['DATABASE_LIMIT']), migrations },
      }),
    );
  if (options.remote || options.persistTo !== undefined) {
    const migrations = (await readdir('migrations')).filter((name) => name.endsWith('.sql'));
    await withDatabase(options, (db, archive) => show(db, archive, migrations));
  } else await show();
  await printer.end();
}
