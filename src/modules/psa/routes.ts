import { type Context, Hono } from 'hono';
import * as z from 'zod/mini';
import { directoryId } from '../../domain/directory.ts';
import { hasCode } from '../../domain/errors.ts';
import { lazyObject, ruleError } from '../../domain/fields.ts';
import type { SignedMessage, WebhookSecret } from '../../domain/webhook.ts';
import { type AppEnv, serviceContext } from '../../http/hono-env.ts';
import { readJson, requireJson } from '../../http/middleware/body.ts';
import { requireHttps } from '../../http/middleware/guard.ts';
import { limitByIp } from '../../http/middleware/limits.ts';
import { methodNotAllowedProblem, problem, retryAfter503 } from '../../http/problems.ts';
import { log } from '../../lib/log.ts';
import { CALL_ERRORS, type CallResult, toCallResult } from '../../services/call-result.ts';
import { parseInput } from '../../services/parse-input.ts';
import { PSA_CALL_TYPES, PSA_CALLS } from './psa-calls.ts';
import { readSigned, refuse } from './read-signed.ts';

const CALL_DEADLINE_MS = 30_000;

/** A message. Standard Webhooks also puts the time into the body; only that of the header counts. */
const messageShape = lazyObject(() => ({
  type: z.enum(PSA_CALL_TYPES, { error: ruleError(`one of ${PSA_CALL_TYPES.join(', ')}`) }),
  data: z.optional(z.unknown()),
  timestamp: z.optional(z.string({ error: ruleError('a time as a string, or omit it') })),
}));
const addressed = z.lazy(() => z.object({ organization: directoryId('an organization') }));

/** POST /psa runs the service of a call, for a sender that signs with one of the secrets. */
export function createPsa(secrets: readonly WebhookSecret[]) {
  return new Hono<AppEnv>()
    .use(requireHttps, limitByIp('psa'))
    .post('/', async (c) => {
      const message = await readSigned(c, secrets);
      return typeof message === 'string' ? refuse(c, message) : respond(c, await run(c, message));
    })
    .all('/', (c) => problem(c, ...methodNotAllowedProblem(c.req.method, ['POST'])));
}

/** @throws Problem of the body's media type, encoding or JSON */
async function run(c: Context<AppEnv>, message: SignedMessage): Promise<CallResult<unknown>> {
  requireJson(c);
  const json = await readJson(c);
  const parsed = await toCallResult(async () => parseInput(messageShape, json));
  if (!parsed.ok) return parsed;
  const { type, data } = parsed.value;
  c.get('requestStats').call = type;
  c.get('requestStats').organization = addressed.safeParse(data).data?.organization;
  const caller = { actor: 'psa' as const, source: c.get('source'), message };
  const ctx = { ...serviceContext(c), ...caller, deadlineAt: Date.now() + CALL_DEADLINE_MS };
  const result = await toCallResult(() => PSA_CALLS[type].run(ctx, data).catch(logUnavailable(c)));
  if (result.ok) return result;
  // The service sees the data only; the caller sent the whole body.
  const errors = result.error.errors.map((one) => ({
    ...one,
    pointer: `/data${one.pointer}`,
    detail: one.detail.replace(/^The body /, 'data '),
  }));
  return { ok: false, error: { ...result.error, errors } };
}

/** The response does not show the cause. */
const logUnavailable = (c: Context<AppEnv>) => (err: unknown) => {
  if (hasCode(err, 'unavailable')) log('error', err.code, { requestId: c.get('requestId'), cause: err.info.cause });
  throw err;
};

function respond(c: Context<AppEnv>, result: CallResult<unknown>): Response {
  if (result.ok) return c.json(result);
  const { code, retryAfter } = result.error;
  c.get('requestStats').problem = code;
  return c.json(result, CALL_ERRORS[code], {
    ...(code === 'unavailable' && retryAfter503()),
    ...(retryAfter !== undefined && { 'Retry-After': String(retryAfter) }),
  });
}
