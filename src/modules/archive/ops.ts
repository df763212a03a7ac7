import type { OpsModule } from '../../ops/module.ts';
import { archiveCheck, archiveRead, archiveRun } from './archive-commands.ts';
import { elsewhereIn } from './elsewhere.ts';
import { parseKeepDays } from './object-names.ts';

export const archiveOps: OpsModule = {
  variables: { KEEP_DAYS: parseKeepDays },
  commands: [archiveRun, archiveRead, archiveCheck],
  ports: (store) => ({ elsewhere: elsewhereIn(store) }),
};
