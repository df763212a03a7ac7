import { CommandFailure, databaseCommand } from '../../ops/command.ts';
import { print } from '../../ops/output.ts';
import { printableJson } from '../../ops/printable.ts';
import { readNamedArchive } from './read-archives.ts';

export const archiveRead = databaseCommand(
  {
    name: 'archive:read',
    summary: 'print an object of the archive as lines of JSON',
    purpose:
      'Compares the SHA-256 of an object of the archive with the one in the database, and prints its changes as lines of JSON, without redacted texts. The audit log in the settings area and the feed name the objects.',
    usage: 'OBJECT',
    example: 'archive:read northwind/000000000001-000000001000-0123456789abcdef.ndjson.gz',
    failure: 'failure: no archive has this object, it is missing, or its SHA-256 differs; nothing was printed',
  },
  (command) => command.argument('<OBJECT>', 'The name of the object.'),
  async (withDatabase, object) => {
    const read = await withDatabase(({ archive, context }) => readNamedArchive({ ...context(), archive }, object));
    if ('damage' in read) throw new CommandFailure(`The object is ${read.damage}. See the runbook.`);
    await print(printableJson(read.lines));
  },
);
