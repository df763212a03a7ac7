import { Code } from '../http/page/code.tsx';
import { AGENT_CLIENTS, OTHER_CLIENTS } from './agent-clients.ts';
import { Page, Table } from './layout.tsx';
import { Text } from './text.tsx';

const TOOLS = [
  ['`add_internal_note`', '`ticketId`, `message`, `idempotencyKey`', '`tickets:note:write`'],
  [
    '`log_time`',
    '`ticketId`, `minutes`, `description`, `billable`, `userEmail` (optional), `idempotencyKey`',
    '`tickets:time:write`',
  ],
] as const;

const RULES = [
  [
    'Give each agent its own key',
    'With one scope, if one tool is enough: the other tool is then not listed, and a call to it gets the same 401 as a wrong key. Give the key an expiration and daily limits.',
  ],
  [
    'Let your program choose the idempotencyKey',
    'Put the id of the event into the instructions of the agent, such as `triage:evt-20418`. A model that invents the value may invent another one for the retry.',
  ],
  [
    'Retry with the same idempotencyKey',
    'This applies after a timeout or an error. After `rate_limited`, wait for `retryAfterSeconds` first. The wording may differ: a second record is never written, and the result says `idempotentReplay: true`.',
  ],
  [
    'Read `isError`',
    'The text says what to correct, as does `message` in `structuredContent`; `code` there is that of a problem of the API. `idempotency_key_on_other_ticket` exists here only: the key was used on another ticket, and nothing was written.',
  ],
  [
    'If a client asks you to sign in',
    'It got a 401: the key is missing, wrong, revoked or expired. This service has no OAuth, so correct the key in the settings of the client.',
  ],
  [
    'Nothing is read',
    'No tool returns the text of a ticket, a note or a customer, so no one can send instructions to your agent through this service.',
  ],
] as const;

/** The endpoint for AI agents: its tools, rules, and the settings of clients. */
export function Agents({ origin }: { origin: string }) {
  return (
    <Page title="AI agents" path="/docs/agents">
      <p>
        AI agents call the API with the Model Context Protocol (MCP) at <code>{`${origin}/mcp`}</code>, with the same
        keys, limits and audit log. A separate Worker serves this address. If it responds with 404, the operator has not
        deployed that Worker.
      </p>
      <Table head={['Tool', 'Arguments', 'Scope']} rows={TOOLS} />
      <h2>Rules</h2>
      <Table head={['Rule', 'Why']} rows={RULES} />
      <h2>Clients</h2>
      <p class="tried">
        Not tested in any of these clients, and no model was available. Tests of this project use the official client of
        the MCP SDK with the revisions 2026-07-28 and 2025-11-25, mcp-remote 0.15.1, the MCP client of the AI SDK
        (@ai-sdk/mcp 2.0.99), and a script that times out, rewords and resends a call 100 times: it makes one record. A
        connection takes 2 to 9 requests, which count against the limit of the key.
      </p>
      <Table
        head={['Client', 'Accepts a fixed key', 'Source']}
        rows={AGENT_CLIENTS.map(({ name, acceptsKey, source }) => [name, acceptsKey, source])}
      />
      {AGENT_CLIENTS.map(({ name, where, settings }) => (
        <>
          <h3>{name}</h3>
          <p>
            <Text>{where}</Text>
          </p>
          <Code label={`Settings of ${name}`}>{settings(origin)}</Code>
        </>
      ))}
      <h2>Clients that do not accept a fixed key</h2>
      <Table head={['Client', 'Why']} rows={OTHER_CLIENTS} />
    </Page>
  );
}
