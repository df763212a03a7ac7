import { withIncludes } from '../../docs/blocks.ts';
import { jsonBlock } from '../../docs/field-tables.ts';
import type { DocsModule } from '../../docs/module.ts';
import receiverMjs from './assets/docs/psa/receiver.mjs?raw';
import receiverPy from './assets/docs/psa/receiver.py?raw';
import noteCreated from './assets/docs/psa/samples/note-created.json';
import { pushWebhook } from './docs/push-webhook.ts';
import receive from './docs/receive.md?raw';

/** The part of a receiver that its reader fits to a PSA. @throws Error if it is not there */
function partToFit(receiver: string, from: string, until: string): string {
  const [start, end] = [receiver.indexOf(from), receiver.indexOf(until)];
  if (start < 0 || end < start) throw new Error(`A receiver has no part from ${from} until ${until}`);
  return receiver.slice(start, end).trim();
}

const codeToFit = (language: string, code: string) => `\`\`\`${language} Fit to your PSA\n${code}\n\`\`\``;

const files = {
  'note-created.json': jsonBlock('A message with a new note', noteCreated),
  'receiver.mjs': codeToFit(
    'js',
    partToFit(receiverMjs, 'async function psa(', '/**\n * Writes a change into the PSA'),
  ),
  'receiver.py': codeToFit('python', partToFit(receiverPy, 'def psa(', 'def take(')),
};

export const pushDocs: DocsModule = {
  pages: [
    {
      path: '/docs/psa/receive',
      markdown: withIncludes(receive, files),
      group: 'PSA',
      name: 'Receive the push',
      step: 3,
    },
  ],
  messages: {
    tag: { name: 'Push', description: 'What the PSA receives.' },
    webhooks: { 'work.changes': pushWebhook },
  },
};
