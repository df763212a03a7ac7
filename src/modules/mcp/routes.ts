import { type Context, Hono } from 'hono';
import { jsonWithoutKeys } from '../../domain/pasted-keys.ts';
import { RECORD_KINDS } from '../../domain/record-kinds.ts';
import { writableKinds } from '../../domain/scopes.ts';
import type { ApiEnv, AppEnv } from '../../http/hono-env.ts';
import { authenticate } from '../../http/middleware/authenticate.ts';
import { firstChecks, guard, requireHost } from '../../http/middleware/guard.ts';
import { keyLimit } from '../../http/middleware/key-limit.ts';
import { methodNotAllowedProblem, Problem, problem } from '../../http/problems.ts';
import { log } from '../../lib/log.ts';
import { callTool } from './call-tool.ts';
import { invalidRequest, messageOf, readMessage, refuseOrigin, type ToolCall } from './message.ts';
import { serve } from './serve.ts';
import type { ToolReply } from './tool-reply.ts';
import { TOOLS } from './tools.ts';

/**
 * Streamable HTTP without sessions. The order is that of the API, except that the scope is named by the
 * body: key, host, body, scope, limit of the key, plan, call. Until the limit, the responses are the same.
 */
export function createMcp() {
  return new Hono<AppEnv>()
    .use(...firstChecks('mcp'), refuseOrigin)
    .post('/', authenticate('in_body'), requireHost, readMessage, respond)
    .all('/', ...guard(), (c) => problem(c, ...methodNotAllowedProblem(c.req.method, ['POST'])));
}

async function respond(c: Context<ApiEnv>): Promise<Response> {
  const { json, call, problem: refusal } = messageOf(c);
  const check = c.get('keyCheck');
  // Only a write is decided by D1. Any other response must not rely on a cached key.
  await (call ? check.requireScope(RECORD_KINDS[call.kind].scope) : check.refresh());
  const limitRefusal = await exceededLimit(c);
  if (limitRefusal && !call) throw limitRefusal;
  if (refusal) throw refusal;
  // The revision 2025-06-18 removed the batches of JSON-RPC from MCP.
  if (Array.isArray(json))
    return invalidRequest(c, 400, 'batch', 'Batches are not supported; send each message in its own request.');

  let reply: ToolReply | undefined;
  const run = async (called: ToolCall) => {
    reply = await callTool(c, called, limitRefusal);
    return reply.result;
  };
  const response = await serve({
    request: c.req.raw,
    json,
    tools: writableKinds(c.get('principal').scopes).map((kind) => TOOLS[kind]),
    call: call && { name: TOOLS[call.kind].name, run: () => run(call) },
    onFailure: (cause) => log('error', 'internal_error', { requestId: c.get('requestId'), cause }),
  });
  // The library refused the call, so there is no result that could report the limit.
  if (limitRefusal && !reply) throw limitRefusal;
  // The library refused the call before D1 could decide: the response must not rely on a cached key.
  if (call && !reply) await check.refresh();
  const clean = await withoutPastedKeys(response, c.get('config').keyPrefix);
  for (const [name, value] of Object.entries(reply?.headers ?? {})) clean.headers.set(name, value);
  return clean;
}

/** The 429 of the key's limit. The result of a call reports it, because agents read results. */
async function exceededLimit(c: Context<ApiEnv>): Promise<Problem | undefined> {
  try {
    await keyLimit(c, async () => undefined);
    return undefined;
  } catch (err) {
    if (err instanceof Problem && err.code === 'rate_limited') return err;
    throw err;
  }
}

/** Errors repeat the input of the caller, and users paste keys into wrong fields. */
async function withoutPastedKeys(response: Response, keyPrefix: string): Promise<Response> {
  if (!response.headers.get('Content-Type')?.startsWith('application/json')) return response;
  return new Response(jsonWithoutKeys(await response.json(), keyPrefix), response);
}
