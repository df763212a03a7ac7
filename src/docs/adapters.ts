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

/** What a page says first: what its adapter was verified with. @throws Error if it does not */
function verified(markdown: string): string {
  const [, sentence] = /^# .+\n\n((?:Built|Verified) .+?\.) /.exec(markdown) ?? [];
  if (sentence === undefined)
    throw new Error(`A page of an adapter begins with other words: ${markdown.slice(0, 100)}`);
  return sentence;
}

const row = ({ path, name, markdown }: (typeof pages)[number]) =>
  `| ${name.replace('Connect ', '')} | [An adapter](${path}) | ${verified(markdown)} [Not confirmed](${path}#unconfirmed) |\n`;

/** The pages of the adapters. src/dev/static-files.ts finds them, because each adapter can be deleted. */
export const adaptersDocs: DocsModule = {
  pages,
  sections: {
    adapters: pages.map(({ path, name }) => `- [${name}](${path})\n`).join(''),
    'adapter-rows': pages.map(row).join(''),
  },
};
