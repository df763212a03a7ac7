import { withIncludes } from '../../docs/blocks.ts';
import type { DocsModule } from '../../docs/module.ts';
import receiverMjs from './assets/docs/psa/receiver.mjs?raw';
import receiverPy from './assets/docs/psa/receiver.py?raw';
import noteCreated from './assets/docs/psa/samples/note-created.json';
import { pushWebhook } from './docs/push-webhook.ts';
import receive from './docs/receive.md?raw';

const files = {
  'note-created.json': JSON.stringify(noteCreated, null, 2),
  'receiver.mjs': receiverMjs.trim(),
  'receiver.py': receiverPy.trim(),
};

export const pushDocs: DocsModule = {
  sections: { receive: withIncludes(receive, files) },
  messages: {
    tag: { name: 'Push', description: 'What the PSA receives.' },
    webhooks: { 'work.changes': pushWebhook },
  },
};
