import * as z from 'zod';
import { findArchivedRecord } from '../../db/work/archived-records.ts';
import { findRecord, markRedacted } from '../../db/work/text-statements.ts';
import { directoryId } from '../../domain/directory.ts';
import { noArchive, ServiceError } from '../../domain/errors.ts';
import { freeText, lazyObject, ruleError } from '../../domain/fields.ts';
import { recordId } from '../../domain/record-id.ts';
import { RECORD_KIND_NAMES, RECORD_KINDS, type RecordKind } from '../../domain/record-kinds.ts';
import { bySystem, hasChanged, writeWithAudit } from '../audit/write-with-audit.ts';
import { readOne } from '../call-d1.ts';
import { parseInput } from '../parse-input.ts';
import type { ActorContext, Redaction, SystemActor } from '../service-context.ts';

export const redactRequest = lazyObject(() => ({
  organization: directoryId('an organization'),
  kind: z.enum(RECORD_KIND_NAMES, { error: ruleError(`one of ${RECORD_KIND_NAMES.join(', ')}`) }),
  id: recordId('the record'),
  by: freeText(100),
}));

/**
 * Removes the text of a record, for example because it contains a password. The text is then
 * "[redacted]", including in changes that were read before. The audit log records who asked for it
 * (`by`). Redacting again changes nothing. The text of an archived record is removed from its object; if
 * that is missing or damaged (`archive`), from whatever is read of it later.
 * @throws ServiceError `invalid`, `record_not_found`
 */
export async function redactRecord(
  ctx: ActorContext<SystemActor>,
  request: { organization: string; kind: RecordKind; id: string; by: string },
): Promise<Redaction> {
  const { organization: organizationId, kind, id, by } = parseInput(redactRequest, request);
  const [redacted] = await writeWithAudit(ctx, bySystem(ctx, organizationId, by), 'safe_to_repeat', () => [
    {
      statement: markRedacted[kind].bind({ organizationId, id }),
      action: `${kind}.redacted`,
      targetId: id,
      ticket: { of: kind },
    },
  ]);
  if (hasChanged(redacted)) return { status: 'redacted' };
  const found = await readOne(ctx, findRecord[kind].bind({ organizationId, id }), 'safe_to_repeat');
  if (found) return { status: 'unchanged' };
  const redaction = await redactElsewhere(ctx, { organization: organizationId, kind, id, by });
  if (!redaction) throw recordNotFound(organizationId, kind, id);
  return redaction;
}

/** Undefined if there is no such archived record. @throws ServiceError `unavailable`, also without an archive */
async function redactElsewhere(
  ctx: ActorContext<SystemActor>,
  record: { organization: string; kind: RecordKind; id: string; by: string },
): Promise<Redaction | undefined> {
  if (ctx.elsewhere) return ctx.elsewhere.redact(ctx, record);
  const { organization: organizationId, kind, id } = record;
  if (await readOne(ctx, findArchivedRecord[kind].bind({ organizationId, id }))) throw noArchive();
  return undefined;
}

export function recordNotFound(organizationId: string, kind: RecordKind, id: string): ServiceError {
  return new ServiceError(
    'record_not_found',
    `Organization ${organizationId} has no ${RECORD_KINDS[kind].noun} ${id}.`,
  );
}
