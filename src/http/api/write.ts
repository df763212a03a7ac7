import type { Context, HonoRequest } from 'hono';
import { checkIdempotencyKey, IDEMPOTENCY_KEY_REMEDY } from '../../domain/idempotency-key.ts';
import type { ReplayFields } from '../../domain/response-shapes.ts';
import type { WriteOutcome, WriteTarget } from '../../services/work/write-once.ts';
import type { ApiEnv, AppEnv, ContextOf } from '../hono-env.ts';
import { Problem } from '../problems.ts';

/** The ticket and Idempotency-Key of a write. @throws Problem `invalid_idempotency_key` */
export function writeTarget(c: Pick<ContextOf<AppEnv>, 'get'> & { req: HonoRequest<'/:ticketId'> }): WriteTarget {
  const checked = checkIdempotencyKey(c.req.header('Idempotency-Key'), c.get('config').keyPrefixes);
  if (!checked.ok) throw invalidIdempotencyKey(checked.rule, checked.remedy);
  return { ticketId: c.req.param('ticketId'), idempotencyKey: checked.key };
}

/** The Idempotency-Key breaks a rule; `rule` completes the sentence "Idempotency-Key …". */
export function invalidIdempotencyKey(rule: string, remedy = IDEMPOTENCY_KEY_REMEDY): Problem {
  return new Problem('invalid_idempotency_key', `Idempotency-Key ${rule}; ${remedy}, or omit the header.`);
}

/** 201 for a new record; 200 for a replay, with whether the requests were the same. */
export function respondToWrite<Body extends object>(
  c: Context<ApiEnv>,
  target: WriteTarget,
  outcome: WriteOutcome<{ ticketId: string }>,
  body: Body,
): Response {
  if (!outcome.replayed) return c.json(body, 201);
  const { mismatch, row } = outcome;
  if (mismatch) c.set('lostWrite', target);
  const headers = { 'Idempotency-Replayed': 'true', ...(mismatch ? { 'Idempotency-Mismatch': 'true' } : {}) };
  const replay: ReplayFields = {
    idempotentReplay: true,
    ...(mismatch ? { idempotencyMismatch: true, ticketId: row.ticketId } : {}),
  };
  return c.json({ ...body, ...replay }, 200, headers);
}
