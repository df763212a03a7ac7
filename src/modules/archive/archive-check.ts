import { CommandFailure, databaseCommand } from '../../ops/command.ts';
import { count, print } from '../../ops/output.ts';
import { printable } from '../../ops/printable.ts';
import { checkArchive } from './check-archive.ts';

export const archiveCheck = databaseCommand(
  {
    name: 'archive:check',
    summary: 'compare the archive with the database, after a restore',
    purpose:
      'Lists the objects that the database names and that are missing, and the objects that nothing names. With --repair, the database names the object that was stored later for the same entries (a redaction makes one), and objects that nothing names are deleted, unless they are younger than 15 minutes. Use --repair only when a restore is final.',
    usage: '[ORGANIZATION] [--repair]',
    example: 'archive:check --remote',
    failure: 'something is missing or left over, and was not repaired; or the database or the archive failed',
  },
  (command) =>
    command
      .argument('[ORGANIZATION]', 'The id of the organization. Without it, all of them, also those that were erased.')
      .option('--repair', 'Repair what can be repaired.'),
  async (withDatabase, organization, options) => {
    const found = await withDatabase(({ archive, context }) =>
      checkArchive(() => ({ ...context(), archive }), { organization, repair: options.repair === true }),
    );
    for (const { object, finding } of found.findings) await print(`${finding}: ${printable(object)}\n`);
    console.error(`${count(found.checked, 'archive')} checked.`);
    const open = found.findings.filter(({ finding }) => finding === 'missing' || finding === 'not named').length;
    if (open > 0) throw new CommandFailure(`${count(open, 'object')} to look at.`);
  },
);
