import type { HonoRequest } from 'hono';
import type { WriteTarget } from '../../services/work/write-once.ts';
import { checkIdempotencyKey, IDEMPOTENCY_KEY_REMEDY } from '../check-idempotency-key.ts';
import type { AppEnv, ContextOf } from '../hono-env.ts';
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
