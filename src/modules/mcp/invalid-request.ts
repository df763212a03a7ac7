import type { AppEnv, ContextOf } from '../../http/hono-env.ts';

/** The code of JSON-RPC 2.0 §5.1 for an invalid request. */
const INVALID_REQUEST = -32600;

/**
 * Refuses a request as JSON-RPC does, without an id because no message was read. `problem` is its name
 * in the log; it is no problem of the API.
 */
export function invalidRequest(c: ContextOf<AppEnv>, status: 400 | 403, problem: string, message: string): Response {
  c.get('requestStats').problem = problem;
  return Response.json({ jsonrpc: '2.0', id: null, error: { code: INVALID_REQUEST, message } }, { status });
}
