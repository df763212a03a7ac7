import { env } from 'cloudflare:workers';
import { parseConfig } from './config.ts';
import { startModules } from './module.ts';
import { MODULES } from './modules.ts';

/** The configuration and the modules of this deployment, read once when the Worker starts. */
export const config = parseConfig(env);
export const contributions = startModules(MODULES, { ...env }, config);
