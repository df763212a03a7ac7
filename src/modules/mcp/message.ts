import type { Context } from 'hono';
import * as z from 'zod/mini';
import type { RecordKind } from '../../domain/record-kinds.ts';
import type { AgentEnv } from '../../http/agent-env.ts';
import { JSON_BODY, readJson, receiveBody, requireJson } from '../../http/middleware/body.ts';
import { invalidHost, Problem } from '../../http/problems.ts';
import { kindOfTool } from './tools.ts';

/** A call of the tool that writes this kind of record. */
export interface ToolCall {
  kind: RecordKind;
  arguments: unknown;
}

interface McpMessage {
  json?: unknown;
  call?: ToolCall | undefined;
  /** The fault of the request. It is reported later, because the key comes first. */
  problem?: Problem;
}

/** Whatever else is wrong with a call, the name of its tool decides which request the API gets. */
const toolCall = z.object({
  method: z.literal('tools/call'),
  params: z.object({ name: z.string(), arguments: z.optional(z.unknown()) }),
});

export async function readMessage(c: Context<AgentEnv>): Promise<McpMessage> {
  try {
    if (!URL.canParse(c.req.url)) throw new Problem(...invalidHost());
    requireJson(c);
    await receiveBody(c, ...JSON_BODY);
    const json = await readJson(c);
    const { data } = toolCall.safeParse(json);
    const kind = data && kindOfTool(data.params.name);
    return { json, call: kind && { kind, arguments: data.params.arguments } };
  } catch (err) {
    if (err instanceof Problem) return { problem: err };
    throw err;
  }
}
