import type { Context } from 'hono';
import { RECORD_KINDS } from '../../domain/record-kinds.ts';
import type { AgentEnv } from '../../http/agent-env.ts';
import { sendToApi } from './api.ts';
import type { ToolCall } from './message.ts';
import { keyPrefixOf } from './responses.ts';
import { type ProblemJson, problemResult, type ToolResult } from './tool-result.ts';
import { TOOLS } from './tools.ts';

export interface CalledTool {
  /** The API's response to the call. */
  answer: Response;
  /** Whether it is about the caller and not about the call: then the caller gets it as it is. */
  isFinal: boolean;
  result: ToolResult;
}

/** Writes or checks what the call asks for with one request to the API. Its refusals are results too: agents read results. */
export async function callTool(c: Context<AgentEnv>, call: ToolCall): Promise<CalledTool> {
  const tool = TOOLS[call.kind];
  const parsed = tool.parse(call.arguments, keyPrefixOf(c));
  const { ticketId, idempotencyKey, dryRun, body } = parsed.request;
  const path = `/tickets/${ticketId}/${RECORD_KINDS[call.kind].path}${dryRun ? '/dry-run' : ''}`;
  const answer = await sendToApi(c, path, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'Idempotency-Key': idempotencyKey },
    body: JSON.stringify(body),
  });
  if (answer.ok && parsed.ok)
    return { answer, isFinal: false, result: await tool.resultOf(answer, { ticketId, dryRun }) };
  const refusal = await answer.clone().json<ProblemJson>();
  const isFinal = isAboutCaller(answer, refusal);
  const isOfArguments = answer.ok || refusal.code === 'validation_failed' || refusal.code === 'invalid_idempotency_key';
  const requestId = answer.headers.get('X-Request-Id') ?? '';
  const found = !parsed.ok && isOfArguments ? { ...parsed.problem, requestId } : refusal;
  return { answer, isFinal, result: problemResult(found, answer.headers.get('Retry-After')) };
}

/** Without a key that may be used, over plain HTTP, or above the limit of the address. */
const isAboutCaller = ({ status }: Response, { code, 'violated-policies': policies = [] }: ProblemJson) =>
  status === 401 || code === 'https_required' || policies.includes('ip');
