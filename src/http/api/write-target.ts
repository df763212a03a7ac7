import type { HonoRequest } from 'hono';
import { echo } from '../../domain/fields.ts';
import { hasEmptyEventId, parseIdempotencyKey } from '../../domain/idempotency-key.ts';
import { containsKey } from '../../domain/pasted-keys.ts';
import type { WriteTarget } from '../../services/work/write-once.ts';
import type { AppEnv, ContextOf } from '../context.ts';
import { Problem } from '../problems.ts';

/**
 * The ticket and Idempotency-Key of a write.
 * @throws Problem `invalid_idempotency_key`
 */
export function writeTarget(c: Pick<ContextOf<AppEnv>, 'get'> & { req: HonoRequest<'/:ticketId'> }): WriteTarget {
  const header = c.req.header('Idempotency-Key');
  // Before parsing, because most placeholders contain spaces.
  if (header !== undefined && hasEmptyEventId(header)) {
    throw invalidIdempotencyKey(
      `was ${JSON.stringify(echo(header))}: the event id in it came out empty`,
      'fill it from a field of the event that always has a value',
    );
  }
  const parsed = parseIdempotencyKey(header);
  if (!parsed.ok) throw invalidIdempotencyKey(parsed.rule);
  const { key } = parsed;
  // The audit log would store it permanently.
  if (key !== undefined && containsKey(key, c.get('config').keyPrefix)) {
    throw invalidIdempotencyKey(
      'contains an API key',
      'send a value that identifies the event, and the API key only in Authorization',
    );
  }
  return { ticketId: c.req.param('ticketId'), idempotencyKey: key };
}

/** The Idempotency-Key breaks a rule; `rule` completes the sentence "Idempotency-Key …". */
export function invalidIdempotencyKey(
  rule: string,
  remedy = 'send one value of 1 to 255 visible ASCII characters',
): Problem {
  return new Problem('invalid_idempotency_key', `Idempotency-Key ${rule}; ${remedy}, or omit the header.`);
}
