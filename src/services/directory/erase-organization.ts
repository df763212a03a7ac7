import { callD1 } from '../../db/client.ts';
import { ERASURE, FIND_ERASURE, OPEN_ERASURE } from '../../db/directory/erasure.ts';
import { findPlace, type PlaceRow } from '../../db/work/changes.ts';
import { Declined } from '../../domain/declined.ts';
import { directoryId } from '../../domain/directory.ts';
import { freeText, record } from '../../domain/fields.ts';
import { cursorText, judge } from '../work/list-changes.ts';
import type { SystemContext } from '../context.ts';
import { repeatable } from '../repeatable.ts';
import { validated } from '../parse-input.ts';

/** What `eraseOrganization` is asked. */
export const eraseRequest = record({ organization: directoryId('an organization'), cursor: cursorText, by: freeText(100) });

/**
 * Removes an organization and everything of it for good, in one transaction: its keys, notes, time entries, directory and audit log. Only
 * whoever has read all of its changes can do so: `cursor` must be the last one. What remains is one row that says that it was
 * done, when, how many audit rows there were, and by whom (`by`).
 * @throws Invalid naming the argument; Declined `organization_not_found`, `cursor_reset` or `not_exported`: there are changes behind the cursor;
 *   Refusal `unavailable`
 */
export async function eraseOrganization(
  ctx: SystemContext,
  request: { organization: string; cursor: string | null; by: string },
): Promise<{ auditRows: number }> {
  const { organization, cursor, by } = validated(eraseRequest, request);
  const seq = cursor?.seq ?? 0;
  const place = await repeatable(() => callD1(ctx, () => findPlace.bind(ctx.db, { organizationId: organization, seq }).first<PlaceRow>()));
  judge(place ?? undefined, organization, cursor);

  const one = [organization, ctx.requestId];
  const open = [ctx.now(), by, seq, cursor?.requestId ?? null];
  const results = await repeatable(() =>
    callD1(ctx, () =>
      ctx.db.batch<{ lastSeq: number }>([
        ctx.db.prepare(OPEN_ERASURE).bind(...one, ...open),
        ...ERASURE.map((sql) => ctx.db.prepare(sql).bind(...one)),
        ctx.db.prepare(FIND_ERASURE).bind(...one),
      ]),
    ),
  );
  const erased = results.at(-1)?.results[0];
  if (!erased) {
    throw new Declined(
      'not_exported',
      `Organization ${organization} has changes behind the cursor; read them all, then erase with the last.`,
    );
  }
  return { auditRows: erased.lastSeq };
}
