import type { Context } from 'hono';
import { jsonWithoutKeys } from '../../domain/pasted-keys.ts';
import type { AgentEnv } from '../../http/agent-env.ts';
import { PROBLEMS, type Problem, problemBody } from '../../http/problems.ts';

/** The headers of the API's response that are about its own body, or about its status. */
const OF_ITS_BODY = new Set(['content-type', 'content-length', 'retry-after', 'link', 'preference-applied']);

/**
 * A response with the headers of the API's response, such as those of the limits. Errors repeat the input of the caller,
 * and users paste keys into wrong fields: they are removed.
 */
export async function responseFrom(c: Context<AgentEnv>, answer: Response, response: Response): Promise<Response> {
  const isJson = /^application\/(problem\+)?json/.test(response.headers.get('Content-Type') ?? '');
  const body = isJson ? jsonWithoutKeys(await response.json(), keyPrefixOf(c)) : response.body;
  const headers = new Headers(response.headers);
  for (const [name, value] of answer.headers) if (!OF_ITS_BODY.has(name)) headers.set(name, value);
  return new Response(body, { status: response.status, headers });
}

/** The prefix of this deployment, as the caller's key has it. The API has accepted the key. */
export const keyPrefixOf = (c: Context<AgentEnv>) =>
  /^Bearer +([a-z0-9]+)_/i.exec(c.req.header('Authorization') ?? '')?.[1] ?? '';

const NO_STORE = { 'Cache-Control': 'no-store' };

/** The response for a problem, with the request id of the API's response. */
export function problemResponse(c: Context<AgentEnv>, answer: Response | undefined, problem: Problem): Response {
  const { code, detail, extras } = problem;
  const { status } = PROBLEMS[code];
  const body = problemBody({ code, detail, members: extras.members }, c.req.url, answer?.headers.get('X-Request-Id'));
  const headers = { ...extras.headers, ...NO_STORE, 'Content-Type': 'application/problem+json' };
  return Response.json(body, { status, headers });
}

/** The code of JSON-RPC 2.0 §5.1 for an invalid request. */
const INVALID_REQUEST = -32600;

/** Without an id, because no message was read. */
export function invalidRequest(status: 400 | 403, message: string): Response {
  return Response.json(
    { jsonrpc: '2.0', id: null, error: { code: INVALID_REQUEST, message } },
    { status, headers: NO_STORE },
  );
}
