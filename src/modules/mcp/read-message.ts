import type { Context, MiddlewareHandler } from 'hono';
import * as z from 'zod';
import type { RecordKind } from '../../domain/record-kinds.ts';
import type { AppEnv } from '../../http/hono-env.ts';
import { jsonText, readJson } from '../../http/middleware/json-body.ts';
import { Problem } from '../../http/problems.ts';
import { kindOfTool } from './tools.ts';

/** The message of a request, or the problem of its body. */
interface McpMessage {
  json?: unknown;
  /** The tool that it calls, named by the kind of record that the tool writes. */
  call?: { kind: RecordKind; arguments: unknown } | undefined;
  problem?: Problem;
  /** The limit of the key refuses the call, whose result says so. */
  limitRefusal?: Problem;
}

/** By the context of the request: the core has no variable for what only a module knows. */
const messages = new WeakMap<object, McpMessage>();

/** The message of the request with this context, after `readMessage`. */
export const messageOf = (c: object): McpMessage => messages.get(c) ?? {};

/** Whatever else is wrong with a call, the name of its tool decides which scope it needs. */
const toolCall = z.object({
  method: z.literal('tools/call'),
  params: z.object({ name: z.string(), arguments: z.unknown().optional() }),
});

/**
 * Reads the message. What is wrong with its body is reported later, by the route, because the limit
 * of the key comes first.
 */
export function readMessage(): MiddlewareHandler<AppEnv> {
  return async function readMessage(c, next) {
    messages.set(c, await read(c));
    await next();
  };
}

async function read(c: Context<AppEnv>): Promise<McpMessage> {
  try {
    for (const check of jsonText()) await check(c, async () => undefined);
    const json = await readJson(c);
    const { data } = toolCall.safeParse(json);
    const kind = data && kindOfTool(data.params.name);
    return { json, call: kind && { kind, arguments: data.params.arguments } };
  } catch (err) {
    if (err instanceof Problem) return { problem: err };
    throw err;
  }
}
