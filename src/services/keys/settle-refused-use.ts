import { settleRefusedUses } from '../../db/keys/end-refused-uses.ts';
import { SETTLEMENTS } from '../../domain/refused-use.ts';
import { byAdministrator, hasChanged, writeWithAudit } from '../audit/write-with-audit.ts';
import { administratorsTimeZone } from '../directory/administrators.ts';
import type { AdminContext } from '../service-context.ts';
import { readUsesOfKey } from './refused-uses.ts';

/**
 * Says of a key's refused uses for a reason that they need no attention, up to the time `lastAt` that the administrator
 * saw: a later use is new. @throws ServiceError `not_administrator`
 */
export async function settleRefusedUse(
  ctx: AdminContext,
  keyId: string,
  shown: { reason: string | null; lastAt: number },
): Promise<'settled' | 'not_settled'> {
  const { refused } = await readUsesOfKey(ctx, keyId);
  const use = refused.find(({ reason, lastAt }) => reason === shown.reason && lastAt === shown.lastAt);
  const label = use?.needsAttention && SETTLEMENTS[use.reason];
  if (!label) return 'not_settled';
  const tickets = new Set(use.lost.map(({ ticketId }) => `ticket ${ticketId}`));
  const what = tickets.size > 0 ? [...tickets].join(', ') : (use.sourceAddress ?? 'unknown address');
  const [settled] = await writeWithAudit(ctx, byAdministrator(ctx), 'may_have_written', (now) => [
    {
      statement: settleRefusedUses.bind({ ...ctx.actor, keyId, uses: JSON.stringify([shown]), now }),
      action: 'api_key.settled',
      targetId: keyId,
      detail: `${label}: ${what}`,
    },
  ]);
  if (hasChanged(settled)) return 'settled';
  await administratorsTimeZone(ctx);
  return 'not_settled';
}
