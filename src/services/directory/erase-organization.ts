import { ERASE, findErasure, openErasure } from '../../db/directory/erasure.ts';
import { batch } from '../../db/statement.ts';
import { findCursorPosition } from '../../db/work/changes.ts';
import { directoryId } from '../../domain/directory.ts';
import { ServiceError } from '../../domain/errors.ts';
import { freeText, strictObject } from '../../domain/fields.ts';
import { callD1 } from '../call-d1.ts';
import type { ServiceContext } from '../context.ts';
import { parseInput } from '../parse-input.ts';
import { cursorText, requireValidCursor } from '../work/list-changes.ts';

/** The input of `eraseOrganization`. */
export const eraseRequest = strictObject({
  organization: directoryId('an organization'),
  cursor: cursorText,
  by: freeText(100),
});

/**
 * Erases an organization in one transaction: keys, notes, time entries, directory and audit log.
 * All changes must have been read: `cursor` must be that of the last one. One row remains with the
 * id, the time, the number of audit rows, and who asked for it (`by`).
 * @throws ServiceError `invalid`, `organization_not_found`, `cursor_reset`, `not_exported` (there
 *   are changes after the cursor), `unavailable`
 */
export async function eraseOrganization(
  ctx: ServiceContext,
  request: { organization: string; cursor: string | null; by: string },
): Promise<{ auditRows: number }> {
  const { organization, cursor, by } = parseInput(eraseRequest, request);
  const seq = cursor?.seq ?? 0;
  const position = await callD1(ctx, 'safe_to_repeat', (db) =>
    findCursorPosition.bind({ organizationId: organization, seq }).first(db),
  );
  requireValidCursor(position ?? undefined, organization, cursor);

  const erasure = { organizationId: organization, requestId: ctx.requestId };
  const cursorRequestId = cursor?.requestId ?? null;
  const open = openErasure.bind({ ...erasure, now: ctx.now(), by, seq, cursorRequestId });
  const [found] = await callD1(ctx, 'safe_to_repeat', async (db) => {
    const results = await batch(db, [
      open,
      ...ERASE.map((statement) => statement.bind(erasure)),
      findErasure.bind(erasure),
    ]);
    return results.at(-1)?.results ?? [];
  });
  if (!found) {
    throw new ServiceError(
      'not_exported',
      `Organization ${organization} has changes after the cursor; read them all, then erase with the cursor of the last one.`,
    );
  }
  return { auditRows: found.lastSeq };
}
