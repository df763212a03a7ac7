import { waitUntil } from 'cloudflare:workers';
import { timeOrderedId } from '../domain/record-id.ts';
import { portsOf } from '../module.ts';
import { type CallResult, toCallResult } from '../services/call-result.ts';
import type { SystemContext } from '../services/service-context.ts';
import { contributions } from '../startup.ts';

const CALL_DEADLINE_MS = 30_000;

/**
 * Runs a service for an adapter. Expected errors are results: a thrown error loses its fields
 * on the way to another Worker. The runtime logs the others.
 */
export function call<T>(env: Env, run: (ctx: SystemContext) => Promise<T>): Promise<CallResult<T>> {
  const now = Date.now();
  const ctx = {
    db: env.DB,
    now: Date.now,
    deadlineAt: now + CALL_DEADLINE_MS,
    requestId: timeOrderedId(now),
    actor: 'psa' as const,
    source: { address: null, userAgent: 'psa' },
    ...portsOf(contributions, waitUntil),
  };
  return toCallResult(() => run(ctx));
}
