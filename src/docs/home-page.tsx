import { RECORD_KINDS } from '../domain/record-kinds.ts';
import { Code } from '../http/page/code.tsx';
import { Icon, type IconName } from '../http/page/icon.tsx';
import { Tabs } from '../http/page/tabs.tsx';
import { Page } from './layout.tsx';
import { bash, powerShell, type RequestExample, VARIABLE } from './request-examples.ts';
import { Tile, ToolTiles } from './tiles.tsx';

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
  { href: '/docs/psa', icon: 'rotate', title: 'I connect a PSA', text: 'The interface for the ticketing system.' },
  {
    href: '/docs/errors',
    icon: 'alert',
    title: 'Something went wrong',
    text: 'What each error means and what to do.',
  },
];

/** The first page: three steps to the first note, and where each reader goes from there. */
export function Home({ origin }: { origin: string }) {
  const ping = { method: 'GET', url: `${origin}/api/v1/ping`, needsKey: true, headers: [], body: undefined };
  const note = {
    method: 'POST',
    url: `${origin}/api/v1/tickets/TICKET/${RECORD_KINDS.note.path}`,
    needsKey: true,
    headers: [['Content-Type', 'application/json'] as const, ['Idempotency-Key', 'triage:first-note'] as const],
    body: RECORD_KINDS.note.example.body,
  };
  return (
    <Page title="Documentation" path="/docs" hero={<Hero />}>
      <h2 id="steps">Three steps</h2>
      <ol class="steps">
        <li>
          <h3>Get a key</h3>
          <p>
            An administrator creates it in the <a href="/settings">settings</a>, one for each workflow. Keep it in the
            credential store of your tool. In a shell, paste it at this prompt:
          </p>
          <Shells
            group="key"
            what="Store the key"
            bash={`read -rs ${VARIABLE} && export ${VARIABLE}`}
            powerShell={`$env:${VARIABLE} = Read-Host 'Key'`}
          />
        </li>
        <li>
          <h3>Ping</h3>
          <p>Shows that the key works, and whose key it is. It changes nothing.</p>
          <Request group="ping" what="Ping" request={ping} />
        </li>
        <li>
          <h3>Write the first note</h3>
          <p>
            Replace <code>TICKET</code> with the id of a ticket.
          </p>
          <Request group="note" what="First note" request={note} />
          <p>
            You should see <code>note</code> with its <code>id</code>. Send it again: you get the same note, marked as a
            replay, and nothing is written twice. That is what the Idempotency-Key is for.
          </p>
        </li>
      </ol>
      <h2 id="readers">Where to go from here</h2>
      <ul class="tiles wide">
        {READERS.map(({ href, icon, title, text }) => (
          <Tile href={href} glyph={<Icon name={icon} />} title={title} text={text} />
        ))}
      </ul>
      <h2 id="tools">Your tool</h2>
      <ToolTiles />
    </Page>
  );
}

function Hero() {
  return (
    <div class="hero">
      <div>
        <h1>Your automation did the work. Write it into the ticket.</h1>
        <p class="lead">
          With one key, a workflow, a script or an AI agent adds internal notes and logs time in your PSA. It can do
          nothing else.
        </p>
        <p class="row">
          <a class="button" href="/settings">
            Get a key
          </a>
          <a class="button quiet" href="#steps">
            Start in three steps
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

function Request({ group, what, request }: { group: string; what: string; request: RequestExample }) {
  return <Shells group={group} what={what} bash={bash(request)} powerShell={powerShell(request)} />;
}

interface ShellsProps {
  group: string;
  what: string;
  bash: string;
  powerShell: string;
}

/** The same command for both shells. */
function Shells({ group, what, bash, powerShell }: ShellsProps) {
  const tab = (label: string, command: string) => ({
    id: label.toLowerCase(),
    label,
    content: (
      <Code label={`${what} with ${label}`} title={label}>
        {command}
      </Code>
    ),
  });
  return (
    <Tabs group={group} legend={what} choice="language" tabs={[tab('bash', bash), tab('PowerShell', powerShell)]} />
  );
}
