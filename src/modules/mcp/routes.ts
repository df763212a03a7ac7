import { type Context, Hono } from 'hono';
import { writableKinds } from '../../domain/record-kinds.ts';
import type { PingResponse } from '../../domain/response-shapes.ts';
import type { AgentEnv } from '../../http/agent-env.ts';
import { methodNotAllowedProblem, Problem } from '../../http/problems.ts';
import type { AgentRoutes } from '../../module.ts';
import { ping } from './api.ts';
import { type CalledTool, callTool } from './call-tool.ts';
import { readMessage } from './message.ts';
import { invalidRequest, problemResponse, responseFrom } from './responses.ts';
import { serve } from './serve.ts';
import { TOOLS } from './tools.ts';

/**
 * Streamable HTTP without sessions. Each message becomes one request to the API: a call of a tool its write, any other
 * message a ping. The API decides about address, key, scope and limits.
 */
export const mcp: AgentRoutes = {
  path: '/mcp',
  app: new Hono<AgentEnv>()
    .use('/', refuseOrigin)
    .post('/', respond)
    .all('/', (c) => refuse(c, new Problem(...methodNotAllowedProblem(c.req.method, ['POST'])))),
};

/** MCP demands this check: a page must not reach the endpoint through a browser (DNS rebinding). Programs send no Origin. */
async function refuseOrigin(c: Context<AgentEnv>, next: () => Promise<void>) {
  if (c.req.header('Origin') === undefined) return next();
  return invalidRequest(403, 'The request has an Origin; send it from a program, without one.');
}

/** The response for a problem that the API does not know. Only callers with a key learn it. */
async function refuse(c: Context<AgentEnv>, problem: Problem): Promise<Response> {
  const answer = await ping(c);
  return answer.ok ? responseFrom(c, answer, problemResponse(c, answer, problem)) : answer;
}

async function respond(c: Context<AgentEnv>): Promise<Response> {
  const { json, call, problem } = await readMessage(c);
  if (problem) return refuse(c, problem);
  if (!call) {
    const answer = await ping(c);
    if (!answer.ok) return answer;
    // The revision 2025-06-18 removed the batches of JSON-RPC from MCP.
    if (Array.isArray(json)) {
      const refusal = 'Batches are not supported; send each message in its own request.';
      return responseFrom(c, answer, invalidRequest(400, refusal));
    }
    const { scopes } = await answer.json<PingResponse>();
    const tools = writableKinds(scopes).map((kind) => TOOLS[kind]);
    return responseFrom(c, answer, await serve({ request: c.req.raw, json, tools }));
  }

  let called: CalledTool | undefined;
  const run = async () => {
    called = await callTool(c, call);
    return called.result;
  };
  const { name } = TOOLS[call.kind];
  const response = await serve({ request: c.req.raw, json, tools: [], call: { name, run } });
  // Without a call the library has refused the message, and the API has not seen the key.
  const answer = called?.answer ?? (await ping(c));
  const isFinal = called ? called.isFinal : !answer.ok;
  return isFinal ? answer : responseFrom(c, answer, response);
}
