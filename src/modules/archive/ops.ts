import { reader } from '../../config.ts';
import type { OpsModule } from '../../ops/module.ts';
import { archiveCheck } from './archive-check.ts';
import { archiveRead } from './archive-read.ts';
import { archiveRun } from './archive-run.ts';
import { elsewhereIn } from './elsewhere.ts';
import { parseKeepDays } from './object-names.ts';

export const archiveOps: OpsModule = {
  variables: ['KEEP_DAYS'],
  parse: (vars) => reader(vars)('KEEP_DAYS', parseKeepDays),
  commands: [archiveRun, archiveRead, archiveCheck],
  ports: (store) => ({ elsewhere: elsewhereIn(store) }),
};
