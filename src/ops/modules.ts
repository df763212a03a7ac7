import { alertsOps } from '../modules/alerts/ops.ts';
import { psaOps } from '../modules/psa/ops.ts';
import { pushOps } from '../modules/push/ops.ts';
import type { OpsModule } from './module.ts';

/** The tools of the optional modules, in the order of the help. Remove a line to remove a module. */
export const OPS_MODULES: readonly OpsModule[] = [psaOps, pushOps, alertsOps];

/** The variables of the modules by name, each with its parser, and their secrets. */
export const MODULE_VARIABLES = new Map(OPS_MODULES.flatMap(({ variables = {} }) => Object.entries(variables)));
export const MODULE_SECRETS = new Map(OPS_MODULES.flatMap(({ secrets = {} }) => Object.entries(secrets)));
