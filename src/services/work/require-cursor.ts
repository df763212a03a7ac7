import * as z from 'zod/mini';
import { type CursorPosition, findCursorPosition } from '../../db/work/changes.ts';
import { type ChangeCursor, parseCursor } from '../../domain/change.ts';
import { errorOf, ServiceError } from '../../domain/errors.ts';
import { ruleError } from '../../domain/fields.ts';
import { query } from '../call-d1.ts';
import type { ServiceContext } from '../service-context.ts';

const error = ruleError('the cursor of an earlier response, or null to start from the beginning');

/** Where to continue to read. */
export const startCursor = z.nullable(
  z.lazy(() =>
    z.pipe(
      z.string({ error }),
      z.transform((input: string, { issues }) => {
        const cursor = parseCursor(input);
        if (cursor) return cursor;
        issues.push({ code: 'custom', input, message: error({ input }), params: { code: 'invalid_format' } });
        return z.NEVER;
      }),
    ),
  ),
);

/**
 * Returns the database's epoch if a cursor into the organization's audit log is valid here.
 * @throws ServiceError `organization_not_found`, `being_erased`, `cursor_reset`
 */
export function requireValidCursor(
  position: CursorPosition | undefined,
  organization: string,
  cursor: ChangeCursor | null,
): string {
  if (!position) throw new Error('the database has no epoch; apply the migrations');
  const { epoch, organizationId, isBeingErased } = position;
  // Check this first: an erasure may have removed the row of the cursor.
  if (isBeingErased === 1) throw errorOf('being_erased');
  if (cursor && (cursor.epoch !== epoch || (organizationId !== null && !isAt(position, cursor)))) {
    throw errorOf('cursor_reset');
  }
  if (organizationId === null) throw organizationNotFound(organization);
  return epoch;
}

/** Requires that there is the organization, and that the cursor, if one is given, is one of its changes. */
export async function requireCursor(ctx: ServiceContext, organizationId: string, cursor: ChangeCursor | null) {
  const seq = cursor?.seq ?? 0;
  const [position] = await query(ctx, 'safe_to_repeat', (db) => findCursorPosition(db, organizationId, seq));
  requireValidCursor(position, organizationId, cursor);
}

export function organizationNotFound(organization: string): ServiceError {
  return new ServiceError('organization_not_found', `There is no organization ${organization}.`);
}

/** Whether the row of the cursor is there, or was the last one that was deleted. */
const isAt = ({ requestId, deletedTo }: CursorPosition, { seq, requestId: asked }: ChangeCursor): boolean =>
  seq === deletedTo || requestId === asked;
