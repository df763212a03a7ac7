import { placedIn } from '../../domain/deployments.ts';
import type { Module } from '../../module.ts';
import { isolateWakes } from './wake.ts';

/** For the Worker for AI agents: wakes the push objects of the main Worker, and needs no receiver. */
export const wakes: Module = {
  name: 'wakes',
  start: ({ PUSHER: namespace, WEBHOOK_URL: url = '' }, { jurisdiction }) => {
    if (!namespace || url.trim() === '') return undefined;
    const pushers = placedIn(namespace, jurisdiction);
    return { ports: (waitUntil) => ({ changed: (id) => isolateWakes.afterWrite(pushers, id, waitUntil) }) };
  },
};
