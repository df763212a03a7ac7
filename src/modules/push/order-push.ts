import { findCursorPosition } from '../../db/work/changes.ts';
import { formatCursor } from '../../domain/change-cursor.ts';
import { directoryId } from '../../domain/directory.ts';
import { beingErased, hasCode, invalidInput, ServiceError } from '../../domain/errors.ts';
import { freeText, strictObject } from '../../domain/fields.ts';
import { bySystem, hasChanged, writeWithAudit } from '../../services/audit/write-with-audit.ts';
import { readAll, readOne } from '../../services/call-d1.ts';
import { findErasure } from '../../services/directory/erase-organization.ts';
import { parseInput } from '../../services/parse-input.ts';
import type { ActorContext, ServiceContext, SystemActor } from '../../services/service-context.ts';
import { cursorText, organizationNotFound, requireValidCursor } from '../../services/work/list-changes.ts';
import { findPushOrder, findPushStatus, orderResume, orderSkip, type PushStatusRow } from './push-statements.ts';

export type { PushStatusRow } from './push-statements.ts';

// What an operator sees of the pushes and can order. The commands reach the database only, so an
// order is a row there, which the organization's object carries out when the sweep wakes it.

/** How many organizations one call to D1 reads. */
const STATUS_PAGE = 500;

/**
 * The push of every organization, or of one, in the order of their ids.
 * @throws ServiceError `organization_not_found`
 */
export async function listPushStatus(ctx: ServiceContext, only?: string): Promise<PushStatusRow[]> {
  const rows: PushStatusRow[] = [];
  for (;;) {
    const after = rows.at(-1)?.organizationId ?? '';
    const values = { only: only ?? null, after, limit: STATUS_PAGE };
    const results = await readAll(ctx, findPushStatus.bind(values));
    rows.push(...results);
    if (only !== undefined && rows.length === 0) throw organizationNotFound(only);
    if (results.length < STATUS_PAGE) return rows;
  }
}

const resumeRequest = strictObject({ organization: directoryId('an organization'), by: freeText(100) });

/**
 * Orders that the push of an organization goes on at once, whether it is stopped or waits after a
 * failure. The audit log records who asked for it (`by`).
 * @throws ServiceError `invalid`, `organization_not_found`, `being_erased`
 */
export async function resumePush(
  ctx: ActorContext<SystemActor>,
  request: { organization: string; by: string },
): Promise<{ status: 'ordered' | 'never_pushed' }> {
  const { organization: organizationId, by } = parseInput(resumeRequest, request);
  const [ordered] = await writeWithAudit(ctx, bySystem(ctx, organizationId, by), 'safe_to_repeat', () => [
    {
      statement: orderResume.bind({ organizationId, orderId: ctx.requestId }),
      action: 'push.resumed',
      targetId: organizationId,
    },
  ]);
  if (hasChanged(ordered) || (await isOrdered(ctx, organizationId))) return { status: 'ordered' };
  await listPushStatus(ctx, organizationId);
  if (await findErasure(ctx, { organization: organizationId })) throw beingErased();
  return { status: 'never_pushed' };
}

const skipRequest = strictObject({
  organization: directoryId('an organization'),
  to: cursorText.unwrap(),
  by: freeText(100),
});

/**
 * Orders that the changes of an organization up to a cursor are not pushed. `from` and `to` are the
 * numbers of the first and last one. The audit log records them, and who asked for it (`by`).
 * `moved`: the push has confirmed more while this was ordered, and nothing was.
 * @throws ServiceError `invalid` (also if the cursor is not after the last confirmed change),
 *   `cursor_reset` (it is not one of this organization in this database), `organization_not_found`,
 *   `being_erased`
 */
export async function skipPush(
  ctx: ActorContext<SystemActor>,
  request: { organization: string; to: string; by: string },
): Promise<{ status: 'ordered' | 'moved'; from: number; to: number }> {
  const { organization: organizationId, to: cursor, by } = parseInput(skipRequest, request);
  await requireOwnCursor(ctx, organizationId, cursor);
  const [status] = await listPushStatus(ctx, organizationId);
  const confirmedSeq = status?.confirmedSeq ?? 0;
  if (cursor.seq <= confirmedSeq) {
    const detail = `was that of change ${cursor.seq}, and change ${confirmedSeq} is confirmed; send a later one`;
    throw invalidInput([{ pointer: '/to', code: 'out_of_range', detail }]);
  }
  const [from, to] = [confirmedSeq + 1, cursor.seq];
  const skip = { skipToSeq: to, skipToCursor: formatCursor(cursor) };
  const [ordered] = await writeWithAudit(ctx, bySystem(ctx, organizationId, by), 'safe_to_repeat', () => [
    {
      statement: orderSkip.bind({ organizationId, orderId: ctx.requestId, confirmedSeq, ...skip }),
      action: 'push.skipped',
      targetId: organizationId,
      detail: `changes ${from} to ${to} are not delivered, unless they were before`,
    },
  ]);
  const isDone = hasChanged(ordered) || (await isOrdered(ctx, organizationId));
  return { status: isDone ? 'ordered' : 'moved', from, to };
}

type Cursor = Parameters<typeof formatCursor>[0];

async function requireOwnCursor(ctx: ServiceContext, organizationId: string, cursor: Cursor): Promise<void> {
  const position = await readOne(ctx, findCursorPosition.bind({ organizationId, seq: cursor.seq }));
  try {
    requireValidCursor(position ?? undefined, organizationId, cursor);
  } catch (err) {
    if (!hasCode(err, 'cursor_reset')) throw err;
    throw new ServiceError(
      'cursor_reset',
      `The cursor is not that of a change of organization ${organizationId} in this database; take one from changes:export.`,
    );
  }
}

/** Whether the order of this call is there, although its response was lost. */
async function isOrdered(ctx: ServiceContext, organizationId: string): Promise<boolean> {
  const order = await readOne(ctx, findPushOrder.bind({ organizationId }));
  return order?.orderId === ctx.requestId;
}
