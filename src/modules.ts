import type { Module } from './module.ts';
import { alerts } from './modules/alerts/module.ts';
import { psa } from './modules/psa/module.ts';
import { push } from './modules/push/module.ts';

/** The optional capabilities of the service. Remove a line to remove one. */
export const MODULES: readonly Module[] = [psa, push, alerts];
