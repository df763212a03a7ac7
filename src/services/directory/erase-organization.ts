import type * as z from 'zod/mini';
import {
  closeErasure,
  deactivateErased,
  ERASED_TABLES,
  findOpenErasure,
  type OpenErasure,
  openErasure,
  removeRows,
  tableName,
} from '../../db/directory/erasure.ts';
import type { Database, Statement } from '../../db/query.ts';
import { directoryId } from '../../domain/directory.ts';
import { ServiceError } from '../../domain/errors.ts';
import { freeText, lazyObject } from '../../domain/fields.ts';
import { query, sendBatch } from '../call-d1.ts';
import { parseInput } from '../parse-input.ts';
import { forNextCall, type ServiceContext } from '../service-context.ts';
import { requireCursor, startCursor } from '../work/require-cursor.ts';

/** How many rows one transaction of an erasure removes at most. */
const CHUNK_ROWS = 1_000;
export const eraseRequest = lazyObject(() => ({
  organization: directoryId('an organization'),
  cursor: startCursor,
  by: freeText(100),
}));
const organizationRequest = lazyObject(() => ({ organization: directoryId('an organization') }));

/** The erasure that was begun and not finished, if there is one. @throws ServiceError `invalid` */
export async function findErasure(ctx: ServiceContext, request: { organization: string }) {
  const { organization: organizationId } = parseInput(organizationRequest, request);
  const [found] = await query(ctx, 'nothing_written', (db) => findOpenErasure(db, organizationId));
  return found;
}

/**
 * Begins the erasure of an organization, or finds the one that was begun. The organization is
 * inactive from then on: its keys get 401, and nothing of it can be read or changed. All changes must
 * have been read: `cursor` must be that of the last one. `by` is kept permanently.
 * @throws ServiceError `invalid`, `organization_not_found`, `cursor_reset`, `not_exported` (there are changes after the
 *   cursor)
 */
export async function beginErasure(ctx: ServiceContext, request: z.input<typeof eraseRequest>): Promise<OpenErasure> {
  const { organization: organizationId, cursor, by } = parseInput(eraseRequest, request);
  const begun = await findErasure(ctx, { organization: organizationId });
  if (begun) return begun;
  const seq = cursor?.seq ?? 0;
  await requireCursor(ctx, organizationId, cursor);

  const { requestId } = ctx;
  const cursorRequestId = cursor?.requestId ?? null;
  const values = { organizationId, requestId, by, seq, cursorRequestId };
  const [, , found] = await query(ctx, 'safe_to_repeat', (db) =>
    db.batch([openErasure(db, values), deactivateErased(db, organizationId), findOpenErasure(db, organizationId)]),
  );
  const [erasure] = found;
  if (!erasure) {
    const detail = `Organization ${organizationId} has changes after the cursor; read them all, then erase with the cursor of the last one.`;
    throw new ServiceError('not_exported', detail);
  }
  ctx.changed?.(organizationId);
  return erasure;
}

/**
 * Continues an open erasure until nothing is left. Yields what each transaction removed. If the caller stops or dies,
 * call this again. One row of the erasure remains: the id of the organization, the time, the number of audit
 * rows, and who asked for it. Two callers at a time do no harm.
 * @throws ServiceError `unavailable`: some of the rows are removed, call this again
 */
export async function* eraseRows(ctx: ServiceContext, erasure: OpenErasure, limit = CHUNK_ROWS) {
  const send = (build: (db: Database) => readonly Statement[]) => sendBatch(forNextCall(ctx), 'safe_to_repeat', build);
  for (const table of ERASED_TABLES) {
    for (let rows = limit; rows === limit; ) {
      const [removed] = await send((db) => [removeRows(db, table, erasure, limit)]);
      rows = removed?.meta.changes ?? 0;
      if (rows > 0) yield { table: tableName(table), rows };
    }
  }
  const [removed] = await send((db) => closeErasure(db, erasure));
  ctx.changed?.(erasure.organizationId);
  if (removed && removed.meta.changes > 0) yield { table: 'organizations', rows: 1 };
}
