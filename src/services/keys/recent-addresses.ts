import { findRecentAddresses } from '../../db/work/key-days.ts';
import { addDays } from '../../domain/calendar.ts';
import { readAll } from '../call-d1.ts';
import type { ActorContext, AdminActor } from '../service-context.ts';
import { USAGE_DAYS } from './key-usage.ts';
import { listRefusedUses } from './refused-uses.ts';

const MAX_ADDRESSES = 10;

/** Where a key was used lately, latest first. */
export interface RecentAddresses {
  /** The last address of each of its latest days with a write, and of its rotation chain. */
  wrote: string[];
  /** The last address of each reason for which it was refused. */
  refused: string[];
}

/**
 * The addresses from which a key was used in the last `USAGE_DAYS` days: those that its networks
 * should include, and those that they may be meant to exclude.
 */
export async function readRecentAddresses(
  ctx: ActorContext<AdminActor>,
  keyId: string,
  today: string,
): Promise<RecentAddresses> {
  const since = addDays(today, 1 - USAGE_DAYS);
  const statement = findRecentAddresses.bind({
    organizationId: ctx.actor.organizationId,
    keyId,
    since,
    limit: MAX_ADDRESSES,
  });
  const [wrote, refused] = await Promise.all([readAll(ctx, statement), listRefusedUses(ctx, keyId)]);
  const written = wrote.map(({ address }) => address);
  const others = refused.flatMap(({ sourceAddress }) => sourceAddress ?? []);
  return {
    wrote: written,
    refused: [...new Set(others)].filter((address) => !written.includes(address)).slice(0, MAX_ADDRESSES),
  };
}
