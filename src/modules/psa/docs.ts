import { withIncludes } from '../../docs/blocks.ts';
import { jsonBlock } from '../../docs/field-tables.ts';
import type { DocsModule } from '../../docs/module.ts';
import firstUpsert from './assets/docs/psa/samples/first-upsert.json';
import approval from './docs/approval.md?raw';
import calls from './docs/calls.md?raw';
import { CALL_FIELDS } from './docs/calls.ts';
import changes from './docs/changes.md?raw';
import directory from './docs/directory.md?raw';
import guide from './docs/psa.md?raw';
import { describePsa } from './docs/psa-openapi.ts';
import refusals from './docs/refusals.md?raw';
import test from './docs/test.md?raw';
import which from './docs/which.md?raw';

const page = (step: number, path: string, name: string, markdown: string) => ({
  step,
  path,
  name,
  markdown: withIncludes(markdown, {
    ...CALL_FIELDS,
    'first-upsert.json': jsonBlock('First upsert', firstUpsert),
  }),
  group: 'PSA' as const,
});

export const psaDocs: DocsModule = {
  pages: [
    page(0, '/docs/psa/which', 'Which PSA works today', which),
    {
      ...page(1, '/docs/psa', 'Integrate your PSA', guide),
      tab: 'For the PSA',
      reader: {
        text: 'I connect a PSA',
        about: 'ConnectWise, HaloPSA and Redmine by configuration, others over HTTPS.',
        icon: 'rotate',
      },
    },
    page(2, '/docs/psa/directory', 'Send the directory', directory),
    page(4, '/docs/psa/changes', 'Write the changes', changes),
    page(5, '/docs/psa/approval', 'Approve time', approval),
    page(6, '/docs/psa/refusals', 'Refuse and redact', refusals),
    page(7, '/docs/psa/test', 'Test your integration', test),
    { ...page(8, '/docs/psa/calls', 'Calls and errors', calls), isWide: true },
  ],
  documents: [{ path: 'psa/openapi.json', title: 'the interface for the PSA', describe: describePsa }],
};
