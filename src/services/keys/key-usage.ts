import { findChainUse, findKeyDays, type KeyDayRow } from '../../db/work/key-days.ts';
import { addDays } from '../../domain/calendar.ts';
import type { KeySettings } from '../../domain/key-settings.ts';
import { isAllowedFrom } from '../../domain/networks.ts';
import { forEachKind, RECORD_KIND_NAMES } from '../../domain/record-kinds.ts';
import { query } from '../call-d1.ts';
import type { AdminContext } from '../service-context.ts';
import { readUsesOfKey } from './refused-uses.ts';

/** How many days of use the pages show, today included. */
export const USAGE_DAYS = 30;

/** What a key wrote on one day, a calendar date in the organization's time zone. */
export type DayUsage = ReturnType<typeof toDayUsage>;

/** The latest `USAGE_DAYS` days of a key, oldest first, days without a write included. */
export type Usage = readonly DayUsage[];

export async function readUsage(ctx: AdminContext, keyIds: readonly string[], today: string) {
  const days = Array.from({ length: USAGE_DAYS }, (_, index) => addDays(today, index + 1 - USAGE_DAYS));
  const { organizationId } = ctx.actor;
  const since = days[0] ?? today;
  const found =
    keyIds.length === 0
      ? []
      : await query(ctx, 'nothing_written', (db) => findKeyDays(db, organizationId, keyIds, since));
  const rows = new Map(found.map((row) => [`${row.keyId} ${row.day}`, row]));
  return new Map(keyIds.map((id) => [id, days.map((day) => toDayUsage(day, rows.get(`${id} ${day}`)))]));
}

function toDayUsage(day: string, row: KeyDayRow | undefined) {
  return {
    day,
    records: forEachKind((kind) => row?.[kind] ?? 0),
    minutes: row?.minutes ?? 0,
    lastAddress: row?.lastAddress ?? null,
  };
}

export const recordsOfDay = ({ records }: DayUsage): number =>
  RECORD_KIND_NAMES.reduce((sum, kind) => sum + records[kind], 0);

export const recordsOf = (usage: Usage): number => usage.reduce((sum, day) => sum + recordsOfDay(day), 0);

const MAX_ADDRESSES = 10;

/** How a key's rotation chain was used in the last `USAGE_DAYS` days. */
export type RecentUse = Awaited<ReturnType<typeof readRecentUse>>;

/** The recent use, to decide which networks and daily limits the key should have. */
export async function readRecentUse(ctx: AdminContext, keyId: string, today: string) {
  const { organizationId } = ctx.actor;
  const since = addDays(today, 1 - USAGE_DAYS);
  const [rows, refused] = await Promise.all([
    query(ctx, 'nothing_written', (db) => findChainUse(db, organizationId, keyId, since)),
    readUsesOfKey(ctx, keyId),
  ]);
  const wrote = Map.groupBy(rows, ({ lastAddress }) => lastAddress);
  const days = [...Map.groupBy(rows, ({ day }) => day).values()];
  const most = (measure: 'records' | 'minutes') =>
    Math.max(0, ...days.map((ofDay) => ofDay.reduce((sum, row) => sum + row[measure], 0)));
  const others = refused.flatMap(({ sourceAddress }) => sourceAddress ?? []);
  return {
    /** The last source address of each day, latest first, with the writes of these days. `lastAt` is in UTC milliseconds. */
    wrote: [...wrote].flatMap(([address, ofAddress]) =>
      address === null
        ? []
        : {
            address,
            writes: ofAddress.reduce((sum, { records }) => sum + records, 0),
            lastAt: ofAddress[0]?.lastAt ?? 0,
          },
    ),
    /** The last source address of each reason for which the key was refused. */
    refused: [...new Set(others)].filter((address) => !wrote.has(address)).slice(0, MAX_ADDRESSES),
    /** The most that it wrote on one day. */
    records: most('records'),
    minutes: most('minutes'),
  };
}

/** The recent use of a key that a change of its settings would refuse. */
export type Lockout = NonNullable<ReturnType<typeof lockoutOf>>;

/** The recent use that the new settings refuse and the old ones allow; undefined for none. */
export function lockoutOf(from: KeySettings, to: KeySettings, use: RecentUse) {
  const addresses = use.wrote.filter(
    ({ address }) => isAllowedFrom(from.allowedNetworks, address) && !isAllowedFrom(to.allowedNetworks, address),
  );
  const isAbove = (used: number, old: number | null, limit: number | null) =>
    limit !== null && used > limit && (old === null || used <= old);
  const records = isAbove(use.records, from.dayLimitRecords, to.dayLimitRecords) && { records: use.records };
  const minutes = isAbove(use.minutes, from.dayLimitMinutes, to.dayLimitMinutes) && { minutes: use.minutes };
  return addresses.length > 0 || records || minutes ? { addresses, ...records, ...minutes } : undefined;
}
