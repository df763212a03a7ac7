import { Command } from '@commander-js/extra-typings';
import { handTimeToSettings } from '../../services/work/hand-to-settings.ts';
import { byOption, databaseCommand } from '../command.ts';

export const timeToSettings = databaseCommand(
  new Command('time:to-settings')
    .summary('hand the time that waits for a PSA to the settings area')
    .description(
      'Hands each time entry that waits for a decision of the PSA to the settings area, after the PSA has left. First remove its adapter, and import the organization with approvals: settings. While an adapter reports, nothing is handed over. Such an entry may already be in the PSA, even if it is then rejected. Each entry gets a row in the audit log.',
    )
    .argument('<ORGANIZATION>', 'The id of the organization.')
    .option('--adapter-stays', 'Hands it over although an adapter reports, because its PSA no longer approves time.')
    .addOption(byOption),
  async (withDatabase, organization, { by, adapterStays }) => {
    const handed = await withDatabase(({ context }) =>
      handTimeToSettings(context(), { organization, by, adapterStays }),
    );
    console.log(`Time entries that were handed to the settings area: ${handed}.`);
  },
);
