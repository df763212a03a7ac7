import {
  createMcpHandler,
  isLegacyRequest,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import { log } from '../../lib/log.ts';
import { inputSchemaOf, type Tool } from './tool.ts';
import type { ToolResult } from './tool-result.ts';

// The protocol, and the only file that imports its library.

/** The version of the tools, not of the code. */
const SERVER = { name: 'ticket-write-back', title: 'Ticket Write-Back', version: '1.0.0' };
const INSTRUCTIONS =
  'Writes the result of work back to a ticketing system. The tools only write; none of them reads. Every call needs an idempotencyKey: keep it the same whenever you repeat a call.';

interface Exchange {
  request: Request;
  json: unknown;
  tools: readonly Tool[];
  /** The tool that the message calls. */
  call?: { name: string; run: () => Promise<ToolResult> };
}

/**
 * Answers a message of either era of the protocol: 2026-07-28, or the older ones with `initialize`.
 * A response is complete before its status is sent. @throws what `call.run` throws
 */
export async function serve({ request, json, tools, call }: Exchange): Promise<Response> {
  let failure: { error: unknown } | undefined;
  // Also gets the mistakes of callers, which their responses explain.
  let latest: Error | undefined;
  const onError = (err: Error) => {
    latest = err;
  };
  const makeServer = () => {
    const server = new Server(SERVER, { capabilities: { tools: {} }, instructions: INSTRUCTIONS });
    server.setRequestHandler('tools/list', () => ({ tools: tools.map(listed) }));
    server.setRequestHandler('tools/call', async ({ params }) => {
      if (params.name !== call?.name)
        throw new ProtocolError(
          ProtocolErrorCode.InvalidParams,
          'There is no such tool; tools/list has the tools of this key.',
        );
      try {
        return { ...(await call.run()) };
      } catch (error) {
        // The library would show its message. The caller of `serve` gets it instead.
        failure = { error };
        return { content: [] };
      }
    });
    return server;
  };
  const response = (await isLegacyRequest(request, json))
    ? await serveLegacy(makeServer(), request, json, onError)
    : await createMcpHandler(makeServer, { legacy: 'reject', onerror: onError }).fetch(request, { parsedBody: json });
  const text = await response.text();
  if (failure) throw failure.error;
  if (response.status >= 500) log('error', 'internal_error', { cause: latest });
  return new Response(text === '' ? null : text, response);
}

/** As the library's own fallback, except that the response is JSON and no stream. */
async function serveLegacy(server: Server, request: Request, json: unknown, onError: (err: Error) => void) {
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
  transport.onerror = onError;
  // The library refuses clients that do not accept both types, even in this spelling. The response is JSON anyway.
  const headers = new Headers(request.headers);
  headers.set('Accept', 'application/json, text/event-stream');
  await server.connect(transport);
  try {
    return await transport.handleRequest(new Request(request.url, { method: 'POST', headers }), { parsedBody: json });
  } finally {
    await server.close();
  }
}

const ANNOTATIONS = { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false };

function listed(tool: Tool) {
  const { name, title, description } = tool;
  return { name, title, description, inputSchema: inputSchemaOf(tool), annotations: ANNOTATIONS };
}
