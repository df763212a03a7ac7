import * as z from 'zod';
import { ALL_ORGANIZATIONS } from '../../db/fact-statements.ts';
import { countRefusals, findReported, recordRefusal, withdrawRefusal } from '../../db/work/refusal-statements.ts';
import { optionalInstant } from '../../domain/change.ts';
import { directoryId } from '../../domain/directory.ts';
import { freeText, lazyObject, ruleError } from '../../domain/fields.ts';
import type { PsaStatus } from '../../domain/psa-shapes.ts';
import { recordId } from '../../domain/record-id.ts';
import { RECORD_KIND_NAMES } from '../../domain/record-kinds.ts';
import { bySystem, hasChanged, writeWithAudit } from '../audit/write-with-audit.ts';
import { readOne } from '../call-d1.ts';
import { parseInput } from '../parse-input.ts';
import type { ActorContext, ServiceContext, SystemActor } from '../service-context.ts';
import { recordNotFound } from './redact-record.ts';

const MAX_REASON_LENGTH = 500;

/** The input of `reportRecord`. */
export const reportRequest = lazyObject(() => ({
  organization: directoryId('an organization'),
  kind: z.enum(RECORD_KIND_NAMES, { error: ruleError(`one of ${RECORD_KIND_NAMES.join(', ')}`) }),
  id: recordId('the record'),
  result: z.enum(['refused', 'taken'], { error: ruleError('refused or taken') }),
  reason: freeText(MAX_REASON_LENGTH)
    .optional()
    .meta({ description: 'Why, for administrators; required for `refused`. Do not repeat its text.' }),
})).refine(({ result, reason }) => result === 'taken' || reason !== undefined, {
  path: ['reason'],
  error: 'is missing; send why your system refuses the record',
});

/**
 * Records that the PSA could not take a record, or that it has taken one that it could not take before.
 * The audit log has both. The same report again changes nothing.
 * @throws ServiceError `invalid`, `record_not_found`, `being_erased`
 */
export async function reportRecord(
  ctx: ActorContext<SystemActor>,
  request: z.input<typeof reportRequest>,
): Promise<{ status: 'recorded' | 'unchanged' }> {
  const { organization: organizationId, kind, id, result, reason = '' } = parseInput(reportRequest, request);
  const [reported] = await writeWithAudit(ctx, bySystem(ctx, organizationId, 'PSA'), 'safe_to_repeat', (now) => [
    {
      statement:
        result === 'refused'
          ? recordRefusal[kind].bind({ organizationId, id, reason, now })
          : withdrawRefusal.bind({ organizationId, id, kind }),
      action: `${kind}.${result}`,
      targetId: id,
      ticket: { of: kind },
      detail: reason === '' ? undefined : reason,
    },
  ]);
  if (hasChanged(reported)) return { status: 'recorded' };
  if (!(await readOne(ctx, findReported[kind].bind({ organizationId, id }), 'safe_to_repeat')))
    throw recordNotFound(organizationId, kind, id);
  return { status: 'unchanged' };
}

/** The input of `readPsaStatus`. */
export const statusRequest = lazyObject(() => ({
  organization: directoryId('an organization').optional().meta({ description: 'Without it: all organizations.' }),
}));

/**
 * How many records the PSA has refused and not taken since.
 * @throws ServiceError `invalid`
 */
export async function readPsaStatus(ctx: ServiceContext, request: z.input<typeof statusRequest>): Promise<PsaStatus> {
  const { organization } = parseInput(statusRequest, request);
  const range = organization === undefined ? ALL_ORGANIZATIONS : { from: organization, to: organization };
  const row = await readOne(ctx, countRefusals.bind(range), 'safe_to_repeat');
  return { refused: row?.refused ?? 0, refusedSince: optionalInstant(row?.since ?? null) };
}
