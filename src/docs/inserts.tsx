import type { Child } from 'hono/jsx';
import { Icon, type IconName } from '../http/page/icon.tsx';
import { MODULE_PAGES } from './modules.ts';
import type { Link } from './navigation.tsx';

// The components that pages in Markdown insert.

type TileLink = Link & { about?: string | undefined };

function Tile({ href, text, about, glyph }: TileLink & { glyph: Child }) {
  return (
    <li>
      <a href={href}>
        <span class="glyph" aria-hidden="true">
          {glyph}
        </span>
        <span>
          <strong>{text}</strong>
          {about && <span class="minor">{about}</span>}
        </span>
      </a>
    </li>
  );
}

/** Two letters for a tool: `PA` for Power Automate, `n8` for n8n. */
function initials(tool: string): string {
  const capitals = tool.replaceAll(/[^A-Z]/g, '');
  return (capitals.length > 1 ? capitals : tool).slice(0, 2);
}

/** The icons of tiles, by the page to which they lead. Other tiles have letters. */
const ICONS: Readonly<Record<string, IconName>> = {
  '/docs/recipes': 'bolt',
  '/docs/administrators': 'key',
  '/docs/reference': 'pen',
  '/docs/errors': 'alert',
  ...Object.fromEntries(MODULE_PAGES.flatMap(({ path, reader }) => (reader ? [[path, reader.icon]] : []))),
};

/** A list of links as tiles. */
export function Tiles({ tiles }: { tiles: readonly TileLink[] }) {
  return (
    <ul class={tiles.some(({ about }) => about) ? 'tiles wide' : 'tiles'}>
      {tiles.map((tile) => {
        const icon = ICONS[tile.href];
        return <Tile {...tile} glyph={icon ? <Icon name={icon} /> : initials(tile.text)} />;
      })}
    </ul>
  );
}

export function Hero({ lead }: { lead: string }) {
  return (
    <div class="hero">
      <div>
        <h1>Your automation did the work. Write it into the ticket.</h1>
        <p class="lead">{lead}</p>
        <p class="row">
          <a class="button" href="#steps">
            Write a first note
          </a>
          <a class="button quiet" href="/docs/concepts">
            Concepts
          </a>
        </p>
      </div>
      <div class="ticket" role="img" aria-label="A ticket with a note and 15 minutes that an automation wrote">
        <p>
          <strong>1003 Disk C: almost full</strong>
        </p>
        <p>
          <span class="chip">
            <Icon name="note" kind="note" />
            Note
          </span>{' '}
          Removed 40 GB of temporary files. 61 GB free.
        </p>
        <p>
          <span class="chip">
            <Icon name="clock" kind="time_entry" />
            Time
          </span>{' '}
          15 minutes, billable
        </p>
      </div>
    </div>
  );
}

/** The steps of one event, lines such as `1. PSA: It shows the note.`, and the way back from the PSA to the next event. */
export function Loop({ steps }: { steps: string }) {
  return (
    <svg class="loop" viewBox="0 0 400 398" role="img" aria-label="From a ticket event to the invoice, in six steps">
      <path d="M348 227h34v-204h-30m6 -6l-6 6l6 6" />
      {Array.from(steps.matchAll(/^\d\. (.+?): (.+)$/gm), ([, step, text], index) => (
        <g transform={`translate(1 ${1 + index * 68})`}>
          {index > 0 && <path d="M174 -20v18m-6 -6l6 6l6 -6" />}
          <rect width="346" height="46" rx="8" />
          <text x="14" y="20" class="step">
            {step}
          </text>
          <text x="14" y="37">
            {text}
          </text>
        </g>
      ))}
    </svg>
  );
}

/** Creates a random token in the browser, with script only, and puts it into all places of the page. */
export function NewToken() {
  return (
    <p class="row">
      <button type="button" class="quiet" id="new-token" hidden>
        Create a random token
      </button>
      <output></output>
    </p>
  );
}

/** Sends a ping, with script only. The key is only the value of this field: no form could be sent or remembered. */
export function TryPing() {
  return (
    <div class="card try" id="try-ping" hidden>
      <label for="ping-key">Try it with a key</label>
      <div class="row">
        <input id="ping-key" type="password" autocomplete="off" spellcheck={false} aria-describedby="ping-help" />
        <button type="button">Send ping</button>
      </div>
      <p class="help" id="ping-help">
        The key is sent to this service only, and not stored.
      </p>
      <output class="response"></output>
    </div>
  );
}
