import type { Context } from 'hono';
import { errorOf, ServiceError, Unauthorized } from '../../domain/errors.ts';
import { problemOf } from '../../http/error-response.ts';
import { type ApiEnv, writeContext } from '../../http/hono-env.ts';
import type { Problem } from '../../http/problems.ts';
import type { ToolCall } from './message.ts';
import { problemReply, type ToolReply } from './tool-reply.ts';
import { TOOLS } from './tools.ts';

/** Every refusal is a reply, except that of the key. `limitRefusal` is that of its limit. @throws Unauthorized */
export async function callTool(c: Context<ApiEnv>, call: ToolCall, limitRefusal?: Problem): Promise<ToolReply> {
  const tool = TOOLS[call.kind];
  const { requestStats, config, keyCheck } = c.var;
  requestStats.call = tool.name;
  try {
    if (limitRefusal) throw limitRefusal;
    if (!c.get('principal').hasPsa) throw errorOf('psa_not_included');
    const reply = await tool.call({ ...writeContext(c), auditDetail: 'through MCP' }, config.keyPrefix, call.arguments);
    if (reply.code !== undefined) requestStats.problem = reply.code;
    if (reply.lost) c.set('lostWrite', reply.lost);
    return reply;
  } catch (err) {
    const error = await confirmed(c, err);
    if (error instanceof Unauthorized) throw error;
    const problem = problemOf(error, c);
    requestStats.problem = problem.code;
    c.set('toolError', error);
    if (problem.code === 'psa_not_included') keyCheck.forget();
    return problemReply(problem, c.get('requestId'));
  }
}

/** A refusal that D1 did not decide must not rely on a cached key, so the key is read first. */
async function confirmed(c: Context<ApiEnv>, err: unknown): Promise<unknown> {
  const check = c.get('keyCheck');
  if (err instanceof ServiceError || err instanceof Unauthorized || !check.isStale) return err;
  try {
    await check.refresh();
    return c.get('principal').hasPsa ? err : errorOf('psa_not_included');
  } catch (newer) {
    return newer;
  }
}
