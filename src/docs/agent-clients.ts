/** How one MCP client is connected. Backticks in a text mark code. */
interface AgentClient {
  name: string;
  /** Whether it can send a fixed bearer key, and what that depends on. */
  acceptsKey: string;
  /** The page that its settings were taken from, with its date if the page has one. */
  source: string;
  /** Where the settings belong. */
  where: string;
  settings: (origin: string) => string;
}

/** The clients that accept a fixed key. None of them was run by this project. */
export const AGENT_CLIENTS: readonly AgentClient[] = [
  {
    name: 'Claude Code',
    acceptsKey: 'Yes, if the server offers no OAuth (anthropics/claude-code issue 59467). This service offers none.',
    source:
      '`code.claude.com/docs/en/mcp`, in a copy of 29 January 2026. `zuplo.com/learn/mcp/compatibility/clients/claude-code` lists custom headers, 31 July 2026.',
    where:
      'Run the first line in a shell. To share the settings, put only the JSON into `.mcp.json` instead; Claude Code inserts the environment variable.',
    settings: (
      origin,
    ) => `claude mcp add --transport http --header "Authorization: Bearer $TICKETS_API_KEY" tickets ${origin}/mcp

{
  "mcpServers": {
    "tickets": {
      "type": "http",
      "url": "${origin}/mcp",
      "headers": { "Authorization": "Bearer \${TICKETS_API_KEY}" }
    }
  }
}`,
  },
  {
    name: 'VS Code',
    acceptsKey: 'Yes. VS Code asks for the key when the server starts for the first time, and stores it securely.',
    source: '`code.visualstudio.com/docs/copilot/reference/mcp-configuration`, approved on 20 May 2026.',
    where: 'In `.vscode/mcp.json`, or in `mcp.json` of the user profile.',
    settings: (origin) => `{
  "inputs": [
    { "type": "promptString", "id": "ticketsKey", "description": "Key of the Ticket Write-Back API", "password": true }
  ],
  "servers": {
    "tickets": {
      "type": "http",
      "url": "${origin}/mcp",
      "headers": { "Authorization": "Bearer \${input:ticketsKey}" }
    }
  }
}`,
  },
  {
    name: 'Cursor',
    acceptsKey: 'Yes, unless the server answers OAuth discovery. This service does not.',
    source:
      "`zuplo.com/learn/mcp/compatibility/clients/cursor`, 31 July 2026, and `userjot.com/docs/mcp-cursor`, which has no date. Cursor's own page was not read.",
    where: 'In `.cursor/mcp.json`, or in `~/.cursor/mcp.json`. Set the environment variable before Cursor starts.',
    settings: (origin) => `{
  "mcpServers": {
    "tickets": {
      "url": "${origin}/mcp",
      "headers": { "Authorization": "Bearer \${env:TICKETS_API_KEY}" }
    }
  }
}`,
  },
  {
    name: 'n8n: MCP Client node',
    acceptsKey: 'Yes, as a Bearer credential. The MCP Client Tool node for AI agents accepts the same credentials.',
    source:
      '`docs.n8n.io/integrations/builtin/core-nodes/n8n-nodes-langchain.mcpclient`, which has no date. Its text does not list the transports.',
    where:
      'In the parameters of the node. As a step of a workflow, the event id comes from the workflow and not from a model: prefer this to an agent where you can.',
    settings: (origin) => `Server Transport   HTTP Streamable
MCP Endpoint URL   ${origin}/mcp
Authentication     Bearer Auth (a credential that contains only the key)
Tool               log_time
Input Mode         JSON

{
  "ticketId": "{{ $json.ticketId }}",
  "minutes": 30,
  "description": "Cleared the print queue",
  "billable": true,
  "idempotencyKey": "triage:{{ $json.eventId }}"
}`,
  },
  {
    name: 'OpenAI Responses API',
    acceptsKey:
      'Yes, in `authorization`, as the key alone. OpenAI connects from its own servers, so the address must be public.',
    source:
      '`developers.openai.com/api/docs/guides/tools-remote-mcp`, which has no date and calls the value an OAuth access token.',
    where:
      'In every request, because the value is not stored. `require_approval` can be `never` here: the tools cannot read, publish or delete anything.',
    settings: (origin) => `curl https://api.openai.com/v1/responses \\
  -H "Authorization: Bearer $OPENAI_API_KEY" -H 'Content-Type: application/json' \\
  -d @- <<JSON
{
  "model": "$OPENAI_MODEL",
  "input": "Log 30 billable minutes on ticket 1001: cleared the print queue. The event is triage:evt-20418.",
  "tools": [{
    "type": "mcp",
    "server_label": "tickets",
    "server_url": "${origin}/mcp",
    "authorization": "$TICKETS_API_KEY",
    "allowed_tools": ["log_time"],
    "require_approval": "never"
  }]
}
JSON`,
  },
  {
    name: 'Zapier: MCP Client (beta)',
    acceptsKey: 'Yes, in the field for a bearer token, which is ignored if OAuth is set to yes.',
    source:
      "A copy of Zapier's help page of about August 2025, which does not name the fields; the fields are from the instructions of another service.",
    where: 'In the connection of the app MCP Client by Zapier; then choose the tool in a Zap step.',
    settings: (origin) => `Server URL       ${origin}/mcp
Transport        Streamable HTTP
OAuth            No
Bearer Token     the key alone

idempotencyKey   zap:<id of the trigger>`,
  },
];

/** Clients that cannot send a fixed key. */
export const OTHER_CLIENTS: readonly (readonly [client: string, why: string])[] = [
  [
    'claude.ai and Claude Desktop connectors',
    'OAuth only in most accounts; request headers are a beta (anthropics/claude-ai-mcp issue 603, July 2026).',
  ],
  ['ChatGPT connectors', 'OAuth or no authentication. Use the Responses API.'],
];
