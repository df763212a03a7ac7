import type { Module } from '../../module.ts';
import { PushBanner } from './banner.tsx';
import { sweep } from './sweep.ts';
import { isolateWakes } from './wake.ts';

/** Pushes changes to the receiver at WEBHOOK_URL, in order. */
export const push: Module = {
  name: 'push',
  start: ({ PUSHER: pushers }, { receiver }) => {
    if (!receiver) return undefined;
    if (!pushers) throw new Error('WEBHOOK_URL is set, but there is no Durable Object with the binding PUSHER');
    return {
      banner: ({ pushTrouble: trouble }, context) => trouble && <PushBanner trouble={trouble} context={context} />,
      jobs: [{ name: 'push', cron: 'sweep', run: ({ db, now }) => sweep(db, pushers, now) }],
      ports: (waitUntil) => ({ changed: (organization) => isolateWakes.afterWrite(pushers, organization, waitUntil) }),
    };
  },
};
