import * as z from 'zod';
import { findApproval, recordApproval, recordArchivedApproval } from '../../db/work/approval-statements.ts';
import { optionalInstant } from '../../domain/change.ts';
import { directoryId } from '../../domain/directory.ts';
import { ServiceError } from '../../domain/errors.ts';
import { lazyObject, ruleError } from '../../domain/fields.ts';
import { recordId } from '../../domain/record-id.ts';
import { DECISIONS, type Decision } from '../../domain/time-entry.ts';
import { hasChanged, writeWithAudit } from '../audit/write-with-audit.ts';
import { readOne } from '../call-d1.ts';
import { parseInput } from '../parse-input.ts';
import type { ActorContext, SystemActor } from '../service-context.ts';
import { recordNotFound } from './redact-record.ts';

/** The audit action of each decision. */
const ACTIONS = { APPROVED: 'time_entry.approved', REJECTED: 'time_entry.rejected' } as const;

export const approvalRequest = lazyObject(() => ({
  organization: directoryId('an organization'),
  entry: recordId('a time entry'),
  decision: z.enum(DECISIONS, { error: ruleError('APPROVED or REJECTED') }),
  reviewer: directoryId('the administrator who decided'),
}));

/**
 * Approves or rejects a time entry, once, with an audit row in the reviewer's name. The same decision of the same
 * reviewer again changes nothing.
 * @throws ServiceError `invalid`, `record_not_found`, `reviewer_not_eligible` (not an active administrator of the
 *   organization), `already_reviewed` (with the stored decision, its reviewer and time)
 */
export async function setApproval(
  ctx: ActorContext<SystemActor>,
  request: { organization: string; entry: string; decision: Decision; reviewer: string },
): Promise<{ status: Decision }> {
  const {
    organization: organizationId,
    entry: id,
    decision: status,
    reviewer: userId,
  } = parseInput(approvalRequest, request);
  const target = { organizationId, actor: { type: 'user' as const, id: userId }, source: ctx.source };
  const results = await writeWithAudit(ctx, target, 'safe_to_repeat', () =>
    [recordApproval, recordArchivedApproval].map((statement) => ({
      statement: statement.bind({ organizationId, id, userId, status }),
      action: ACTIONS[status],
      targetId: id,
      ticket: { of: 'time_entry' },
    })),
  );
  if (results.some(hasChanged)) return { status };

  const found = await readOne(ctx, findApproval.bind({ organizationId, id }), 'safe_to_repeat');
  if (!found) throw recordNotFound(organizationId, 'time_entry', id);
  // Also if the batch of this request was committed and only its acknowledgement was lost.
  if (found.status === status && found.decidedBy === userId) return { status };
  if (found.status !== 'SUBMITTED') {
    const { status: decision, decidedBy: reviewer } = found;
    const reviewedAt = optionalInstant(found.decidedAt);
    const when = reviewedAt === null ? '' : ` by ${reviewer} at ${reviewedAt}`;
    throw new ServiceError('already_reviewed', `Time entry ${id} was already ${decision}${when}.`, {
      fields: { decision, reviewer, reviewedAt },
    });
  }
  throw new ServiceError(
    'reviewer_not_eligible',
    `${userId} is not an active administrator of organization ${organizationId}.`,
  );
}
