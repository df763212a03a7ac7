import { countErasableRows, ERASE, ERASED_TABLES, findErasure, openErasure } from '../../db/directory/erasure.ts';
import { batch } from '../../db/statement.ts';
import { findCursorPosition } from '../../db/work/changes.ts';
import { directoryId } from '../../domain/directory.ts';
import { ServiceError } from '../../domain/errors.ts';
import { freeText, strictObject } from '../../domain/fields.ts';
import { eraseArchive, requireErasableArchive } from '../archive/erase-archive.ts';
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
 * Erases an organization in one transaction: keys, notes, time entries, directory and audit log; then
 * the objects of its archive.
 * All changes must have been read: `cursor` must be that of the last one. One row remains with the
 * id, the time, the number of audit rows, and who asked for it (`by`). `removed` is the number of
 * rows by table, or undefined if the response was lost and a second attempt found the erasure done.
 * @throws ServiceError `invalid`, `organization_not_found`, `cursor_reset`, `not_exported` (there
 *   are changes after the cursor), `unavailable`
 */
export async function eraseOrganization(
  ctx: ServiceContext,
  request: { organization: string; cursor: string | null; by: string },
): Promise<{ auditRows: number; removed: Record<string, number> | undefined }> {
  const { organization, cursor, by } = parseInput(eraseRequest, request);
  const seq = cursor?.seq ?? 0;
  const position = await callD1(ctx, 'safe_to_repeat', (db) =>
    findCursorPosition.bind({ organizationId: organization, seq }).first(db),
  );
  requireValidCursor(position ?? undefined, organization, cursor);
  await requireErasableArchive(ctx, organization);

  const erasure = { organizationId: organization, requestId: ctx.requestId };
  const cursorRequestId = cursor?.requestId ?? null;
  const open = openErasure.bind({ ...erasure, now: ctx.now(), by, seq, cursorRequestId });
  const [opened, ...results] = await callD1(ctx, 'safe_to_repeat', (db) =>
    batch(db, [open, ...ERASE.map((statement) => statement.bind(erasure)), findErasure.bind(erasure)]),
  );
  const [found] = results.at(-1)?.results ?? [];
  if (!found) {
    throw new ServiceError(
      'not_exported',
      `Organization ${organization} has changes after the cursor; read them all, then erase with the cursor of the last one.`,
    );
  }
  ctx.changed?.(organization);
  await eraseArchive(ctx, organization).catch((cause: unknown) => {
    throw new ServiceError(
      'unavailable',
      `Organization ${organization} is erased, but not all objects of its archive: the archive did not respond. The operator deletes them with archive:check.`,
      { database: 'unknown', cause },
    );
  });
  const rows = ERASED_TABLES.map((table, index) => [table, results[index]?.meta.changes ?? 0] as const);
  return { auditRows: found.lastSeq, removed: opened.meta.changes > 0 ? Object.fromEntries(rows) : undefined };
}

/** The input of `countErasable`. */
const countRequest = strictObject({ organization: directoryId('an organization') });

/**
 * How many rows of each table an erasure of the organization would remove.
 * @throws ServiceError `invalid`, `organization_not_found`, `unavailable`
 */
export async function countErasable(
  ctx: ServiceContext,
  request: { organization: string },
): Promise<Record<string, number>> {
  const { organization: organizationId } = parseInput(countRequest, request);
  const rows = await callD1(ctx, 'nothing_written', (db) => countErasableRows.bind({ organizationId }).first(db));
  if (!rows || rows['organizations'] === 0)
    throw new ServiceError('organization_not_found', `There is no organization ${organizationId}.`);
  return rows;
}
