import { existsSync } from 'node:fs';
import { glob, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';

/** Folders without pages of this repository. */
const OTHERS = ['build', 'node_modules', '.git', '.wrangler', 'dist'];
/** A page of the documentation: test/e2e/docs.test.ts follows its links to places, and it has paths of the reader's files. */
const isOfDocs = (page: string) => page.split('/').includes('docs');
/** A path of the deployed service that no file of the repository has. */
const OF_A_SERVICE = /^\/(settings$|api\/|psa\/openapi|docs\/connectors\/)/;
/**
 * A relative path of letters, digits and the like; an address such as `/docs` begins with a slash.
 */
const PATH = /^\.?[\w@-][\w.@-]*(\/[\w.@-]+)*\/?$/;
const OF_A_FILE = /^(src|test|migrations)\/|\.(ts|tsx|css|md|sql|toml|json|ndjson|png|svg)$/;

const pages = new Map<string, string>();
for await (const path of glob('**/*.md', {
  exclude: (name) => OTHERS.some((other) => name.split('/').includes(other)),
})) {
  pages.set(path, await readFile(path, 'utf8'));
}

const withoutCode = (markdown: string) => markdown.replace(/^ *```[\s\S]*?^ *```$/gm, '');

/** The anchors of a page's headings, as GitHub makes them. */
function anchors(markdown: string): string[] {
  return Array.from(withoutCode(markdown).matchAll(/^#+ (.+)$/gm), ([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

/** The links of a page to files and headings that do not exist. */
function brokenLinks(page: string, markdown: string): string[] {
  const targets = Array.from(withoutCode(markdown).matchAll(/\]\(([^)\s]+)\)/g), ([, target = '']) => target);
  return targets.filter((target) => {
    if (/^[a-z]+:/.test(target) || (isOfDocs(page) && OF_A_SERVICE.test(target))) return false;
    const [path = '', anchor] = target.split('#');
    const file = path === '' ? page : join(dirname(page), path);
    const text = file === page ? markdown : pages.get(file);
    if (text === undefined) return !existsSync(file);
    return anchor !== undefined && !isOfDocs(file) && !anchors(text).includes(anchor);
  });
}

/**
 * Paths in backticks and in commands that exist neither from the top of the repository nor from the page's folder.
 */
function missingPaths(page: string, markdown: string): string[] {
  const inText = Array.from(withoutCode(markdown).matchAll(/`([^`\n]+)`/g), ([, text = '']) => text.split(' '));
  const inCommands = Array.from(
    markdown.matchAll(/^npx? .+$/gm),
    ([command]) => command.match(/(src|test)\/\S+/g) ?? [],
  );
  return [...inText, ...inCommands]
    .flat()
    .filter(
      (text) => PATH.test(text) && OF_A_FILE.test(text) && !existsSync(text) && !existsSync(join(dirname(page), text)),
    );
}

test.each([...pages])('%s links and refers only to existing files and places', (page, markdown) => {
  expect([...brokenLinks(page, markdown), ...(isOfDocs(page) ? [] : missingPaths(page, markdown))]).toEqual([]);
});

test('a broken link, anchor or path is found', () => {
  const markdown = [
    '# A heading: `code`, and more',
    '[1](#a-heading-code-and-more) [2](package.json) [3](https://example.com) `src/app.ts` `text/html` `/docs` `MODE`',
    '[4](#none) [5](none.md) [6](test/README.md#none) `src/none.ts` `none.sql` `npx vitest run test/none.test.ts`',
    '```sh\nnpx vitest run --project node test/other.test.ts\n```',
  ].join('\n\n');
  expect(
    brokenLinks('src/docs/pages/home.md', '[1](errors.md#unknown) [2](/settings) [3](/docs/errors) [4](no.md)'),
  ).toEqual(['/docs/errors', 'no.md']);
  const found = [...brokenLinks('page.md', markdown), ...missingPaths('page.md', markdown)];
  expect(found).toEqual([
    ...['#none', 'none.md', 'test/README.md#none', 'src/none.ts', 'none.sql'],
    ...['test/none.test.ts', 'test/other.test.ts'],
  ]);
});
