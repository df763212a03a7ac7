import markdown from '../../build/adapter-pages.json';
import common from '../adapters/kit/docs/common.md?raw';
import { partsOf, withIncludes } from './blocks.ts';
import type { DocsModule } from './module.ts';

const pages = Object.entries(markdown).map(([folder, text]) => ({
  path: `/docs/psa/${folder}`,
  markdown: withIncludes(text, partsOf(common)).replaceAll('FOLDER', folder),
  group: 'PSA' as const,
  name: /^# (.+)/.exec(text)?.[1] ?? folder,
}));

/** The pages of the adapters. src/dev/static-files.ts finds them, because each adapter can be deleted. */
export const adaptersDocs: DocsModule = {
  pages,
  sections: { adapters: pages.map(({ path, name }) => `- [${name}](${path})\n`).join('') },
};
