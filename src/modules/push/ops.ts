import type { OpsModule } from '../../ops/module.ts';
import { pushResume } from './push-commands.ts';
import { pushStatus } from './push-status.ts';
import { pushTest } from './push-test.ts';

export const pushOps: OpsModule = {
  databaseCommands: [pushStatus],
  commands: [pushResume, pushTest],
};
