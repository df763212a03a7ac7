import type { OpsModule } from '../../ops/module.ts';
import { archiveCheck, archiveRun } from './archive-commands.ts';
import { archivedRecordsIn } from './archived-records.ts';
import { parseKeepDays } from './object-names.ts';

export const archiveOps: OpsModule = {
  variables: { KEEP_DAYS: parseKeepDays },
  databaseCommands: [archiveRun, archiveCheck],
  ports: (store) => (store ? { archivedRecords: archivedRecordsIn(store) } : {}),
};
