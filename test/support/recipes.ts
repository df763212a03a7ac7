import { globSync } from 'node:fs';
import { blocksOf, type CodeBlock, codesIn } from '../../src/docs/blocks.ts';
import { ORIGIN, RECIPES } from '../../src/docs/recipes.ts';

/** The random characters of this view of the pages. */
export const RANDOM = 'b7d3f09a';

/** Everything that a page gives to copy, in its order, as the page for this origin shows it. */
export const codesOfPage = (markdown: string, origin: string): CodeBlock[] =>
  codesIn(
    blocksOf(
      markdown.replaceAll(ORIGIN, origin).replaceAll('REPLACE-ME', RANDOM).replaceAll('WEBHOOK-TOKEN', 'the-token'),
    ),
  );

export function codesOf(slug: string, origin: string): CodeBlock[] {
  const recipe = RECIPES.find((one) => one.slug === slug);
  if (!recipe) throw new Error(`no recipe ${slug}`);
  return codesOfPage(recipe.markdown, origin);
}

/** The text to copy with this label. */
export function snippetOf(slug: string, origin: string, label: string): string {
  const [version, ...others] = codesOf(slug, origin).find((code) => code.label === label)?.versions ?? [];
  if (!version || others.length > 0) throw new Error(`no text ${label} in ${slug}`);
  return version.text;
}

/** The commands of a recipe for bash, by label. */
export function bashCommandsOf(slug: string, origin: string): Map<string, string> {
  const commands = codesOf(slug, origin).flatMap(({ label, versions }) =>
    versions.filter(({ language }) => language === 'bash').map(({ text }) => [label, text] as const),
  );
  return new Map(commands);
}

/** The commands for bash up to this label, as a reader copies them one after the other, except for those labels. */
export function bashUpTo(slug: string, origin: string, label: string, without: readonly string[] = []): string {
  const commands = bashCommandsOf(slug, origin);
  const labels = [...commands.keys()];
  if (!labels.includes(label)) throw new Error(`no command ${label} in ${slug}`);
  const copied = labels.slice(0, labels.indexOf(label) + 1).filter((one) => !without.includes(one));
  return ['set -e', ...copied.map((one) => commands.get(one))].join('\n');
}

/** The addresses of all pages of the documentation. */
export const docsPages = (): string[] =>
  globSync('**/*.html', { cwd: 'build/static' })
    .map((name) => `/${name.replaceAll('\\', '/').replace(/(^index)?\.html$/, '')}`)
    .filter((path) => path !== '/404')
    .sort();
