import type { Context } from 'hono';
import { type AgentEnv, callerAddress } from '../../http/agent-env.ts';
import { internalError } from '../../http/problems.ts';
import { log } from '../../lib/log.ts';
import { problemResponse } from './responses.ts';

/** Replaces a Host header that is no host: the API checks the key first, and then refuses this one. */
const NO_HOST = 'host.invalid';

/** Sends a request to the API for the caller. Any failure to do so is a response with the status 500. */
export async function sendToApi(
  c: Context<AgentEnv>,
  path: string,
  { headers, ...init }: { method?: string; headers?: Record<string, string>; body?: string } = {},
): Promise<Response> {
  const url = URL.parse(c.req.url);
  const origin = url?.origin ?? `${c.req.url.slice(0, c.req.url.indexOf(':'))}://${NO_HOST}`;
  const own = new Headers(headers);
  for (const name of ['Authorization', 'User-Agent']) {
    const value = c.req.header(name);
    if (value !== undefined) own.set(name, value);
  }
  try {
    return await c.env.API.send(new Request(`${origin}/api/v1${path}`, { ...init, headers: own }), callerAddress(c));
  } catch (cause) {
    log('error', 'api_unreachable', { cause });
    return problemResponse(c, undefined, internalError());
  }
}

/** Checks the key, and counts the message against its limit. */
export const ping = (c: Context<AgentEnv>) => sendToApi(c, '/ping');
