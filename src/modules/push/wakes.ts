import { placedIn } from '../../domain/deployments.ts';
import type { Module } from '../../module.ts';
import { isolateWakes } from './wake.ts';

/**
 * The part of the push in the Worker for AI agents: it wakes the objects of the main Worker after a
 * write, and knows nothing of the receiver except that there is one.
 */
export const wakes: Module = {
  name: 'wakes',
  start: ({ PUSHER: namespace, WEBHOOK_URL: url = '' }, { jurisdiction }) => {
    if (!namespace || url.trim() === '') return undefined;
    const pushers = placedIn(namespace, jurisdiction);
    return { ports: (waitUntil) => ({ changed: (id) => isolateWakes.afterWrite(pushers, id, waitUntil) }) };
  },
};
