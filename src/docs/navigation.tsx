import { RECIPES } from './recipes.ts';

export interface Link {
  href: string;
  text: string;
}

/** The pages in the header. */
export const TABS: readonly Link[] = [
  { href: '/docs', text: 'Start' },
  { href: '/docs/recipes', text: 'Recipes' },
  { href: '/docs/reference', text: 'Reference' },
  { href: '/docs/errors', text: 'Errors' },
  { href: '/docs/agents', text: 'AI agents' },
  { href: '/docs/psa', text: 'For the PSA' },
];

/** The pages beside the text, in groups. */
const GROUPS: readonly { title: string; links: readonly Link[] }[] = [
  {
    title: 'Start',
    links: [
      { href: '/docs', text: 'Start here' },
      { href: '/docs/concepts', text: 'Concepts and glossary' },
    ],
  },
  {
    title: 'Recipes',
    links: [
      { href: '/docs/recipes', text: 'All recipes and rules' },
      ...RECIPES.map(({ slug, tool }) => ({ href: `/docs/recipes/${slug}`, text: tool })),
      { href: '/docs/agents', text: 'AI agents' },
    ],
  },
  {
    title: 'Reference',
    links: [
      { href: '/docs/reference', text: 'Operations' },
      { href: '/docs/errors', text: 'Errors' },
      { href: '/docs/keys', text: 'Key format' },
    ],
  },
  {
    title: 'PSA',
    links: [
      { href: '/docs/psa', text: 'Integrate your PSA' },
      { href: '/docs/psa/calls', text: 'Calls and errors' },
    ],
  },
];

/**
 * All pages, with the parts of this one below it. On a narrow screen it is folded; on a wide one the
 * stylesheet shows it.
 */
export function Navigation({ path, parts }: { path: string; parts: readonly Link[] }) {
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

function Parts({ links }: { links: readonly Link[] }) {
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
