import type { Context, Next } from 'hono';
import * as z from 'zod';
import type { RecordKind } from '../../domain/record-kinds.ts';
import type { AppEnv, ContextOf } from '../../http/hono-env.ts';
import { readJson, receiveJson } from '../../http/middleware/json-body.ts';
import { Problem } from '../../http/problems.ts';
import { kindOfTool } from './tools.ts';

/** A call of the tool that writes this kind of record. */
export interface ToolCall {
  kind: RecordKind;
  arguments: unknown;
}

interface McpMessage {
  json?: unknown;
  call?: ToolCall | undefined;
  /** The fault of the body. It is reported later, because the limit of the key comes first. */
  problem?: Problem;
}

/** MCP demands this check: a page must not reach the endpoint through a browser (DNS rebinding). Programs send no Origin. */
export async function refuseOrigin(c: Context<AppEnv>, next: Next) {
  if (c.req.header('Origin') === undefined) return next();
  return invalidRequest(
    c,
    403,
    'origin_not_allowed',
    'The request has an Origin; send it from a program, without one.',
  );
}

/** Whatever else is wrong with a call, the name of its tool decides which scope it needs. */
const toolCall = z.object({
  method: z.literal('tools/call'),
  params: z.object({ name: z.string(), arguments: z.unknown().optional() }),
});

/** By the context of the request: the core has no variable for what only a module knows. */
const messages = new WeakMap<object, McpMessage>();

/** The message of the request with this context, after `readMessage`. */
export const messageOf = (c: object): McpMessage => messages.get(c) ?? {};

export async function readMessage(c: Context<AppEnv>, next: Next) {
  messages.set(c, await read(c));
  await next();
}

async function read(c: Context<AppEnv>): Promise<McpMessage> {
  try {
    await receiveJson(c);
    const json = await readJson(c);
    const { data } = toolCall.safeParse(json);
    const kind = data && kindOfTool(data.params.name);
    return { json, call: kind && { kind, arguments: data.params.arguments } };
  } catch (err) {
    if (err instanceof Problem) return { problem: err };
    throw err;
  }
}

/** The code of JSON-RPC 2.0 §5.1 for an invalid request. */
const INVALID_REQUEST = -32600;

/** Without an id, because no message was read. `problem` is its name in the log. */
export function invalidRequest(c: ContextOf<AppEnv>, status: 400 | 403, problem: string, message: string): Response {
  c.get('requestStats').problem = problem;
  return Response.json({ jsonrpc: '2.0', id: null, error: { code: INVALID_REQUEST, message } }, { status });
}
