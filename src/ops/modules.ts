import type { ObjectStore } from '../lib/object-store.ts';
import { alertsOps } from '../modules/alerts/ops.ts';
import { archiveOps } from '../modules/archive/ops.ts';
import { psaOps } from '../modules/psa/ops.ts';
import { pushOps } from '../modules/push/ops.ts';
import type { Ports } from '../services/service-context.ts';
import type { OpsModule } from './module.ts';

/** The tools of the optional modules, in the order of the help. Remove a line to remove a module. */
export const OPS_MODULES: readonly OpsModule[] = [psaOps, archiveOps, pushOps, alertsOps];

/** The variables of the modules by name, each with its parser, and their secrets. */
export const MODULE_VARIABLES = new Map(OPS_MODULES.flatMap(({ variables = {} }) => Object.entries(variables)));
export const MODULE_SECRETS = new Map(OPS_MODULES.flatMap(({ secrets = {} }) => Object.entries(secrets)));

/** The ports of the modules, for a command of the core. `store` is the bucket of the deployment. */
export function commandPorts(store: ObjectStore | undefined): Ports {
  const ports: Ports = {};
  for (const module of OPS_MODULES) Object.assign(ports, module.ports?.(store));
  return ports;
}
