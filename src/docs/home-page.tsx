import { Icon, type IconName } from '../http/page/icon.tsx';
import { Tile } from './tiles.tsx';

const READERS: readonly { href: string; icon: IconName; title: string; text: string }[] = [
  { href: '/docs/recipes', icon: 'bolt', title: 'I build workflows', text: 'A recipe for each tool, step by step.' },
  { href: '/settings', icon: 'key', title: 'I manage keys', text: 'Create, watch, rotate, review and revoke keys.' },
  {
    href: '/docs/reference',
    icon: 'pen',
    title: 'I write code',
    text: 'Every request and response, in four languages.',
  },
  {
    href: '/docs/agents',
    icon: 'user',
    title: 'I run AI agents',
    text: 'The tools for agents, and settings of clients.',
  },
  { href: '/docs/psa', icon: 'rotate', title: 'I connect a PSA', text: 'From the secret to the go-live checklist.' },
  {
    href: '/docs/errors',
    icon: 'alert',
    title: 'Something went wrong',
    text: 'The meaning of each error, and who can fix it.',
  },
];

/** Where each reader goes from the first page. */
export function Readers() {
  return (
    <ul class="tiles wide">
      {READERS.map(({ href, icon, title, text }) => (
        <Tile href={href} glyph={<Icon name={icon} />} title={title} text={text} />
      ))}
    </ul>
  );
}

/** The top of the first page. */
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
