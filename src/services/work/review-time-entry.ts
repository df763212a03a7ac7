import * as z from 'zod';
import { auditReview } from '../../db/audit/audit-row.ts';
import { callD1 } from '../../db/client.ts';
import { findReview, markReviewed, type ReviewRow } from '../../db/work/changes.ts';
import { Declined } from '../../domain/declined.ts';
import { directoryId } from '../../domain/directory.ts';
import { record, says } from '../../domain/fields.ts';
import { recordId } from '../../domain/record-id.ts';
import type { SystemContext } from '../context.ts';
import { repeatable } from '../repeatable.ts';
import { validated } from '../parse-input.ts';

const DECISIONS = ['APPROVED', 'REJECTED'] as const;
export type Decision = (typeof DECISIONS)[number];

const reviewRequest = record({
  organization: directoryId('an organization'),
  entry: recordId('a time entry'),
  decision: z.enum(DECISIONS, { error: says('APPROVED or REJECTED') }),
  reviewer: directoryId('the administrator who decided'),
});

/**
 * Approves or rejects a time entry, once, with an audit row in the reviewer's name.
 * @throws Invalid naming the argument; Declined `record_not_found`, `reviewer_not_eligible` (not an active administrator of the organization)
 *   or `already_reviewed`, which says by whom and how; Refusal `unavailable`
 */
export async function reviewTimeEntry(
  ctx: SystemContext,
  request: { organization: string; entry: string; decision: Decision; reviewer: string },
): Promise<{ status: Decision }> {
  const { organization: organizationId, entry: id, decision: status, reviewer: actorId } = validated(reviewRequest, request);
  const [reviewed] = await repeatable(() =>
    callD1(ctx, () => {
      const audit = {
        organizationId,
        actorId,
        now: ctx.now(),
        action: status === 'APPROVED' ? 'time_entry.approved' : 'time_entry.rejected',
        targetId: id,
        requestId: ctx.requestId,
        sourceAddress: null,
        userAgent: ctx.system,
      };
      return ctx.db.batch([markReviewed.bind(ctx.db, { organizationId, id, actorId, status }), auditReview.bind(ctx.db, audit)]);
    }),
  );
  if (reviewed?.meta.changes === 1) return { status };

  const found = await repeatable(() => callD1(ctx, () => findReview.bind(ctx.db, { organizationId, id }).first<ReviewRow>()));
  if (!found) throw new Declined('record_not_found', `Organization ${organizationId} has no time entry ${id}.`);
  // The review of this very request: its batch was committed, only the acknowledgement was lost.
  if (found.requestId === ctx.requestId) return { status };
  if (found.status !== 'SUBMITTED') {
    const when = found.reviewedAt === null ? '' : ` by ${found.reviewedBy} at ${new Date(found.reviewedAt).toISOString()}`;
    throw new Declined('already_reviewed', `Time entry ${id} was ${found.status} already${when}.`);
  }
  throw new Declined('reviewer_not_eligible', `${actorId} is not an active administrator of organization ${organizationId}.`);
}
