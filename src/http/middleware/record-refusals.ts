import type { Context, MiddlewareHandler } from 'hono';
import { dayLimitId } from '../../domain/day-limit.ts';
import { hasCode, type KeyReference, ServiceError, Unauthorized } from '../../domain/errors.ts';
import { withoutKeys } from '../../domain/pasted-keys.ts';
import { RefusedRequestMeter, storedPointers, storedTicketId } from '../../domain/refused-request.ts';
import { isRefusedUseReason, RefusedUseMeter, type RefusedUseReason } from '../../domain/refused-use.ts';
import { log } from '../../lib/log.ts';
import { type NewRefusedRequest, type NewRefusedUses, recordRefusal } from '../../services/keys/record-refusal.ts';
import type { WriteTarget } from '../../services/work/create-record.ts';
import { type AppEnv, serviceContext } from '../hono-env.ts';
import { Problem } from '../problems.ts';

/** A separate deadline: the request's own may have passed. */
const RECORD_DEADLINE_MS = 5_000;

/** What an isolate has recorded lately. */
interface Meters {
  uses: RefusedUseMeter;
  requests: RefusedRequestMeter;
}

/**
 * Records for an organization's administrators why its key was refused, while the caller gets the constant 401: how often
 * for each reason, and the latest requests. Everything about a row happens after the response is sent, and only a limited
 * number of rows is stored in each isolate and minute, so that neither time nor cost reveals anything to a prober.
 */
export function recordRefusals(): MiddlewareHandler<AppEnv> {
  const meters: Meters = { uses: new RefusedUseMeter(), requests: new RefusedRequestMeter() };
  return async function recordRefusals(c, next) {
    await next();
    const key = refusedKey(c);
    // A 401 without a key waits as long, and then records nothing: its response takes as much time as the others.
    if (key || c.error instanceof Unauthorized) c.executionCtx.waitUntil(record(c, key, meters, c.get('now')()));
  };
}

/** The key of a refused request or of a lost write, unless an operator has blocked it. */
function refusedKey(c: Context<AppEnv>): KeyReference | undefined {
  const { status } = c.res;
  if (!(status >= 400 && status < 500) && !c.get('lostWrite')) return undefined;
  const error: unknown = c.error;
  if (!(error instanceof Unauthorized)) return c.get('principal');
  return isRefusedUseReason(error.reason) ? error.key : undefined;
}

function newUses(
  c: Context<AppEnv>,
  { organizationId, keyId }: KeyReference,
  meter: RefusedUseMeter,
  now: number,
): NewRefusedUses | undefined {
  const use = refusedUse(c);
  if (!use) return undefined;
  const { reason, lostWrite, dayLimit } = use;
  const { ticketId, idempotencyKey } = lostWrite ?? {};
  const lost = ticketId !== undefined &&
    idempotencyKey !== undefined && { at: now, idempotencyKey, ticketId, requestId: c.get('requestId') };
  const exceeded = dayLimit?.exceeded ?? null;
  const subject = `${keyId}:${reason}:${exceeded && dayLimitId(exceeded)}`;
  const uses = meter.take(organizationId, subject, now, lost || undefined);
  const endsAt = dayLimit ? now + dayLimit.retryAfterMs : null;
  return uses && { reason, ...uses, sourceAddress: c.get('source').address, endsAt, dayLimit: exceeded };
}

function newRequest(
  c: Context<AppEnv>,
  key: KeyReference,
  meter: RefusedRequestMeter,
  now: number,
): NewRefusedRequest | undefined {
  const { status } = c.res;
  const error: unknown = c.error;
  const code = error instanceof Unauthorized ? error.reason : c.get('requestStats').problem;
  const info = error instanceof ServiceError ? error.info : {};
  const reason = info.isOfOtherCompany ? 'company_not_allowed' : code;
  if (status < 400 || reason === undefined || !meter.admits(key, reason, now)) return undefined;
  const { address: sourceAddress, userAgent } = c.get('source');
  const { keyPrefix } = c.get('config');
  const ticketId = c.req.param('ticketId');
  const errors = error instanceof Problem ? (error.extras.members?.errors ?? []) : [];
  return {
    requestId: c.get('requestId'),
    at: now,
    status,
    reason,
    pointers: storedPointers(errors),
    ticketId: ticketId === undefined ? null : storedTicketId(ticketId, keyPrefix),
    userEmail: info.userEmail === undefined ? null : withoutKeys(info.userEmail, keyPrefix),
    dayLimit: info.dayLimit?.exceeded ?? null,
    sourceAddress,
    userAgent,
  };
}

interface Use {
  reason: RefusedUseReason;
  lostWrite?: WriteTarget | undefined;
  dayLimit?: ServiceError['info']['dayLimit'];
}

function refusedUse(c: Context<AppEnv>): Use | undefined {
  const error: unknown = c.error;
  if (error instanceof Unauthorized) return isRefusedUseReason(error.reason) ? { reason: error.reason } : undefined;
  if (hasCode(error, 'psa_not_included')) return { reason: 'psa_not_included' };
  if (hasCode(error, 'daily_limit_reached')) return { reason: 'daily_limit_reached', dayLimit: error.info.dayLimit };
  if (hasCode(error, 'ticket_not_found') && error.info.isOfOtherCompany) return { reason: 'company_not_allowed' };
  // A dry run loses no write.
  if (c.get('requestStats').dryRun) return undefined;
  if (hasCode(error, 'technician_not_eligible')) return { reason: 'technician_not_eligible' };
  if (hasCode(error, 'ticket_not_found')) return { reason: 'ticket_not_found' };
  const lostWrite = hasCode(error, 'idempotency_mismatch') ? error.info.lostWrite : c.get('lostWrite');
  return lostWrite && { reason: 'idempotency_mismatch', lostWrite };
}

/** Only logs a failure: the count is a lower bound anyway, and the log has only some of the requests. */
async function record(c: Context<AppEnv>, key: KeyReference | undefined, meters: Meters, now: number): Promise<void> {
  // Yield once, so that the response is sent before we prepare and write the rows.
  await new Promise((resolve) => setTimeout(resolve, 0));
  if (!key) return;
  try {
    const uses = newUses(c, key, meters.uses, now);
    const request = newRequest(c, key, meters.requests, now);
    if (!uses && !request) return;
    const ctx = { ...serviceContext(c), deadlineAt: Date.now() + RECORD_DEADLINE_MS };
    await recordRefusal(ctx, key, { uses, request });
  } catch (err) {
    log('warn', 'refusal_not_recorded', { requestId: c.get('requestId'), cause: err });
  }
}
