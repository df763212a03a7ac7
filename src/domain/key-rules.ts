import * as z from 'zod/mini';
import { addDays, dateIn, daysBetween } from './calendar.ts';
import { type FieldError, flag, lazyObject, wholeUpTo } from './fields.ts';
import { MAX_MINUTES } from './record-kinds.ts';

export const MAX_RULE_DAYS = 3_650;

/**
 * An organization's rules for new keys; null where there is none. Existing keys keep their expiration. A
 * longest lifetime includes that an expiry is required. `longMinutes`: from how many minutes on an entry of time is marked.
 */
export const keyRules = z.pipe(
  lazyObject(() => ({
    maxLifetimeDays: z.nullable(wholeUpTo(MAX_RULE_DAYS)),
    expiryRequired: flag(),
    longMinutes: wholeUpTo(MAX_MINUTES),
  })),
  z.transform((rules) => ({ ...rules, expiryRequired: rules.expiryRequired || rules.maxLifetimeDays !== null })),
);

export type KeyRules = z.output<typeof keyRules>;

/** How many days after today (in the time zone) a key's last day is; 0 if it expires at the end of today. */
export function lifetimeDays(expiresAt: number, timeZone: string, now: number): number {
  return daysBetween(dateIn(timeZone, now), dateIn(timeZone, expiresAt - 1));
}

/** The last day that the key rules allow a new key, in the time zone of `today`; null for any. */
export function lastDayAllowed({ maxLifetimeDays }: Pick<KeyRules, 'maxLifetimeDays'>, today: string): string | null {
  return maxLifetimeDays === null ? null : addDays(today, maxLifetimeDays);
}

export interface NewKeyLifetime {
  expires: string | undefined;
  /** See `lifetimeDays`; null for a key that never expires. */
  days: number | null;
  today: string;
}

export function brokenRule(
  rules: Pick<KeyRules, 'maxLifetimeDays' | 'expiryRequired'>,
  { expires, days, today }: NewKeyLifetime,
): FieldError | undefined {
  const lastDay = lastDayAllowed(rules, today);
  const allowed = lastDay === null ? '' : ` of at most ${rules.maxLifetimeDays} days (until ${lastDay})`;
  if (days === null) {
    if (!rules.expiryRequired) return undefined;
    const detail = `expires is missing; the key rules of the organization require an expiration${allowed}`;
    return { pointer: '/expires', code: 'key_rules_expiry_required', detail };
  }
  if (rules.maxLifetimeDays === null || days <= rules.maxLifetimeDays) return undefined;
  const detail = `expires was ${expires}; the key rules of the organization require an expiration${allowed}`;
  return { pointer: '/expires', code: 'key_rules_lifetime', detail };
}
