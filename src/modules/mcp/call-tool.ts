import type { Context } from 'hono';
import { errorOf, ServiceError, Unauthorized } from '../../domain/errors.ts';
import type { FieldError } from '../../domain/fields.ts';
import type { RecordKind } from '../../domain/record-kinds.ts';
import { problemOf } from '../../http/error-response.ts';
import { type ApiEnv, writeContext } from '../../http/hono-env.ts';
import type { Problem } from '../../http/problems.ts';
import { errorReply, type ToolReply } from './tool-reply.ts';
import { TOOLS } from './tools.ts';

/** Every refusal is a reply, except that of the key. @throws Unauthorized */
export async function callTool(c: Context<ApiEnv>, kind: RecordKind, args: unknown): Promise<ToolReply> {
  const tool = TOOLS[kind];
  const { requestStats, config, keyCheck } = c.var;
  requestStats.call = tool.name;
  try {
    if (!c.get('principal').hasPsa) throw errorOf('psa_not_included');
    const reply = await tool.call({ ...writeContext(c), auditDetail: 'through MCP' }, config.keyPrefix, args);
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

export function refuseCall(c: Context<ApiEnv>, kind: RecordKind, problem: Problem): ToolReply {
  const { requestStats, requestId } = c.var;
  requestStats.call = TOOLS[kind].name;
  requestStats.problem = problem.code;
  return problemReply(problem, requestId);
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

function problemReply({ code, detail, extras }: Problem, requestId: string): ToolReply {
  const { errors } = extras.members ?? {};
  const sentences = errors ? errors.map((error) => error.detail) : [detail];
  const wait = extras.headers?.['Retry-After'];
  return errorReply(code, `${inWordsOfTools(sentences.join('; '))}${advice(code, wait, errors)}`, {
    requestId,
    ...extras.members,
    ...(wait === undefined ? {} : { retryAfterSeconds: Number(wait) }),
  });
}

/** The details of the REST interface name a header and a body. */
function inWordsOfTools(detail: string): string {
  return detail
    .replaceAll('Idempotency-Key', 'idempotencyKey')
    .replaceAll('The body', 'The arguments')
    .replace(', or was sent more than once', '')
    .replace('send the request again after', 'wait');
}

function advice(code: Problem['code'], wait: string | undefined, errors: readonly FieldError[] = []): string {
  switch (code) {
    case 'validation_failed': {
      const keepsKey = !errors.some(({ pointer }) => pointer === '/idempotencyKey');
      return `. Nothing was written: correct the arguments and call again${keepsKey ? ' with the same idempotencyKey' : ''}.`;
    }
    case 'invalid_idempotency_key':
      return ' Nothing was written.';
    case 'ticket_not_found':
    case 'technician_not_eligible':
      return ' Nothing was written; the idempotencyKey is still unused.';
    case 'rate_limited':
      return ' Nothing was written. After that, call again with the same idempotencyKey.';
    case 'internal_error':
      return ' The record may exist: call again with the same idempotencyKey and the same arguments.';
    case 'unavailable':
    case 'outcome_unknown':
      return wait === undefined ? '' : ` Wait ${wait} seconds before you call again.`;
    default:
      return '';
  }
}
