import type { HonoRequest } from 'hono';
import { holdsKey } from '../../domain/api-key.ts';
import { echo } from '../../domain/fields.ts';
import { hasEmptyEventId, parseIdempotencyKey } from '../../domain/idempotency-key.ts';
import type { WriteTarget } from '../../services/work/write-once.ts';
import type { AppEnv, ContextOf } from '../context.ts';
import { Problem } from '../problems.ts';

/**
 * The ticket and Idempotency-Key that a write is addressed to.
 * @throws Problem `invalid_idempotency_key`
 */
export function writeTarget(c: Pick<ContextOf<AppEnv>, 'get'> & { req: HonoRequest<'/:ticketId'> }): WriteTarget {
  const header = c.req.header('Idempotency-Key');
  // First, because most placeholders have spaces in them.
  if (header !== undefined && hasEmptyEventId(header)) {
    throw invalidIdempotencyKey(
      `was ${JSON.stringify(echo(header))}: the event id in it came out empty`,
      'fill it from a field of the event that always has a value',
    );
  }
  const parsed = parseIdempotencyKey(header);
  if (!parsed.ok) throw invalidIdempotencyKey(parsed.rule, 'send one value of 1 to 255 visible ASCII characters');
  const { key } = parsed;
  // The audit log would keep it permanently.
  if (key !== undefined && holdsKey(key, c.get('config').keyPrefix)) {
    throw invalidIdempotencyKey(
      'holds an API key',
      'send what names the event, and the API key in Authorization alone',
    );
  }
  return { ticketId: c.req.param('ticketId'), idempotencyKey: key };
}

const invalidIdempotencyKey = (rule: string, remedy: string) =>
  new Problem('invalid_idempotency_key', `Idempotency-Key ${rule}; ${remedy}, or leave the header out.`);
