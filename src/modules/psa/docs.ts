import { withIncludes } from '../../docs/blocks.ts';
import type { DocsModule } from '../../docs/module.ts';
import firstUpsert from './assets/docs/psa/samples/first-upsert.json';
import { callsMarkdown } from './docs/calls.ts';
import guide from './docs/psa.md?raw';
import calls from './docs/psa-calls.md?raw';
import { describePsa } from './docs/psa-openapi.ts';

export const psaDocs: DocsModule = {
  pages: [
    {
      path: '/docs/psa',
      markdown: withIncludes(guide, { 'first-upsert.json': JSON.stringify(firstUpsert, null, 2) }),
      group: 'PSA',
      name: 'Integrate your PSA',
      tab: 'For the PSA',
      reader: {
        text: 'I connect a PSA',
        about: 'ConnectWise, HaloPSA and Redmine by configuration, others over HTTPS.',
        icon: 'rotate',
      },
    },
    {
      path: '/docs/psa/calls',
      markdown: withIncludes(calls, { calls: callsMarkdown }),
      group: 'PSA',
      name: 'Calls and errors',
      isWide: true,
    },
  ],
  documents: [{ path: 'psa/openapi.json', title: 'the interface for the PSA', describe: describePsa }],
};
