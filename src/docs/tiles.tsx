import type { Child } from 'hono/jsx';
import { RECIPES } from './recipes.ts';

interface TileProps {
  href: string;
  glyph: Child;
  title: string;
  text?: string;
}

/** A link to another page, in a list of such tiles. */
export function Tile({ href, glyph, title, text }: TileProps) {
  return (
    <li>
      <a href={href}>
        <span class="glyph" aria-hidden="true">
          {glyph}
        </span>
        <span>
          <strong>{title}</strong>
          {text && <span class="minor">{text}</span>}
        </span>
      </a>
    </li>
  );
}

/** Each tool with a recipe, and where its recipe starts and ends. */
export function ToolTiles({ hasLead = false }: { hasLead?: boolean }) {
  return (
    <ul class={hasLead ? 'tiles wide' : 'tiles'}>
      {RECIPES.map(({ slug, tool, lead }) => (
        <Tile href={`/docs/recipes/${slug}`} glyph={initials(tool)} title={tool} {...(hasLead && { text: lead })} />
      ))}
    </ul>
  );
}

/** Two letters for a tool: `PA` for Power Automate, `n8` for n8n. */
function initials(tool: string): string {
  const capitals = tool.replaceAll(/[^A-Z]/g, '');
  return (capitals.length > 1 ? capitals : tool).slice(0, 2);
}
