import { reader } from '../../config.ts';
import { placedIn } from '../../domain/deployments.ts';
import type { Module } from '../../module.ts';
import { PushBanner } from './banner.tsx';
import { controlOf } from './control.ts';
import { resumeForm } from './resume-form.ts';
import { parsePageLimit } from './rules.ts';
import { sweep } from './sweep.ts';
import { isolateWakes } from './wake.ts';

/** Pushes changes to the receiver at WEBHOOK_URL, in order. */
export const push: Module = {
  name: 'push',
  start: (bindings, { receiver, jurisdiction }) => {
    const { PUSHER: namespace } = bindings;
    reader(bindings)('WEBHOOK_LIMIT', parsePageLimit);
    if (!receiver) return undefined;
    if (!namespace) throw new Error('WEBHOOK_URL is set, but there is no Durable Object with the binding PUSHER');
    const pushers = placedIn(namespace, jurisdiction);
    return {
      banner: ({ pushTrouble: trouble }) => <PushBanner trouble={trouble} />,
      jobs: [{ name: 'push', cron: 'sweep', run: ({ db, now }) => sweep(db, pushers, now) }],
      settings: resumeForm,
      ports: (waitUntil) => ({
        changed: (organization) => isolateWakes.afterWrite(pushers, organization, waitUntil),
        control: controlOf(pushers),
      }),
    };
  },
};
