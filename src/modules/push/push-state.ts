import { callD1 } from '../../services/call-d1.ts';
import type { ServiceContext } from '../../services/context.ts';
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
 * @throws ServiceError `unavailable`
 */
export async function savePushState(
  ctx: ServiceContext,
  organizationId: string,
  state: PushRow,
  doneOrderId: string | null,
): Promise<void> {
  await callD1(ctx, 'safe_to_repeat', (db) => savePush.bind({ organizationId, ...state, doneOrderId }).all(db));
}

/**
 * What an operator has ordered for an organization, or undefined.
 * @throws ServiceError `unavailable`
 */
export async function readPushOrder(ctx: ServiceContext, organizationId: string): Promise<PushOrder | undefined> {
  const order = await callD1(ctx, 'nothing_written', (db) => findPushOrder.bind({ organizationId }).first(db));
  return order ?? undefined;
}

/**
 * At most `limit` organizations whose object has something to do and may not know it.
 * @throws ServiceError `unavailable`
 */
export async function listDuePushes(ctx: ServiceContext, limit: number): Promise<DuePush[]> {
  const { results } = await callD1(ctx, 'nothing_written', (db) =>
    findDuePushes.bind({ now: ctx.now(), limit }).all(db),
  );
  return results;
}
