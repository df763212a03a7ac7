import { Command } from '@commander-js/extra-typings';
import { handTimeToSettings } from '../../services/work/hand-to-settings.ts';
import { byOption, databaseCommand } from '../command.ts';

export const timeToSettings = databaseCommand(
  new Command('time:to-settings')
    .summary('hand the time that waits for a PSA to the settings area')
    .description(
      'Hands each time entry that waits for a decision of the PSA to the settings area, after the PSA has left. First remove its adapter, and import the organization with approvals: settings. Such an entry may already be in the PSA, also if it is then rejected. Each entry gets a row in the audit log.',
    )
    .argument('<ORGANIZATION>', 'The id of the organization.')
    .addOption(byOption),
  async (withDatabase, organization, { by }) => {
    const handed = await withDatabase(({ context }) => handTimeToSettings(context(), { organization, by }));
    console.log(`Time entries that were handed to the settings area: ${handed}.`);
  },
);
