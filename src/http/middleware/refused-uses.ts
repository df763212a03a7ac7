import type { Context, MiddlewareHandler } from 'hono';
import { type KeyReference, Refusal, Unauthorized } from '../../domain/errors.ts';
import { isRefusedUseReason, RefusedUseMeter, type RefusedUseReason } from '../../domain/refused-use.ts';
import type { ObservedEnv } from '../../env.ts';
import { recordRefusal } from '../../services/keys/refused-uses.ts';
import { log } from '../../lib/log.ts';
import { serviceContext } from '../service-context.ts';

/** Recording has its own deadline: the request's may be over. */
const RECORD_DEADLINE_MS = 5_000;

/**
 * Lets an organization's administrators see why a key of theirs was refused, while the caller gets the one constant answer. It is recorded
 * after that answer has been sent, and at most once per key, reason and minute, so that neither time nor cost tells a prober anything.
 */
export function refusedUses(): MiddlewareHandler<ObservedEnv> {
  const meter = new RefusedUseMeter();
  return async function refusedUses(c, next) {
    await next();
    const refused = refusedUse(c);
    if (!refused) return;
    const { organizationId, keyId } = refused.key;
    const { reason } = refused;
    const count = meter.count(`${organizationId}:${keyId}:${reason}`, c.get('now')());
    if (count > 0) c.executionCtx.waitUntil(record(c, { organizationId, keyId, reason, count, sourceAddress: c.get('source').address }));
  };
}

function refusedUse(c: Context<ObservedEnv>): { key: KeyReference; reason: RefusedUseReason } | undefined {
  const { error } = c;
  if (error instanceof Unauthorized) {
    return error.key && isRefusedUseReason(error.reason) ? { key: error.key, reason: error.reason } : undefined;
  }
  const principal = c.get('principal');
  if (!principal) return undefined;
  if (error instanceof Refusal && error.code === 'psa_not_included') return { key: principal, reason: error.code };
  if (c.res.headers.has('Idempotency-Mismatch')) return { key: principal, reason: 'idempotency_mismatch' };
  return undefined;
}

/** What cannot be recorded is logged: the count says "at least" anyway. */
async function record(c: Context<ObservedEnv>, use: Parameters<typeof recordRefusal>[1]): Promise<void> {
  // A turn of the event loop later the answer is on its way.
  await new Promise((resolve) => setTimeout(resolve, 0));
  try {
    await recordRefusal({ ...serviceContext(c), deadlineAt: Date.now() + RECORD_DEADLINE_MS }, use);
  } catch (err) {
    log('warn', 'refused_use_not_recorded', { requestId: c.get('requestId'), cause: err });
  }
}
