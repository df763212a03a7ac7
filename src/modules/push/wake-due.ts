import { DAY_MS } from '../../domain/calendar.ts';
import { log } from '../../lib/log.ts';
import { query } from '../../services/call-d1.ts';
import type { ServiceContext } from '../../services/service-context.ts';
import { findDuePushes } from './push-statements.ts';
import { emptyPusher, type Pushers, wakePusher } from './wake.ts';

/** The largest number of objects that one run wakes: half of the subrequests that it may make. */
const MAX_WOKEN = 500;
const WOKEN_AT_ONCE = 6;

/** A lost wake costs minutes, and never a change. Also empties the objects of erased organizations. */
export async function wakeDue(ctx: ServiceContext, pushers: Pushers): Promise<void> {
  const now = ctx.now();
  const due = await query(ctx, 'nothing_written', (db) =>
    findDuePushes(db, { now, erasedSince: now - DAY_MS, limit: MAX_WOKEN }),
  );
  if (due.length === MAX_WOKEN) log('warn', 'push_job_full', { woken: MAX_WOKEN });
  const remaining = due.values();
  const wakeOneAfterAnother = async () => {
    for (const { organizationId, isErased } of remaining)
      await (isErased ? emptyPusher : wakePusher)(pushers, organizationId);
  };
  await Promise.all(Array.from({ length: WOKEN_AT_ONCE }, wakeOneAfterAnother));
}
