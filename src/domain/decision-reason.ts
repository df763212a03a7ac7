import * as z from 'zod/mini';
import { freeText } from './fields.ts';

/** Maximum length of the reason for a decision in Unicode code points. */
export const MAX_REASON_LENGTH = 200;

/** The reason for a decision, in one line. */
export const decisionReason = () =>
  z.pipe(
    freeText(MAX_REASON_LENGTH),
    z.transform((reason) => reason.trim().replace(/\s+/g, ' ')),
  );
