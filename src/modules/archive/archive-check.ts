import { CommandFailure, databaseCommand } from '../../ops/command.ts';
import { count, print } from '../../ops/output.ts';
import { printable } from '../../ops/printable.ts';
import { listReleases } from '../../services/work/release-changes.ts';
import { archivedOrganizations, checkArchives, type Finding } from './check-archive.ts';

export const archiveCheck = databaseCommand(
  {
    name: 'archive:check',
    summary: 'compare the archive with the database',
    purpose:
      'Lists the objects that the database names and that are missing or have another size, and the objects that nothing names. With --read, reads every object and compares its SHA-256. With --repair, takes the newest other object of the same entries for one that is missing or damaged, without what was redacted, and deletes objects that nothing names. Objects of entries that are not archived stay until they are 15 minutes old. Use --repair only when a restore is final.',
    usage: '[ORGANIZATION] [--read] [--repair]',
    example: 'archive:check --read --remote',
    failure: 'something is missing, damaged or left over, and was not repaired; or the database or the archive failed',
  },
  (command) =>
    command
      .argument('[ORGANIZATION]', 'The id of the organization. Without it, all of them, including erased ones.')
      .option('--read', 'Read every object, and compare its SHA-256.')
      .option('--repair', 'Repair what can be repaired.'),
  async (withDatabase, organization, { read = false, repair = false }) => {
    let checked = 0;
    const findings = await withDatabase(async ({ archive, context }) => {
      const ctx = () => ({ ...context(), archive });
      const all: Finding[] = [];
      if (organization !== undefined) await listReleases(ctx(), organization);
      for (const id of organization === undefined ? await archivedOrganizations(ctx) : [organization]) {
        const found = await checkArchives(ctx, id, { read, repair, remove: repair });
        all.push(...found.findings);
        checked += found.checked;
      }
      return all;
    });
    for (const { object, finding } of findings) await print(`${finding}: ${printable(object)}\n`);
    console.error(`${count(checked, 'archive')} checked.`);
    const open = findings.filter(({ finding }) => finding !== 'replaced' && finding !== 'deleted');
    if (open.length === 0) return;
    const isTooYoung = repair && open.some(({ finding }) => finding === 'not named');
    const advice = isTooYoung ? ' Some may be younger than 15 minutes: run the command again later.' : '';
    throw new CommandFailure(`${count(open.length, 'object')} to look at.${advice}`);
  },
);
