import type { Context, MiddlewareHandler } from 'hono';
import * as z from 'zod';
import type { AppEnv, McpMessage } from '../../http/context.ts';
import { jsonText } from '../../http/middleware/json-body.ts';
import { Problem } from '../../http/problems.ts';
import { readJson } from '../../http/read-json.ts';
import { kindOfTool } from './tools.ts';

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
    c.set('mcpMessage', await read(c));
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
