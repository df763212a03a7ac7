import type { Context, MiddlewareHandler } from 'hono';
import { hasCode, type KeyReference, Unauthorized } from '../../domain/errors.ts';
import { isRefusedUseReason, RefusedUseMeter, type RefusedUseReason } from '../../domain/refused-use.ts';
import { log } from '../../lib/log.ts';
import { type NewRefusedUses, recordRefusedUses } from '../../services/keys/refused-uses.ts';
import type { WriteTarget } from '../../services/work/create-record.ts';
import { type AppEnv, serviceContext } from '../hono-env.ts';

/** A separate deadline: the request's own may have passed. */
const RECORD_DEADLINE_MS = 5_000;

/**
 * Records for an organization's administrators why its key was refused, while the caller gets the constant 401.
 * Recorded after the response is sent, and at most once per key, reason, minute and isolate, so that neither time nor
 * cost reveals anything to a prober.
 */
export function recordRefusals(): MiddlewareHandler<AppEnv> {
  const meter = new RefusedUseMeter();
  return async function recordRefusals(c, next) {
    await next();
    const use = refusedUse(c);
    if (!use) return;
    const { key, reason, lostWrite, endsInMs } = use;
    const { organizationId, keyId } = key;
    const now = c.get('now')();
    const { ticketId, idempotencyKey } = lostWrite ?? {};
    const lost = ticketId !== undefined &&
      idempotencyKey !== undefined && { at: now, idempotencyKey, ticketId, requestId: c.get('requestId') };
    const uses = meter.take(organizationId, `${keyId}:${reason}`, now, lost || undefined);
    if (uses) {
      const sourceAddress = c.get('source').address;
      const endsAt = endsInMs === undefined ? null : now + endsInMs;
      c.executionCtx.waitUntil(record(c, { organizationId, keyId, reason, ...uses, sourceAddress, endsAt }));
    }
  };
}

interface Use {
  key: KeyReference;
  reason: RefusedUseReason;
  lostWrite?: WriteTarget | undefined;
  endsInMs?: number | undefined;
}

function refusedUse(c: Context<AppEnv>): Use | undefined {
  const error: unknown = c.error;
  if (error instanceof Unauthorized) {
    return error.key && isRefusedUseReason(error.reason) ? { key: error.key, reason: error.reason } : undefined;
  }
  const principal = c.get('principal');
  if (!principal) return undefined;
  if (hasCode(error, 'psa_not_included')) return { key: principal, reason: 'psa_not_included' };
  if (hasCode(error, 'daily_limit_reached'))
    return { key: principal, reason: 'daily_limit_reached', endsInMs: error.info.dayLimit?.retryAfterMs };
  if (hasCode(error, 'ticket_not_found') && error.info.isOfOtherCompany)
    return { key: principal, reason: 'company_not_allowed' };
  // A dry run loses no write.
  if (c.get('requestStats').dryRun) return undefined;
  if (hasCode(error, 'technician_not_eligible')) return { key: principal, reason: 'technician_not_eligible' };
  if (hasCode(error, 'ticket_not_found')) return { key: principal, reason: 'ticket_not_found' };
  const lostWrite = hasCode(error, 'idempotency_mismatch') ? error.info.lostWrite : c.get('lostWrite');
  return lostWrite && { key: principal, reason: 'idempotency_mismatch', lostWrite };
}

/** Only logs a failure: the count is a lower bound anyway. */
async function record(c: Context<AppEnv>, uses: NewRefusedUses): Promise<void> {
  // Yield once, so that the response is sent before we write.
  await new Promise((resolve) => setTimeout(resolve, 0));
  try {
    await recordRefusedUses({ ...serviceContext(c), deadlineAt: Date.now() + RECORD_DEADLINE_MS }, uses);
  } catch (err) {
    log('warn', 'refused_use_not_recorded', { requestId: c.get('requestId'), cause: err });
  }
}
