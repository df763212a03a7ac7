import { findLongDays } from '../../db/work/key-days.ts';
import { isLongDay, minutesOf } from '../../domain/unusual.ts';
import { readAll } from '../call-d1.ts';
import type { AdminContext } from '../service-context.ts';

interface KeyDay {
  keyId: string;
  /** A calendar date in the organization's time zone. */
  day: string;
}

/** Those of these days on which a key, with the other keys of its rotation chain, logged unusually much time. */
export async function readLongDays(ctx: AdminContext, days: readonly KeyDay[]): Promise<KeyDay[]> {
  if (days.length === 0) return [];
  const { organizationId } = ctx.actor;
  const rows = await readAll(ctx, findLongDays.bind({ organizationId, days: JSON.stringify(days) }));
  return rows.filter(({ minutes, before }) => isLongDay(minutes, minutesOf(before)));
}
