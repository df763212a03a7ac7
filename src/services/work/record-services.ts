import * as z from 'zod/mini';
import { organizationRange } from '../../db/fact-statements.ts';
import {
  countRefusals,
  findApproval,
  findRecord,
  markRedacted,
  recordApprovals,
  storePsaRefusal,
  withdrawRefusal,
} from '../../db/work/record-statements.ts';
import { optionalInstant } from '../../domain/change.ts';
import { directoryId } from '../../domain/directory.ts';
import { ServiceError } from '../../domain/errors.ts';
import { freeText, lazyObject, ruleError } from '../../domain/fields.ts';
import type { PsaStatus } from '../../domain/psa-shapes.ts';
import { recordId } from '../../domain/record-id.ts';
import {
  APPROVAL_DECISIONS,
  type ApprovalDecision,
  type Approver,
  RECORD_KIND_NAMES,
  RECORD_KINDS,
  type RecordKind,
} from '../../domain/record-kinds.ts';
import { bySystem, hasChanged, writeWithAudit } from '../audit/write-with-audit.ts';
import { query } from '../call-d1.ts';
import { parseInput } from '../parse-input.ts';
import type { AuditTarget, RedactionRequest, ServiceContext, SystemContext } from '../service-context.ts';

export const redactRequest = lazyObject(() => ({
  organization: directoryId('an organization'),
  kind: z.enum(RECORD_KIND_NAMES, { error: ruleError(`one of ${RECORD_KIND_NAMES.join(', ')}`) }),
  id: recordId('the record'),
  by: freeText(100),
}));

/**
 * Removes the text of a record, for example because it contains a password. The text is then
 * "[redacted]", including in changes that were read before. The audit log records who asked for it
 * (`by`). Redacting again changes nothing.
 * @throws ServiceError `invalid`, `record_not_found`
 */
export async function redactRecord(
  ctx: SystemContext,
  request: RedactionRequest,
): Promise<{ status: 'redacted' | 'unchanged' }> {
  const { organization: organizationId, kind, id, by } = parseInput(redactRequest, request);
  const [redacted] = await writeWithAudit(ctx, bySystem(ctx, organizationId, by), 'safe_to_repeat', (db) => [
    {
      statement: markRedacted(db, { organizationId, kind, id }),
      action: `${kind}.redacted`,
      targetId: id,
      ticket: { of: kind },
    },
  ]);
  if (hasChanged(redacted)) return { status: 'redacted' };
  await requireRecord(ctx, organizationId, kind, id);
  return { status: 'unchanged' };
}

/** @throws ServiceError `record_not_found` */
async function requireRecord(ctx: ServiceContext, organizationId: string, kind: RecordKind, id: string): Promise<void> {
  const [found] = await query(ctx, 'safe_to_repeat', (db) => findRecord(db, { organizationId, kind, id }));
  if (!found) throw recordNotFound(organizationId, kind, id);
}

function recordNotFound(organizationId: string, kind: RecordKind, id: string): ServiceError {
  const detail = `Organization ${organizationId} has no ${RECORD_KINDS[kind].noun} ${id}.`;
  return new ServiceError('record_not_found', detail);
}

const MAX_REFUSAL_LENGTH = 500;

export const reportRequest = lazyObject(() => ({
  organization: directoryId('an organization'),
  kind: z.enum(RECORD_KIND_NAMES, { error: ruleError(`one of ${RECORD_KIND_NAMES.join(', ')}`) }),
  id: recordId('the record'),
  result: z.enum(['refused', 'taken'], { error: ruleError('refused or taken') }),
  reason: z
    .optional(freeText(MAX_REFUSAL_LENGTH))
    .check(z.meta({ description: 'Why, for administrators; required for `refused`. Do not repeat its text.' })),
})).check(
  z.refine(({ result, reason }) => result === 'taken' || reason !== undefined, {
    path: ['reason'],
    error: 'is missing; send why your system refuses the record',
  }),
);

/**
 * Records that the PSA could not take a record, or that it has taken one that it could not take before.
 * The audit log has both. The same report again changes nothing, and neither does a refusal of time that an administrator has
 * entered by hand.
 * @throws ServiceError `invalid`, `record_not_found`, `being_erased`
 */
export async function reportRecord(
  ctx: SystemContext,
  request: z.input<typeof reportRequest>,
): Promise<{ status: 'recorded' | 'unchanged' }> {
  const { organization: organizationId, kind, id, result, reason = '' } = parseInput(reportRequest, request);
  const [reported] = await writeWithAudit(ctx, bySystem(ctx, organizationId, 'PSA'), 'safe_to_repeat', (db, now) => [
    {
      statement:
        result === 'refused'
          ? storePsaRefusal(db, { organizationId, kind, id }, reason, now)
          : withdrawRefusal(db, { organizationId, kind, id }),
      action: `${kind}.${result}`,
      targetId: id,
      ticket: { of: kind },
      detail: reason === '' ? undefined : reason,
    },
  ]);
  if (hasChanged(reported)) return { status: 'recorded' };
  await requireRecord(ctx, organizationId, kind, id);
  return { status: 'unchanged' };
}

export const statusRequest = lazyObject(() => ({
  organization: z
    .optional(directoryId('an organization'))
    .check(z.meta({ description: 'Without it: all organizations.' })),
}));

/**
 * How many records the PSA has refused and not taken since.
 * @throws ServiceError `invalid`
 */
export async function readPsaStatus(ctx: ServiceContext, request: z.input<typeof statusRequest>): Promise<PsaStatus> {
  const { organization } = parseInput(statusRequest, request);
  const [row] = await query(ctx, 'nothing_written', (db) => countRefusals(db, organizationRange(organization)));
  return { refused: row?.refused ?? 0, refusedSince: optionalInstant(row?.since ?? null) };
}

const APPROVAL_ACTIONS = { APPROVED: 'time_entry.approved', REJECTED: 'time_entry.rejected' } as const;

/**
 * Decides about time entries that are SUBMITTED and that `approvals` decides about, each once, with an audit row in the
 * name of the target's actor, in one transaction. A user has to be an active administrator. Returns the ids of the entries
 * that this call decided. Any other entry is as it was.
 */
export async function decideEntries(
  ctx: ServiceContext,
  target: AuditTarget,
  approvals: Approver,
  ids: readonly string[],
  status: ApprovalDecision,
  reason?: string,
) {
  const { organizationId, actor } = target;
  const userId = actor.type === 'user' ? actor.id : undefined;
  const [decided] = await writeWithAudit(ctx, target, 'safe_to_repeat', (db) => [
    {
      statement: recordApprovals(db, { organizationId, ids, userId, status, approvals }),
      action: APPROVAL_ACTIONS[status],
      targetId: { kind: 'decidedEntries', ids },
      detail: reason,
    },
  ]);
  return decided?.results ?? [];
}

export const approvalRequest = lazyObject(() => ({
  organization: directoryId('an organization'),
  entry: recordId('a time entry'),
  decision: z.enum(APPROVAL_DECISIONS, { error: ruleError('APPROVED or REJECTED') }),
  reviewer: z.optional(directoryId('the administrator who decided')),
  by: z._default(freeText(100), 'PSA').check(
    z.meta({
      description:
        'The name for the audit log if `reviewer` is not an active administrator, such as that of your system.',
    }),
  ),
}));

/**
 * Approves or rejects a time entry that the PSA decides about, once, with an audit row in the name of the reviewer, or in
 * that of the PSA (`by`) if the reviewer is not an active administrator. The same decision of the same reviewer again
 * changes nothing.
 * @throws ServiceError `invalid`, `record_not_found`, `approved_in_settings`, `already_reviewed` (with the stored decision,
 *   its reviewer and time)
 */
export async function setApproval(
  ctx: SystemContext,
  request: z.input<typeof approvalRequest>,
): Promise<{ status: ApprovalDecision }> {
  const {
    organization: organizationId,
    entry: id,
    decision: status,
    reviewer,
    by,
  } = parseInput(approvalRequest, request);
  const { source, actor } = ctx;
  const targets: AuditTarget[] = [bySystem(ctx, organizationId, by)];
  if (reviewer !== undefined) targets.unshift({ organizationId, actor: { type: 'user', id: reviewer }, source });
  for (const target of targets) {
    const [decided] = await decideEntries(ctx, target, 'psa', [id], status);
    if (decided !== undefined) return { status };
  }
  const [found] = await query(ctx, 'safe_to_repeat', (db) => findApproval(db, organizationId, id));
  if (!found) throw recordNotFound(organizationId, 'time_entry', id);
  if (found.approvals === 'settings') {
    const detail = `Time entry ${id} is approved or rejected in the settings area, because the organization had approvals: settings when it was written.`;
    throw new ServiceError('approved_in_settings', detail);
  }
  // Also if the batch of this request was committed and only its acknowledgement was lost.
  if (found.status === status && (found.decidedBy === reviewer || found.decidedBy === actor)) return { status };
  if (found.status === 'SUBMITTED')
    throw new Error(`nothing prevents a decision on time entry ${id}, but none was stored`);
  const { status: decision, decidedBy } = found;
  const reviewedAt = optionalInstant(found.decidedAt);
  const detail = `Time entry ${id} was already ${decision} by ${decidedBy} at ${reviewedAt}.`;
  throw new ServiceError('already_reviewed', detail, { fields: { decision, reviewer: decidedBy, reviewedAt } });
}
