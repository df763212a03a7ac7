import markdown from '../../build/adapter-pages.json';
import common from '../adapters/kit/docs/adapter.md?raw';
import type { DocsModule } from './module.ts';

const page = (name: string, text: string) => ({
  path: `/docs/psa/${name}`,
  markdown: text,
  group: 'PSA' as const,
  name: /^# (.+)/.exec(text)?.[1] ?? name,
});

/** A page without the rows about adapters that were deleted. */
export const withoutDeleted = (text: string) =>
  text.replaceAll(/^\|.*\/adapters\/(\w+)\/docs\/connect\.md.*\n/gm, (row, folder: string) =>
    folder in markdown ? row : '',
  );

/** The pages of the adapters. src/dev/static-files.ts finds them, because each adapter can be deleted. */
export const adaptersDocs: DocsModule = {
  pages: [...Object.entries(markdown).map(([folder, text]) => page(folder, text)), page('adapter', common)],
};
