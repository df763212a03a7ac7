import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { ToolResult } from '../../support/tools.ts';
import { makeApi } from '../../support/world.ts';

/** The newest revision of the protocol, and one of the older ones, which begin with `initialize`. */
export const ERAS = ['2026-07-28', '2025-11-25'] as const;
type Era = (typeof ERAS)[number];

/** An app whose /mcp is answered by the Worker for AI agents. */
export function makeMcpApi(options: Parameters<typeof makeApi>[0] = {}) {
  return makeApi({ agents: true, ...options });
}
type Api = ReturnType<typeof makeApi>;

/** Connects the official client to an app. */
export async function connect(api: Api, key: string, era: Era): Promise<Client> {
  const client = new Client(
    { name: 'test', version: '1.0.0' },
    { versionNegotiation: era === '2026-07-28' ? { mode: { pin: era } } : { mode: 'legacy' } },
  );
  const transport = new StreamableHTTPClientTransport(new URL('https://api.example/mcp'), {
    fetch: (url, init) => {
      const { method = 'GET', headers, body } = init ?? {};
      const { pathname } = new URL(url);
      return api.send(pathname, { method, headers: Object.fromEntries(new Headers(headers)), body: body ?? null });
    },
    requestInit: { headers: { Authorization: `Bearer ${key}` } },
  });
  await client.connect(transport);
  return client;
}

const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1.0.0' },
  'io.modelcontextprotocol/clientCapabilities': {},
};

/** A request of the newest revision, as its body and headers. */
export function message(method: string, params: Record<string, unknown> = {}) {
  return {
    body: { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: META } },
    headers: {
      Accept: 'application/json, text/event-stream',
      'MCP-Protocol-Version': '2026-07-28',
      'Mcp-Method': method,
      ...(typeof params['name'] === 'string' ? { 'Mcp-Name': params['name'] } : {}),
    },
  };
}

/** Posts a message. */
export function post(
  api: Api,
  key: string,
  method: string,
  params?: Record<string, unknown>,
  more: Record<string, string> = {},
): Promise<Response> {
  const { body, headers } = message(method, params);
  return api.post('/mcp', key, body, { ...headers, ...more });
}

/** Calls a tool with plain HTTP. */
export const callTool = (api: Api, key: string, name: string, args: unknown) =>
  post(api, key, 'tools/call', { name, arguments: args });

/** Calls a tool and returns its result. */
export async function resultOf(api: Api, key: string, name: string, args: unknown): Promise<ToolResult> {
  const response = await callTool(api, key, name, args);
  const text = await response.text();
  const { result }: { result?: ToolResult } = JSON.parse(text);
  if (response.status !== 200 || !result) throw new Error(`${response.status} ${text}`);
  return result;
}

export const NOTE_ARGUMENTS = {
  ticketId: '1001',
  message: 'Restarted the print spooler',
  idempotencyKey: 'triage:evt-1',
};
export const TIME_ARGUMENTS = {
  ticketId: '1001',
  minutes: 30,
  description: 'Cleared the print queue',
  billable: true,
  idempotencyKey: 'triage:evt-1',
};
