import type { Module } from '../module.ts';
import { mcp } from '../modules/mcp/module.ts';
import { wakes } from '../modules/push/wakes.ts';

export const AGENT_MODULES: readonly Module[] = [mcp, wakes];
