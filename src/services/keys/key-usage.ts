import { findKeyDays, findRecentAddresses, type KeyDayRow } from '../../db/work/key-days.ts';
import { addDays } from '../../domain/calendar.ts';
import { forEachKind, RECORD_KIND_NAMES, type RecordKind } from '../../domain/record-kinds.ts';
import { readAll } from '../call-d1.ts';
import type { ActorContext, AdminActor } from '../service-context.ts';
import { listRefusedUses } from './refused-uses.ts';

/** How many days of use the pages show, today included. */
export const USAGE_DAYS = 30;

/** What a key wrote on one day, a calendar date in the organization's time zone. */
export interface DayUsage {
  day: string;
  records: Record<RecordKind, number>;
  minutes: number;
}

/** The latest `USAGE_DAYS` days of a key, oldest first, days without a write included. */
export type Usage = readonly DayUsage[];

export async function readUsage(
  ctx: ActorContext<AdminActor>,
  keyIds: readonly string[],
  today: string,
): Promise<Map<string, Usage>> {
  const days = Array.from({ length: USAGE_DAYS }, (_, index) => addDays(today, index + 1 - USAGE_DAYS));
  const values = { organizationId: ctx.actor.organizationId, keyIds: JSON.stringify(keyIds), since: days[0] ?? today };
  const results = keyIds.length === 0 ? [] : await readAll(ctx, findKeyDays.bind(values));
  const rows = new Map(results.map((row) => [`${row.keyId} ${row.day}`, row]));
  return new Map(keyIds.map((id) => [id, days.map((day) => toDayUsage(day, rows.get(`${id} ${day}`)))]));
}

function toDayUsage(day: string, row: KeyDayRow | undefined): DayUsage {
  return { day, records: forEachKind((kind) => row?.[kind] ?? 0), minutes: row?.minutes ?? 0 };
}

export const recordsOfDay = ({ records }: DayUsage): number =>
  RECORD_KIND_NAMES.reduce((sum, kind) => sum + records[kind], 0);

export const recordsOf = (usage: Usage): number => usage.reduce((sum, day) => sum + recordsOfDay(day), 0);

const MAX_ADDRESSES = 10;

/** Where a key was used lately, latest first. */
export interface RecentAddresses {
  /** The last address of each of its latest days with a write, and of its rotation chain. */
  wrote: string[];
  /** The last address of each reason for which it was refused. */
  refused: string[];
}

/** The addresses of the last `USAGE_DAYS` days, to decide which networks the key should be limited to. */
export async function readRecentAddresses(
  ctx: ActorContext<AdminActor>,
  keyId: string,
  today: string,
): Promise<RecentAddresses> {
  const values = { organizationId: ctx.actor.organizationId, keyId, since: addDays(today, 1 - USAGE_DAYS) };
  const statement = findRecentAddresses.bind({ ...values, limit: MAX_ADDRESSES });
  const [wrote, refused] = await Promise.all([readAll(ctx, statement), listRefusedUses(ctx, keyId)]);
  const written = wrote.map(({ address }) => address);
  const others = refused.flatMap(({ sourceAddress }) => sourceAddress ?? []);
  return {
    wrote: written,
    refused: [...new Set(others)].filter((address) => !written.includes(address)).slice(0, MAX_ADDRESSES),
  };
}
