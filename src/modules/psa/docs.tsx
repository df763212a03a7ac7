import { withIncludes } from '../../docs/blocks.ts';
import type { DocsModule } from '../../docs/module.ts';
import { ORIGIN } from '../../docs/recipes.ts';
import { operationsOf } from '../../docs/reference/contract.ts';
import firstUpsert from './assets/docs/psa/samples/first-upsert.json';
import { Calls, callsMarkdown, messagesOf } from './docs/calls.tsx';
import guide from './docs/psa.md?raw';
import calls from './docs/psa-calls.md?raw';
import { describePsa } from './docs/psa-openapi.ts';

const messages = new Map(operationsOf(describePsa(ORIGIN, [])).flatMap((operation) => [...messagesOf(operation)]));

export const psaDocs: DocsModule = {
  pages: [
    {
      path: '/docs/psa',
      markdown: withIncludes(guide, { 'first-upsert.json': JSON.stringify(firstUpsert, null, 2) }),
      group: 'PSA',
      name: 'Integrate your PSA',
      tab: 'For the PSA',
      reader: { text: 'I connect a PSA', about: 'From the secret to the go-live checklist.', icon: 'rotate' },
    },
    {
      path: '/docs/psa/calls',
      markdown: calls,
      group: 'PSA',
      name: 'Calls and errors',
      inserts: { calls: [<Calls messages={messages} />, callsMarkdown(messages)] },
      isWide: true,
    },
  ],
  documents: [{ path: 'psa/openapi.json', title: 'the interface for the PSA', describe: describePsa }],
};
