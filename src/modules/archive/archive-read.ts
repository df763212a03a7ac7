import {
  DATABASE_USAGE,
  operatorCommand,
  operatorContext,
  persistToOption,
  remoteOption,
  withDatabase,
} from '../../ops/command.ts';
import { print } from '../../ops/output.ts';
import { readNamedArchive } from './check-archive.ts';

export const archiveRead = operatorCommand({
  name: 'archive:read',
  summary: 'print an object of the archive as lines of JSON',
  purpose:
    'Compares the SHA-256 of an object of the archive with the one in the database, and prints its changes as lines of JSON. The audit log in the settings area and the feed name the objects.',
  usage: `OBJECT ${DATABASE_USAGE}`,
  example: 'archive:read northwind/000000000001-000000001000-0123456789abcdef.ndjson.gz',
  failure: 'failure: no archive has this object, it is missing, or its SHA-256 differs; nothing was printed',
})
  .argument('<OBJECT>', 'The name of the object.')
  .addOption(remoteOption)
  .addOption(persistToOption)
  .action(run);

async function run(
  object: string,
  options: { remote?: true | undefined; persistTo?: string | undefined },
): Promise<void> {
  await print(await withDatabase(options, (db, archive) => readNamedArchive(operatorContext(db, archive), object)));
}
