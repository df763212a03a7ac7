import { withIncludes } from './blocks.ts';
import { MODULE_PAGES } from './modules.ts';
import texts from './navigation.md?raw';
import { RECIPES } from './recipes.ts';

export interface Link {
  href: string;
  text: string;
  /** The words after the link. */
  about?: string | undefined;
}

const recipes = RECIPES.map(({ slug, tool }) => `- [${tool}](/docs/recipes/${slug})`).join('\n');
const readers = MODULE_PAGES.flatMap(({ path, reader }) =>
  reader ? `- [${reader.text}](${path}): ${reader.about}` : [],
).join('\n');
const LINK = /^- \[(.+?)\]\((.+?)\)(?:: (.+))?$/gm;
const [header, ...lists] = withIncludes(texts, { recipes, readers })
  .split(/^## /m)
  .slice(1)
  .map((list) => {
    const title = list.split('\n', 1)[0] ?? '';
    const links = Array.from(list.matchAll(LINK), ([, text = '', href = '', about]): Link => ({ href, text, about }));
    const ofModules = MODULE_PAGES.filter(({ group }) => group === title).map(
      ({ path, name }): Link => ({
        href: path,
        text: name,
      }),
    );
    return { title, links: [...links, ...ofModules] };
  });

/** The pages in the header. */
export const TABS = [
  ...(header?.links ?? []),
  ...MODULE_PAGES.flatMap(({ path, tab }) => (tab === undefined ? [] : { href: path, text: tab })),
];

/** The pages beside the text, in groups. */
const GROUPS = lists.slice(0, -1).filter(({ links }) => links.length > 0);

/** Where each reader goes from the first page. */
export const READERS = lists.at(-1)?.links ?? [];

/** On a narrow screen it is folded; on a wide one the stylesheet shows it. */
export function Navigation({ path, parts }: { path: string; parts: readonly Link[] }) {
  return (
    <nav class="side" aria-label="All pages">
      <details>
        <summary>All pages</summary>
        {GROUPS.map(({ title, links }) => (
          <>
            <p>{title}</p>
            <Links links={links} path={path} parts={parts} />
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
