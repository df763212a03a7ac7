import { placedIn } from '../../domain/jurisdiction.ts';
import type { Module } from '../../module.ts';
import { pushControlOf } from './push-control.ts';
import { isolateWakes } from './wake.ts';
import { wakeDue } from './wake-due.ts';

/** Pushes changes to the receiver at WEBHOOK_URL, in order. */
export const push: Module = {
  name: 'push',
  start: (bindings, { receiver, jurisdiction }) => {
    const { PUSHER: namespace } = bindings;
    if (!receiver) return undefined;
    if (!namespace) throw new Error('WEBHOOK_URL is set, but there is no Durable Object with the binding PUSHER');
    const pushers = placedIn(namespace, jurisdiction);
    return {
      jobs: [{ name: 'push', cron: 'frequent', run: (ctx) => wakeDue(ctx, pushers) }],
      ports: (waitUntil) => ({
        changed: (organization) => isolateWakes.afterWrite(pushers, organization, waitUntil),
        pushControl: pushControlOf(pushers),
      }),
    };
  },
};
