import { Command } from '@commander-js/extra-typings';
import { DAY_MS } from '../../domain/calendar.ts';
import { type Database, databaseCommand, parseOption } from '../../ops/command.ts';
import { CommandFailure, UsageError } from '../../ops/failures.ts';
import { count, print } from '../../ops/output.ts';
import { printable } from '../../ops/printable.ts';
import { listReleases } from '../../services/work/release-changes.ts';
import { type ArchiveRule, archiveStep } from './archive-step.ts';
import type { ArchiveContext } from './bucket.ts';
import { type ArchiveFinding, archivedOrganizations, checkArchives } from './check-archive.ts';
import { parseKeepDays } from './object-names.ts';

/** How often in a row the rows of a step may change before the command gives up. */
const MAX_REFUSED = 5;

export const archiveRun = databaseCommand(
  new Command('archive:run')
    .summary('archive released changes that are old enough now')
    .description(
      'Moves the changes that the PSA has released, and that are older than KEEP_DAYS, to the archive: of one organization, or of all. What the push has not delivered stays, if the deployment has a WEBHOOK_URL. The hourly job does the same, in small parts. Prints each object.',
    )
    .argument('[ORGANIZATION]', 'The id of the organization. Without it, all of them.')
    .option('--keep-days <N>', 'How many days stay in the database. Default: KEEP_DAYS of the deployment.'),
  async (withDatabase, organization, options) => {
    const vars = await withDatabase.variables();
    const text = options.keepDays ?? vars['KEEP_DAYS'] ?? '';
    const keepDays = parseOption('--keep-days or KEEP_DAYS', () => parseKeepDays(text));
    if (keepDays === undefined) throw new UsageError('Add --keep-days N: the deployment has no KEEP_DAYS.');
    const rule = { before: Date.now() - keepDays * DAY_MS, isPushed: Boolean(vars['WEBHOOK_URL']) };
    const archived = await withDatabase(async (database) => {
      const context = contextOf(database);
      let changes = 0;
      for (const { organizationId } of await listReleases(context(), organization))
        changes += await archiveAll(context, organizationId, rule);
      return changes;
    });
    console.error(`${count(archived, 'change')} archived.`);
  },
);

/** Returns a function that makes a context with the bucket for each call. @throws CommandFailure without a bucket */
function contextOf({ archive, context }: Database): () => ArchiveContext {
  if (!archive) throw new CommandFailure('The deployment has no archive.');
  return () => ({ ...context(), archive });
}

async function archiveAll(context: () => ArchiveContext, organization: string, rule: ArchiveRule): Promise<number> {
  let changes = 0;
  for (let refused = 0; refused < MAX_REFUSED; ) {
    const step = await archiveStep(context(), organization, rule);
    if (step.status === 'nothing') return changes;
    if (step.status === 'refused') {
      refused += 1;
      continue;
    }
    refused = 0;
    changes += step.toSeq - step.fromSeq + 1;
    await print(`${step.object}\n`);
  }
  throw new CommandFailure(
    `Others change or archive the same entries of organization ${organization}. Run it again later.`,
  );
}

export const archiveCheck = databaseCommand(
  new Command('archive:check')
    .summary('compare the archive with the database')
    .description(
      'Lists the objects that the database names and that are missing or have another size, and the objects that nothing names. With --read, reads every object and compares its SHA-256. With --repair, takes the newest other object of the same entries for one that is missing or damaged, without what was redacted, and deletes objects that nothing names. Objects of entries that are not archived stay until they are 15 minutes old. Use --repair only when a restore is final.',
    )
    .argument('[ORGANIZATION]', 'The id of the organization. Without it, all of them, including erased ones.')
    .option('--read', 'Read every object, and compare its SHA-256.')
    .option('--repair', 'Repair what can be repaired.'),
  async (withDatabase, organization, { read = false, repair = false }) => {
    let checked = 0;
    const findings = await withDatabase(async (database) => {
      const context = contextOf(database);
      const all: ArchiveFinding[] = [];
      if (organization !== undefined) await listReleases(context(), organization);
      for (const id of organization === undefined ? await archivedOrganizations(context) : [organization]) {
        const found = await checkArchives(context, id, { read, repair, remove: repair });
        all.push(...found.findings);
        checked += found.checked;
      }
      return all;
    });
    for (const { object, finding } of findings) await print(`${finding}: ${printable(object)}\n`);
    console.error(`${count(checked, 'archive')} checked.`);
    const open = findings.filter(({ finding }) => finding !== 'replaced' && finding !== 'deleted');
    if (open.length === 0) return;
    throw new CommandFailure(`${count(open.length, 'object')} to look at.`);
  },
);
