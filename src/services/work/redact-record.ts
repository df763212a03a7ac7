import * as z from 'zod';
import { auditSystemAction } from '../../db/audit/audit-row.ts';
import { callD1 } from '../../db/client.ts';
import { findRecord, markRedacted } from '../../db/work/changes.ts';
import { Declined } from '../../domain/declined.ts';
import { directoryId } from '../../domain/directory.ts';
import { freeText, record, says } from '../../domain/fields.ts';
import { RECORD_KINDS, type RecordKind, recordId } from '../../domain/record-id.ts';
import type { SystemContext } from '../context.ts';
import { repeatable } from '../repeatable.ts';
import { validated } from '../parse-input.ts';

const redactRequest = record({
  organization: directoryId('an organization'),
  kind: z.enum(RECORD_KINDS, { error: says(`one of ${RECORD_KINDS.join(', ')}`) }),
  id: recordId('the record'),
  by: freeText(100),
});

/**
 * Takes the text out of a note or time entry, as when somebody pasted a password: it reads "[redacted]" from then on, in the changes that
 * were read before as well. `by` says who asked for it and stands in the audit row. Redacting again changes nothing.
 * @throws Invalid naming the argument, Declined `record_not_found`, Refusal `unavailable`
 */
export async function redactRecord(
  ctx: SystemContext,
  request: { organization: string; kind: RecordKind; id: string; by: string },
): Promise<{ status: 'redacted' | 'unchanged' }> {
  const { organization: organizationId, kind, id, by } = validated(redactRequest, request);
  const target = { organizationId, id };
  const [redacted] = await repeatable(() =>
    callD1(ctx, () => {
      const audit = {
        organizationId,
        actorId: ctx.system,
        actorName: by,
        now: ctx.now(),
        action: `${kind}.redacted`,
        targetId: id,
        requestId: ctx.requestId,
        sourceAddress: null,
        userAgent: ctx.system,
      };
      return ctx.db.batch([markRedacted[kind].bind(ctx.db, target), auditSystemAction[kind].bind(ctx.db, audit)]);
    }),
  );
  if (redacted?.meta.changes === 1) return { status: 'redacted' };
  const found = await repeatable(() => callD1(ctx, () => findRecord[kind].bind(ctx.db, target).first()));
  if (!found) throw new Declined('record_not_found', `Organization ${organizationId} has no ${kind} ${id}.`);
  return { status: 'unchanged' };
}
