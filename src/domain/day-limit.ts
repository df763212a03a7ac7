import * as z from 'zod/mini';
import { inThousands } from '../lib/in-thousands.ts';
import { endOfDate } from './calendar.ts';
import { type RequestLimit, requestLimitInWords } from './request-limit.ts';

/** The largest number of new records, and of bytes of their texts in UTF-8, in one calendar day. */
export interface DayLimit {
  records: number;
  bytes: number;
}

/** The daily limits of a deployment; null where there is none. */
export interface DayLimits {
  /** For a key with its predecessors and successors. */
  key: DayLimit | null;
  /** For all keys of an organization together. */
  organization: DayLimit | null;
}

/** A key's own daily limits; null where it has none. They apply in addition to the deployment's. */
export interface OwnDayLimit {
  records: number | null;
  minutes: number | null;
}

export const MAX_DAY_RECORDS = 10_000_000;
/** More than a key can log in a day with the highest limit of requests. */
export const MAX_DAY_MINUTES = 10_000_000;
const MEGABYTE = 1_000_000;
const MAX_MEGABYTES = 10_000;

/**
 * Parses a daily limit written as `records/megabytes`, such as `20000/64MB` (1 MB = 1,000,000 bytes). Null for an empty
 * text: no limit.
 */
export function parseDayLimit(text: string): DayLimit | null {
  if (text.trim() === '') return null;
  const match = /^(\d{1,8})\/(\d{1,5})MB$/.exec(text.trim());
  const [records, megabytes] = [Number(match?.[1]), Number(match?.[2])];
  const fits = (value: number, max: number) => value >= 1 && value <= max;
  if (!fits(records, MAX_DAY_RECORDS) || !fits(megabytes, MAX_MEGABYTES)) {
    throw new RangeError(
      `"${text}" is not a daily limit; write records/megabytes such as "20000/64MB", records 1–${MAX_DAY_RECORDS}, megabytes 1–${MAX_MEGABYTES}, or nothing for no limit`,
    );
  }
  return { records, bytes: megabytes * MEGABYTE };
}

function dayLimitInWords({ records, bytes }: DayLimit): string {
  return `${inThousands(records)} new records and ${bytes / MEGABYTE} MB of text a day`;
}

function dayLimitsSentence({ key, organization }: DayLimits): string {
  const limits = [
    ...(key ? [`${dayLimitInWords(key)} per key`] : []),
    ...(organization ? [`${dayLimitInWords(organization)} per organization`] : []),
  ];
  return limits.length === 0
    ? ''
    : `At most ${limits.join(', and ')}; a day ends at midnight in the organization's time zone.`;
}

/** The writes of a day: of a key with its predecessors and successors, and of all keys of its organization. */
export type DayUse = Record<
  'chainRecords' | 'chainMinutes' | 'chainBytes' | 'organizationRecords' | 'organizationBytes',
  number
>;

/** A daily limit that a write would exceed. */
export const exceededDayLimitShape = () =>
  z.object({
    name: z.enum(['key-day', 'organization-day']),
    what: z.enum(['records', 'minutes', 'bytes']),
    /** Whether it is a setting of the key. Only the operator can raise the others. */
    isOwn: z.boolean(),
    limit: z.int(),
    used: z.int(),
    added: z.int(),
  });
export type ExceededDayLimit = z.infer<ReturnType<typeof exceededDayLimitShape>>;

/** Which daily limit it is: `own:minutes`, `key-day:records`. */
export const dayLimitId = ({ name, what, isOwn }: ExceededDayLimit) => `${isOwn ? 'own' : name}:${what}`;

/** The first daily limit that a new record would exceed, if there is one: used + new > limit. */
export function exceededDayLimit(
  { key, organization }: DayLimits,
  own: OwnDayLimit,
  used: DayUse,
  { minutes, bytes }: { minutes: number; bytes: number },
): ExceededDayLimit | undefined {
  const ofKey = { name: 'key-day', isOwn: false } as const;
  const ofOrganization = { name: 'organization-day', isOwn: false } as const;
  const records = lower(key?.records, own.records);
  const isOwn = records !== key?.records;
  const limits = [
    { ...ofKey, what: 'records', isOwn, limit: records, used: used.chainRecords, added: 1 },
    { ...ofKey, what: 'minutes', isOwn: true, limit: own.minutes, used: used.chainMinutes, added: minutes },
    { ...ofKey, what: 'bytes', limit: key?.bytes, used: used.chainBytes, added: bytes },
    { ...ofOrganization, what: 'records', limit: organization?.records, used: used.organizationRecords, added: 1 },
    { ...ofOrganization, what: 'bytes', limit: organization?.bytes, used: used.organizationBytes, added: bytes },
  ] as const;
  for (const { limit, ...one } of limits)
    if (typeof limit === 'number' && one.added > 0 && one.used + one.added > limit) return { ...one, limit };
  return undefined;
}

export function lower(one: number | null | undefined, other: number | null | undefined): number | null {
  const limits = [one, other].filter((limit) => limit !== null && limit !== undefined);
  return limits.length === 0 ? null : Math.min(...limits);
}

/** Milliseconds from `now` (UTC milliseconds) to the midnight that ends the day, at least 0. */
export function untilMidnight(day: string, timeZone: string, now: number): number {
  return Math.max(0, endOfDate(day, timeZone) - now);
}

export interface DeploymentLimits {
  keyLimit: RequestLimit;
  ipLimit: RequestLimit;
  dayLimits: DayLimits;
}

/** The limits of a deployment as a text, the same in the documentation and at /healthz. */
export function limitsInWords({ keyLimit, ipLimit, dayLimits }: DeploymentLimits): string {
  const requests = `${requestLimitInWords(keyLimit)} per key, and ${requestLimitInWords(ipLimit)} per source address.`;
  return `${requests} ${dayLimitsSentence(dayLimits)}`.trim();
}
