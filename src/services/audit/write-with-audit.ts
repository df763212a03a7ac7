import { auditUserChange } from '../../db/audit/audit-row.ts';
import { callD1, type D1Caller } from '../../db/client.ts';
import type { AdminContext, ServiceContext } from '../context.ts';
import { unavailable } from '../unavailable.ts';

/** One thing an administrator does: the statement that does it, and what the audit log says of it. */
export interface AuditedChange {
  statement: D1PreparedStatement;
  action: string;
  targetId: string;
  /** What was changed, in words, where the action alone does not say it. */
  detail?: string;
}

/**
 * Sends changes, each with its audit row right behind it, as one transaction. A change may build on the one before it having happened
 * (`changes() = 1`). Returns for each whether it changed something.
 * @throws Refusal `unavailable`
 */
export async function changeAudited(ctx: AdminContext, changes: (now: number) => AuditedChange[]): Promise<boolean[]> {
  const { organizationId, actorId, requestId, source } = ctx;
  const results = await atD1(ctx, () => {
    const now = ctx.now();
    const origin = { organizationId, actorId, now, requestId, sourceAddress: source.address, userAgent: source.userAgent };
    return ctx.db.batch(
      changes(now).flatMap(({ statement, action, targetId, detail = null }) => [
        statement,
        auditUserChange.bind(ctx.db, { ...origin, action, targetId, detail }),
      ]),
    );
  });
  return results.filter((_, index) => index % 2 === 0).map(({ meta }) => meta.changes === 1);
}

/** How long an export waits for one of its pages. */
const EXPORT_PAGE_DEADLINE_MS = 10_000;

/** The context for the next page of an export: a download lasts as long as its reader takes, so the request's own deadline is no measure. */
export function forNextPage<Context extends ServiceContext>(ctx: Context): Context {
  return { ...ctx, deadlineAt: Date.now() + EXPORT_PAGE_DEADLINE_MS };
}

/** A change of which only the acknowledgement was lost may have been made. */
const UNCERTAIN = 'The database did not answer. If something was to be changed, it may have been; look before you do it again.';

/**
 * Calls D1 for an administrator's page.
 * @throws Refusal `unavailable`
 */
export function atD1<T>(caller: D1Caller, run: () => Promise<T>): Promise<T> {
  return callD1(caller, run).catch((err: unknown) => {
    throw unavailable(err, UNCERTAIN);
  });
}
