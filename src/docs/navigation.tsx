import { withIncludes } from './blocks.ts';
import texts from './navigation.md?raw';
import { RECIPES } from './recipes.ts';

export interface Link {
  href: string;
  text: string;
  /** The words after the link. */
  about: string;
}

const recipes = RECIPES.map(({ slug, tool }) => `- [${tool}](/docs/recipes/${slug})`).join('\n');
const LINK = /^- \[(.+?)\]\((.+?)\)(?:: (.+))?$/gm;
const [header, ...lists] = withIncludes(texts, { recipes })
  .split(/^## /m)
  .slice(1)
  .map((list) => ({
    title: list.split('\n', 1)[0] ?? '',
    links: Array.from(list.matchAll(LINK), ([, text = '', href = '', about = '']): Link => ({ href, text, about })),
  }));

/** The pages in the header. */
export const TABS = header?.links ?? [];

/** The pages beside the text, in groups. */
const GROUPS = lists.slice(0, -1);

/** Where each reader goes from the first page. */
export const READERS = lists.at(-1)?.links ?? [];

/** On a narrow screen it is folded; on a wide one the stylesheet shows it. */
export function Navigation({ path, parts }: { path: string; parts: readonly Omit<Link, 'about'>[] }) {
  return (
    <nav class="side" aria-label="All pages">
      <details>
        <summary>All pages</summary>
        {GROUPS.map(({ title, links }) => (
          <>
            <p>{title}</p>
            <ul>
              {links.map(({ href, text }) => (
                <li>
                  <a href={href} aria-current={path === href ? 'page' : undefined}>
                    {text}
                  </a>
                  {path === href && parts.length > 0 && <Parts links={parts} />}
                </li>
              ))}
            </ul>
          </>
        ))}
      </details>
    </nav>
  );
}

function Parts({ links }: { links: readonly Omit<Link, 'about'>[] }) {
  return (
    <ul>
      {links.map(({ href, text }) => (
        <li>
          <a href={href}>{text}</a>
        </li>
      ))}
    </ul>
  );
}
