import { DAY_MS } from '../../domain/calendar.ts';
import { CommandFailure, databaseCommand, UsageError } from '../../ops/command.ts';
import { count, print, progress } from '../../ops/output.ts';
import { listReleases } from '../../services/work/release-changes.ts';
import { type ArchiveRule, archiveStep } from './archive-step.ts';
import type { ArchiveContext } from './bucket.ts';
import { parseKeepDays } from './object-names.ts';

/** How often in a row the rows of a step may change before the command gives up. */
const MAX_REFUSED = 5;

export const archiveRun = databaseCommand(
  {
    name: 'archive:run',
    summary: 'archive released changes that are old enough now',
    purpose:
      'Moves the changes that the PSA has released, and that are older than KEEP_DAYS, to the archive: of one organization, or of all. What the push has not delivered stays, if wrangler.toml has a WEBHOOK_URL. The hourly job does the same, in small parts. Prints each object.',
    usage: '[ORGANIZATION] [--keep-days N]',
    example: 'archive:run northwind --keep-days 30',
    failure: 'failure: the objects printed so far are archived; run it again to continue',
  },
  (command) =>
    command
      .argument('[ORGANIZATION]', 'The id of the organization. Without it, all of them.')
      .option('--keep-days <N>', 'How many days stay in the database. Default: KEEP_DAYS in wrangler.toml.'),
  async (withDatabase, organization, options) => {
    const vars = withDatabase.vars();
    const keepDays = keepDaysOf(options.keepDays ?? vars['KEEP_DAYS'] ?? '');
    const rule = { before: Date.now() - keepDays * DAY_MS, isPushed: Boolean(vars['WEBHOOK_URL']) };
    const archived = await withDatabase(async ({ archive, context }) => {
      if (!archive) throw new CommandFailure('wrangler.toml has no bucket with the binding ARCHIVE.');
      const releases = await listReleases(context(), organization);
      let changes = 0;
      for (const { organizationId } of releases)
        changes += await archiveAll(() => ({ ...context(), archive }), organizationId, rule);
      return changes;
    });
    progress.clear();
    const reason =
      archived > 0
        ? ''
        : ` Nothing that may be archived is older than ${count(keepDays, 'day')}; size shows what is released.`;
    console.error(`${count(archived, 'change')} archived.${reason}`);
  },
);

/** Makes steps until nothing is left to archive; returns the number of changes. */
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

/** @throws UsageError if there is no number of days */
function keepDaysOf(text: string): number {
  try {
    const days = parseKeepDays(text);
    if (days !== undefined) return days;
  } catch (err) {
    if (!(err instanceof RangeError)) throw err;
    throw new UsageError(`--keep-days or KEEP_DAYS: ${err.message}.`);
  }
  throw new UsageError('Add --keep-days N: KEEP_DAYS in wrangler.toml is empty.');
}
