import type { AdminContext } from '../../src/services/service-context.ts';

/** The context in which an administrator of an organization calls a service. */
export const administratorContext = (
  db: D1Database,
  organizationId: string,
  userId: string,
  now: () => number = Date.now,
): AdminContext => ({
  db,
  now,
  deadlineAt: Date.now() + 30_000,
  requestId: crypto.randomUUID(),
  actor: { organizationId, userId },
  source: { address: null, userAgent: null },
});
