import * as z from 'zod';
import { addDays, dateIn, daysBetween } from './calendar.ts';
import { type FieldError, ruleError, strictObject } from './fields.ts';

/** The longest time in days that a policy can name: the ten years of the longest expiry. */
export const MAX_POLICY_DAYS = 3_650;
/** The most months between two reviews. */
export const MAX_REVIEW_MONTHS = 12;

/** An organization's rules for new keys and for reviews. Existing keys are not affected. */
export interface KeyPolicy {
  /** The longest lifetime of a new key, or null. A key with a longest lifetime has to expire. */
  maxLifetimeDays: number | null;
  expiryRequired: boolean;
  /** After how many days without a write a key counts as unused. */
  unusedDays: number;
  /** The months between two reviews, or null if no review is required. */
  reviewMonths: number | null;
}

/** The policy of an organization that has not set one. */
export const DEFAULT_KEY_POLICY: KeyPolicy = {
  maxLifetimeDays: null,
  expiryRequired: false,
  unusedDays: 60,
  reviewMonths: null,
};

const daysRule = `a whole number from 1 to ${MAX_POLICY_DAYS}`;
const monthsRule = `a whole number from 1 to ${MAX_REVIEW_MONTHS}`;
const whole = (rule: string, max: number) =>
  z
    .int({ error: ruleError(rule) })
    .min(1, { error: ruleError(rule) })
    .max(max, { error: ruleError(rule) });

/** The input for a policy. A longest lifetime includes that an expiry is required. */
export const keyPolicy = strictObject({
  maxLifetimeDays: whole(daysRule, MAX_POLICY_DAYS).nullable(),
  expiryRequired: z.boolean({ error: ruleError('true or false') }),
  unusedDays: whole(daysRule, MAX_POLICY_DAYS),
  reviewMonths: whole(monthsRule, MAX_REVIEW_MONTHS).nullable(),
}).transform((policy) => ({ ...policy, expiryRequired: policy.expiryRequired || policy.maxLifetimeDays !== null }));

/**
 * The lifetime of a new key in calendar days: how many days after today (in the time zone) its last
 * day is. A key that expires at the end of today has 0.
 */
export function lifetimeDays(expiresAt: number, timeZone: string, now: number): number {
  return daysBetween(dateIn(timeZone, now), dateIn(timeZone, expiresAt - 1));
}

/** The last day that the policy allows a new key, in the time zone of `today`; null for any. */
export function lastDayAllowed({ maxLifetimeDays }: Pick<KeyPolicy, 'maxLifetimeDays'>, today: string): string | null {
  return maxLifetimeDays === null ? null : addDays(today, maxLifetimeDays);
}

/** A new key as a policy judges it. */
export interface NewKeyLifetime {
  /** What was asked for; undefined for a key that never expires. */
  expires: string | undefined;
  /** See `lifetimeDays`; null for a key that never expires. */
  days: number | null;
  /** The date in the organization's time zone. */
  today: string;
}

/** The rule of the policy that a new key breaks, or undefined. */
export function policyError(
  policy: Pick<KeyPolicy, 'maxLifetimeDays' | 'expiryRequired'>,
  { expires, days, today }: NewKeyLifetime,
): FieldError | undefined {
  const lastDay = lastDayAllowed(policy, today);
  const allowed = lastDay === null ? '' : ` of at most ${policy.maxLifetimeDays} days (until ${lastDay})`;
  if (days === null) {
    if (!policy.expiryRequired) return undefined;
    const detail = `expires is missing; the policy of the organization requires an expiration${allowed}`;
    return { pointer: '/expires', code: 'policy_expiry_required', detail };
  }
  if (policy.maxLifetimeDays === null || days <= policy.maxLifetimeDays) return undefined;
  const detail = `expires was ${expires}; the policy of the organization requires an expiration${allowed}`;
  return { pointer: '/expires', code: 'policy_lifetime', detail };
}
