import { findTaken, withdrawRefusalByHand } from '../../db/work/record-statements.ts';
import { byAdministrator, hasChanged, writeWithAudit } from '../audit/write-with-audit.ts';
import { query } from '../call-d1.ts';
import { administratorsTimeZone } from '../directory/administrators.ts';
import type { AdminContext } from '../service-context.ts';

/**
 * Records that an administrator has entered time by hand that the PSA refused, or has removed its redacted text there, so
 * that it is no longer sent there. The feed shows it as `time_entry.taken`. A form that is sent twice changes nothing the
 * second time, and an entry that was redacted after `isRedacted` was read stays refused.
 * @returns whether this administrator did so, now or before
 * @throws ServiceError `not_administrator`
 */
export async function enterByHand(ctx: AdminContext, id: string, isRedacted: boolean): Promise<boolean> {
  const [entered] = await writeWithAudit(ctx, byAdministrator(ctx), 'safe_to_repeat', (db) => [
    {
      statement: withdrawRefusalByHand(db, { ...ctx.actor, id, isRedacted }),
      action: 'time_entry.taken',
      targetId: id,
      ticket: { of: 'time_entry' },
      detail: isRedacted ? 'Text removed by hand' : 'Entered by hand',
    },
  ]);
  if (hasChanged(entered)) return true;
  await administratorsTimeZone(ctx);
  const taken = await readTaken(ctx, id);
  return taken?.actorType === 'user' && taken.actorId === ctx.actor.userId;
}

/** The latest report that an entry is in the PSA; undefined if there is none since the PSA refused it. */
export async function readTaken(ctx: AdminContext, id: string) {
  const { organizationId } = ctx.actor;
  const [latest] = await query(ctx, 'nothing_written', (db) => findTaken(db, organizationId, id));
  return latest?.action === 'time_entry.taken' ? latest : undefined;
}
