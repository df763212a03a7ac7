import type { PageLinks } from './module.ts';
import { MODULE_PAGES } from './modules.ts';
import { RECIPES } from './recipes.ts';

export interface Link {
  href: string;
  text: string;
}

const PAGES: readonly PageLinks[] = [
  { path: '/docs', group: 'Start', name: 'Start here', tab: 'Start' },
  { path: '/docs/loop', group: 'Start', name: 'The loop' },
  { path: '/docs/concepts', group: 'Start', name: 'Concepts and glossary' },
  { path: '/docs/administrators', group: 'Start', name: 'For administrators' },
  { path: '/docs/recipes', group: 'Recipes', name: 'All recipes and rules', tab: 'Recipes' },
  ...RECIPES.map(({ slug, tool }) => ({ path: `/docs/recipes/${slug}`, group: 'Recipes' as const, name: tool })),
  { path: '/docs/reference', group: 'Reference', name: 'Operations', tab: 'Reference' },
  { path: '/docs/errors', group: 'Reference', name: 'Errors', tab: 'Errors' },
  { path: '/docs/keys', group: 'Reference', name: 'Key format' },
  { path: '/docs/limits', group: 'Reference', name: 'Limits and costs' },
  { path: '/docs/data', group: 'Reference', name: 'Data and support' },
  { path: '/docs/changelog', group: 'Reference', name: 'Changelog' },
  ...MODULE_PAGES,
];

/** The path of the page in this Markdown file: a link of the source leads to the file, so that it works in the repository. */
export function pathOfFile(file: string): string {
  const [, asset] = /(?:^|\/)assets(\/docs\/.+)$/.exec(file) ?? [];
  if (asset !== undefined) return asset;
  const [, name = ''] = /([\w-]+)(?:\/docs\/connect)?\.md$/.exec(file.toLowerCase()) ?? [];
  const found = name === 'home' ? PAGES[0] : PAGES.find(({ path }) => path.endsWith(`/${name}`));
  if (!found) throw new Error(`No page is in the file ${file}`);
  return found.path;
}

const GROUPS = [...Map.groupBy(PAGES, ({ group }) => group)];

/** The pages in the header. */
export const TABS = PAGES.flatMap(({ path, tab }) => (tab === undefined ? [] : { href: path, text: tab }));

/** On a narrow screen it is folded; on a wide one the stylesheet shows it. */
export function Navigation({ path, parts }: { path: string; parts: readonly Link[] }) {
  return (
    <nav class="side" aria-label="All pages">
      <details>
        <summary>All pages</summary>
        {GROUPS.map(([title, pages]) => (
          <>
            <p>{title}</p>
            <Links links={pages.map((page) => ({ href: page.path, text: page.name }))} path={path} parts={parts} />
          </>
        ))}
      </details>
    </nav>
  );
}

/** The page itself is marked, and followed by its parts. */
function Links({ links, path, parts = [] }: { links: readonly Link[]; path?: string; parts?: readonly Link[] }) {
  return (
    <ul>
      {links.map(({ href, text }) => (
        <li>
          <a href={href} aria-current={path === href ? 'page' : undefined}>
            {text}
          </a>
          {path === href && parts.length > 0 && <Links links={parts} />}
        </li>
      ))}
    </ul>
  );
}
