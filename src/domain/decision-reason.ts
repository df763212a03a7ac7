import { freeText } from './fields.ts';

/** Maximum length of the reason for a decision in Unicode code points. */
export const MAX_REASON_LENGTH = 200;

/** The reason for a decision, in one line. */
export const decisionReason = () =>
  freeText(MAX_REASON_LENGTH).transform((reason) => reason.trim().replace(/\s+/g, ' '));
