import * as z from 'zod';
import { dateIn, monthsLater } from './calendar.ts';
import { freeText, lazyObject, ruleError } from './fields.ts';
import { recordId } from './record-id.ts';

export const REVIEW_DECISIONS = ['keep', 'revoke'] as const;
export type ReviewDecision = (typeof REVIEW_DECISIONS)[number];

/** Maximum length of the reason for a decision in Unicode code points. */
export const MAX_REASON_LENGTH = 200;

export const keyDecision = lazyObject(() => ({
  keyId: recordId('the key'),
  decision: z.enum(REVIEW_DECISIONS, { error: ruleError('keep or revoke') }),
  reason: freeText(MAX_REASON_LENGTH).transform((reason) => reason.trim().replace(/\s+/g, ' ')),
  /** The time of the decision that this one replaces; null if there was none. */
  shownAt: z.int().nullable().default(null),
}));

/** The day until which the next review has to be finished, in the time zone; null if none is required. */
export function accessReviewDueDate(
  { accessReviewMonths, accessReviewsSince }: { accessReviewMonths: number | null; accessReviewsSince: number | null },
  lastFinishedAt: number | null,
  timeZone: string,
): string | null {
  const since = lastFinishedAt ?? accessReviewsSince;
  return accessReviewMonths === null || since === null
    ? null
    : monthsLater(dateIn(timeZone, since), accessReviewMonths);
}
