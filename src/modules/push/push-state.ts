import { DAY_MS } from '../../domain/calendar.ts';
import { readAll, readOne, write } from '../../services/call-d1.ts';
import type { ServiceContext } from '../../services/service-context.ts';
import {
  type DuePush,
  findDuePushes,
  findPushOrder,
  type PushOrder,
  type PushRow,
  savePush,
} from './push-statements.ts';

export type { DuePush, PushOrder, PushRow } from './push-statements.ts';

/**
 * Copies the state of an organization's push to the database, and removes the order with the id
 * `doneOrderId`, if one was carried out.
 */
export async function savePushState(
  ctx: ServiceContext,
  organizationId: string,
  state: PushRow,
  doneOrderId: string | null,
): Promise<void> {
  await write(ctx, 'safe_to_repeat', savePush.bind({ organizationId, ...state, doneOrderId }));
}

/** What an operator has ordered for an organization, or undefined. */
export async function readPushOrder(ctx: ServiceContext, organizationId: string): Promise<PushOrder | undefined> {
  const order = await readOne(ctx, findPushOrder.bind({ organizationId }));
  return order ?? undefined;
}

/** At most `limit` organizations whose object has something to do and may not know it. */
export async function listDuePushes(ctx: ServiceContext, limit: number): Promise<DuePush[]> {
  const now = ctx.now();
  const results = await readAll(ctx, findDuePushes.bind({ now, erasedSince: now - DAY_MS, limit }));
  return results;
}
