import { Hono } from 'hono';
import { type FoundKey, hashKey, isWellFormedKey, whyUnauthorized } from '../../../src/domain/api-key.ts';
import { endOfDate } from '../../../src/domain/calendar.ts';
import { checkIdempotencyKey } from '../../../src/domain/idempotency-key.ts';
import { fromMinorUnits } from '../../../src/domain/money.ts';
import { timeOrderedId } from '../../../src/domain/record-id.ts';
import { timeEntryRequest } from '../../../src/domain/record-kinds.ts';
import { DAY, KEY_PREFIX, LIMIT } from '../limits.ts';
import { readKey, sameWrite } from './same-write.ts';

export { RateLimiter } from '../../../src/durable-objects/rate-limiter.ts';

const ROUTE = '/api/v1/tickets/:ticket/time-entries';
const keys = new Map<string, FoundKey>();

/**
 * The same work: what this Worker does for a write with a known key, in one function. It has the same checks, statements,
 * headers and log line, and nothing for any other request: no errors, deadlines, retries, replays and modules.
 */
export default new Hono<{ Bindings: Env }>().post(ROUTE, async (c) => {
  const started = Date.now();
  const { DB, RATE_LIMITER } = c.env;
  const requestId = timeOrderedId(started);
  const address = c.req.header('CF-Connecting-IP') ?? 'none';
  const userAgent = c.req.header('User-Agent') ?? null;
  if (!(await RATE_LIMITER.getByName(`ip:${address}`).take(LIMIT)).admitted) return c.body(null, 429);

  const value = c.req.header('Authorization')?.slice('Bearer '.length) ?? '';
  if (!isWellFormedKey(value, KEY_PREFIX)) return c.body(null, 401);
  const hash = await hashKey(value);
  const key = keys.get(hash) ?? (await readKey(DB, hash));
  if (whyUnauthorized(key, { now: started, address, scope: 'tickets:time:write' })) return c.body(null, 401);
  keys.set(hash, key);
  const decision = await RATE_LIMITER.getByName(`key:${key.organizationId}:${key.chainId}`).take(LIMIT);
  if (!decision.admitted) return c.body(null, 429);
  if (!key.hasPsa) return c.body(null, 403);

  const body = timeEntryRequest.safeParse(await c.req.json());
  const checked = checkIdempotencyKey(c.req.header('Idempotency-Key'), KEY_PREFIX);
  if (!body.success || !checked.ok || checked.key === undefined) return c.body(null, 422);
  const ticketId = c.req.param('ticket');
  const write = {
    requestId,
    ticketId,
    idempotencyKey: checked.key,
    body: body.data,
    sourceAddress: address,
    userAgent,
  };
  const entry = await sameWrite(DB, key, write);

  console.log(
    JSON.stringify({
      event: 'request',
      requestId,
      method: c.req.method,
      route: ROUTE,
      status: 201,
      key: key.keyId,
      organization: key.organizationId,
      address,
      userAgent,
      ms: Date.now() - started,
      d1Calls: 1,
      limiterCalls: 2,
      lookup: 'warm',
    }),
  );
  const { id, minutes, workDate, status, billable, hourlyRateMinor, userId, agreementSource } = entry;
  const resetMs = endOfDate(workDate, key.timeZone) - Date.now();
  const seconds = (ms: number) => Math.ceil(ms / 1000);
  return c.json(
    {
      entry: {
        id,
        minutes,
        workDate: `${workDate}T00:00:00.000Z`,
        status,
        billable: billable === 1,
        hourlyRate: fromMinorUnits(hourlyRateMinor),
        userId,
      },
      agreementSource,
    },
    201,
    {
      'Cache-Control': 'no-store',
      'X-Content-Type-Options': 'nosniff',
      'Strict-Transport-Security': 'max-age=31536000',
      'X-Request-Id': requestId,
      'RateLimit-Policy': `"key";q=${LIMIT.quota};w=${seconds(LIMIT.windowMs)}, "key-day";q=${DAY.records};w=86400`,
      RateLimit: `"key";r=${decision.remaining};t=${seconds(decision.resetMs)}, "key-day";r=${DAY.records - entry.chainRecords - 1};t=${seconds(resetMs)}`,
    },
  );
});
