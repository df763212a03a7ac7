import type { Context, MiddlewareHandler, Next } from 'hono';
import * as z from 'zod';
import { RECORD_KINDS, type RecordKind } from '../../domain/record-kinds.ts';
import type { ApiEnv, AppEnv, ContextOf } from '../../http/hono-env.ts';
import { readJson, receiveJson } from '../../http/middleware/json-body.ts';
import { keyLimit } from '../../http/middleware/key-limit.ts';
import { Problem } from '../../http/problems.ts';
import { kindOfTool } from './tools.ts';

// The checks of a message, in their order.

interface McpMessage {
  json?: unknown;
  /** The tool that it calls, named by the kind of record that the tool writes. */
  call?: { kind: RecordKind; arguments: unknown } | undefined;
  problem?: Problem;
  /** Set if the key's limit refuses the call. The tool's result reports it. */
  limitRefusal?: Problem;
}

/** By the context of the request: the core has no variable for what only a module knows. */
const messages = new WeakMap<object, McpMessage>();

/** The message of the request with this context, after `readMessage`. */
export const messageOf = (c: object): McpMessage => messages.get(c) ?? {};

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

/** An invalid body is reported later, by the route, because the limit of the key comes first. */
export function readMessage(): MiddlewareHandler<AppEnv> {
  return async function readMessage(c, next) {
    messages.set(c, await read(c));
    await next();
  };
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

/** Requires the scope of the tool that the message calls: without it, the call gets the constant 401. */
export function requireToolScope(): MiddlewareHandler<ApiEnv> {
  return async function requireToolScope(c, next) {
    const check = c.get('keyCheck');
    const kind = messageOf(c).call?.kind;
    // Only a write is decided by D1. Any other response must not rely on a cached key.
    await (kind ? check.requireScope(RECORD_KINDS[kind].scope) : check.refresh());
    await next();
  };
}

/** The result of a refused call reports the limit, because agents read results. Others get the 429. */
export function limitMessages(): MiddlewareHandler<ApiEnv> {
  const limit = keyLimit();
  return async function limitMessages(c, next) {
    try {
      await limit(c, async () => undefined);
    } catch (err) {
      const message = messageOf(c);
      if (!(err instanceof Problem && err.code === 'rate_limited' && message.call)) throw err;
      message.limitRefusal = err;
    }
    await next();
  };
}

/** The code of JSON-RPC 2.0 §5.1 for an invalid request. */
const INVALID_REQUEST = -32600;

/** Without an id, because no message was read. `problem` is its name in the log. */
export function invalidRequest(c: ContextOf<AppEnv>, status: 400 | 403, problem: string, message: string): Response {
  c.get('requestStats').problem = problem;
  return Response.json({ jsonrpc: '2.0', id: null, error: { code: INVALID_REQUEST, message } }, { status });
}
