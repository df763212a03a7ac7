import type { Context, MiddlewareHandler } from 'hono';
import { hasCode, type KeyReference, ServiceError, Unauthorized } from '../../domain/errors.ts';
import { withoutKeys } from '../../domain/pasted-keys.ts';
import { RefusedRequestMeter, storedPointers, storedTicketId } from '../../domain/refused-request.ts';
import { isRefusedUseReason, RefusedUseMeter, type RefusedUseReason } from '../../domain/refused-use.ts';
import { log } from '../../lib/log.ts';
import {
  type NewRefusedRequest,
  type NewRefusedUses,
  type Refusal,
  recordRefusal,
} from '../../services/keys/record-refusal.ts';
import type { WriteTarget } from '../../services/work/create-record.ts';
import { type AppEnv, serviceContext } from '../hono-env.ts';
import { Problem } from '../problems.ts';

/** A separate deadline: the request's own may have passed. */
const RECORD_DEADLINE_MS = 5_000;

/**
 * Records for an organization's administrators why its key was refused, while the caller gets the constant 401: how often
 * for each reason, and the latest requests. Recorded after the response is sent, and only a limited number in each isolate
 * and minute, so that neither time nor cost reveals anything to a prober.
 */
export function recordRefusals(): MiddlewareHandler<AppEnv> {
  const meters = { uses: new RefusedUseMeter(), requests: new RefusedRequestMeter() };
  return async function recordRefusals(c, next) {
    await next();
    const key = refusedKey(c);
    if (!key) return;
    const uses = newUses(c, key, meters.uses);
    const request = newRequest(c, key, meters.requests);
    if (uses || request) c.executionCtx.waitUntil(record(c, key, { uses, request }));
  };
}

/** The key of the request, unless an operator has blocked it. */
function refusedKey(c: Context<AppEnv>): KeyReference | undefined {
  const error: unknown = c.error;
  if (!(error instanceof Unauthorized)) return c.get('principal');
  return isRefusedUseReason(error.reason) ? error.key : undefined;
}

function newUses(
  c: Context<AppEnv>,
  { organizationId, keyId }: KeyReference,
  meter: RefusedUseMeter,
): NewRefusedUses | undefined {
  const use = refusedUse(c);
  if (!use) return undefined;
  const { reason, lostWrite, endsInMs } = use;
  const now = c.get('now')();
  const { ticketId, idempotencyKey } = lostWrite ?? {};
  const lost = ticketId !== undefined &&
    idempotencyKey !== undefined && { at: now, idempotencyKey, ticketId, requestId: c.get('requestId') };
  const uses = meter.take(organizationId, `${keyId}:${reason}`, now, lost || undefined);
  const endsAt = endsInMs === undefined ? null : now + endsInMs;
  return uses && { reason, ...uses, sourceAddress: c.get('source').address, endsAt };
}

function newRequest(c: Context<AppEnv>, key: KeyReference, meter: RefusedRequestMeter): NewRefusedRequest | undefined {
  const { status } = c.res;
  const error: unknown = c.error;
  const code = error instanceof Unauthorized ? error.reason : c.get('requestStats').problem;
  const now = c.get('now')();
  if (status < 400 || status >= 500 || code === undefined || !meter.admits(key, now)) return undefined;
  const { address: sourceAddress, userAgent } = c.get('source');
  const { keyPrefix } = c.get('config');
  const ticketId = c.req.param('ticketId');
  const info = error instanceof ServiceError ? error.info : {};
  const errors = error instanceof Problem ? (error.extras.members?.errors ?? []) : [];
  return {
    requestId: c.get('requestId'),
    at: now,
    status,
    reason: info.isOfOtherCompany ? 'company_not_allowed' : code,
    pointers: storedPointers(errors.map(({ pointer }) => pointer)),
    ticketId: ticketId === undefined ? null : storedTicketId(ticketId, keyPrefix),
    userEmail: info.userEmail === undefined ? null : withoutKeys(info.userEmail, keyPrefix),
    sourceAddress,
    userAgent,
  };
}

interface Use {
  reason: RefusedUseReason;
  lostWrite?: WriteTarget | undefined;
  endsInMs?: number | undefined;
}

function refusedUse(c: Context<AppEnv>): Use | undefined {
  const error: unknown = c.error;
  if (error instanceof Unauthorized) return isRefusedUseReason(error.reason) ? { reason: error.reason } : undefined;
  if (hasCode(error, 'psa_not_included')) return { reason: 'psa_not_included' };
  if (hasCode(error, 'daily_limit_reached'))
    return { reason: 'daily_limit_reached', endsInMs: error.info.dayLimit?.retryAfterMs };
  if (hasCode(error, 'ticket_not_found') && error.info.isOfOtherCompany) return { reason: 'company_not_allowed' };
  // A dry run loses no write.
  if (c.get('requestStats').dryRun) return undefined;
  if (hasCode(error, 'technician_not_eligible')) return { reason: 'technician_not_eligible' };
  if (hasCode(error, 'ticket_not_found')) return { reason: 'ticket_not_found' };
  const lostWrite = hasCode(error, 'idempotency_mismatch') ? error.info.lostWrite : c.get('lostWrite');
  return lostWrite && { reason: 'idempotency_mismatch', lostWrite };
}

/** Only logs a failure: the count is a lower bound anyway, and the log has only some of the requests. */
async function record(c: Context<AppEnv>, key: KeyReference, refusal: Refusal): Promise<void> {
  // Yield once, so that the response is sent before we write.
  await new Promise((resolve) => setTimeout(resolve, 0));
  try {
    await recordRefusal({ ...serviceContext(c), deadlineAt: Date.now() + RECORD_DEADLINE_MS }, key, refusal);
  } catch (err) {
    log('warn', 'refusal_not_recorded', { requestId: c.get('requestId'), cause: err });
  }
}
