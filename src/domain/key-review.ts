import * as z from 'zod';
import { freeText, ruleError, strictObject } from './fields.ts';
import { recordId } from './record-id.ts';

/** What a review can decide about a key. */
export const REVIEW_DECISIONS = ['keep', 'revoke'] as const;
export type ReviewDecision = (typeof REVIEW_DECISIONS)[number];

/** Maximum length of the reason for a decision in Unicode code points. */
export const MAX_REASON_LENGTH = 200;

/** The input for a decision on one key. */
export const keyDecision = strictObject({
  keyId: recordId('the key'),
  decision: z.enum(REVIEW_DECISIONS, { error: ruleError('keep or revoke') }),
  reason: freeText(MAX_REASON_LENGTH).transform((reason) => reason.trim().replace(/\s+/g, ' ')),
});

export type KeyDecision = z.output<typeof keyDecision>;
