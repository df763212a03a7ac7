import { DAY_MS } from '../../domain/calendar.ts';
import { readAll, write } from '../../services/call-d1.ts';
import type { ServiceContext } from '../../services/service-context.ts';
import { organizationNotFound } from '../../services/work/list-changes.ts';
import {
  type DuePush,
  findDuePushes,
  findPushStatus,
  type PushRow,
  type PushStatusRow,
  savePush,
} from './push-statements.ts';

export type { DuePush, PushRow, PushStatusRow } from './push-statements.ts';

/** Copies the state of an organization's push to the database. */
export async function savePushState(ctx: ServiceContext, organizationId: string, state: PushRow): Promise<void> {
  await write(ctx, 'safe_to_repeat', savePush.bind({ organizationId, ...state }));
}

/** At most `limit` organizations whose object has something to do and may not know it. */
export async function listDuePushes(ctx: ServiceContext, limit: number): Promise<DuePush[]> {
  const now = ctx.now();
  return readAll(ctx, findDuePushes.bind({ now, erasedSince: now - DAY_MS, limit }));
}

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
