import type { Module } from '../module.ts';
import { mcp } from '../modules/mcp/module.ts';
import { isolateWakes } from '../modules/push/wake.ts';

/** Wakes the push after a write. Its objects belong to the main Worker, as does the receiver's secret. */
const wakes: Module = {
  name: 'wakes',
  start: ({ PUSHER: pushers, WEBHOOK_URL: url = '' }) =>
    pushers && url.trim() !== ''
      ? { ports: (waitUntil) => ({ changed: (id) => isolateWakes.afterWrite(pushers, id, waitUntil) }) }
      : undefined,
};

/** The modules of the Worker for AI agents. */
export const AGENT_MODULES: readonly Module[] = [mcp, wakes];
