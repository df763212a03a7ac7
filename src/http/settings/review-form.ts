import { invalidInput } from '../../domain/errors.ts';
import type { FieldError } from '../../domain/fields.ts';
import { MAX_REASON_LENGTH, REVIEW_DECISIONS, type ReviewDecision } from '../../domain/key-review.ts';
import { MAX_DECISIONS } from '../../services/keys/review-keys.ts';
import { PageProblem } from './page-problem.ts';

// The form of a review: for each key the fields `decision-{key}` and `reason-{key}`, and one reason
// for every key that is kept without a reason of its own.

/** What was entered for one key. */
export interface EnteredDecision {
  decision: ReviewDecision | undefined;
  reason: string;
}

/** The values of the form, and its error messages by key. */
export interface ReviewForm {
  entered: ReadonlyMap<string, EnteredDecision>;
  /** The reason for the kept keys. */
  common: string;
  messages: ReadonlyMap<string, string>;
}

/** A form in which nothing was entered. */
export const EMPTY_REVIEW_FORM: ReviewForm = { entered: new Map(), common: '', messages: new Map() };

/**
 * Reads the form.
 * @throws PageProblem if it has more keys than a page shows
 */
export function readReviewForm(form: URLSearchParams): Omit<ReviewForm, 'messages'> {
  const entered = new Map<string, EnteredDecision>();
  for (const name of form.keys()) {
    const [, keyId] = /^(?:decision|reason)-([0-9a-f-]{36})$/.exec(name) ?? [];
    if (keyId === undefined) continue;
    const decision = REVIEW_DECISIONS.find((one) => one === form.get(`decision-${keyId}`));
    entered.set(keyId, { decision, reason: form.get(`reason-${keyId}`)?.trim() ?? '' });
  }
  if (entered.size > MAX_DECISIONS)
    throw new PageProblem(
      400,
      'Too many keys',
      `A form decides on at most ${MAX_DECISIONS} keys. Open the page again.`,
    );
  return { entered, common: form.get('reason')?.trim() ?? '' };
}

/**
 * The decisions of the form.
 * @throws ServiceError `invalid`, with the id of the key as the pointer, if a reason has no decision
 */
export function chosenDecisions({ entered, common }: Omit<ReviewForm, 'messages'>) {
  const missing: FieldError[] = [];
  const decisions = Array.from(entered).flatMap(([keyId, { decision, reason }]) => {
    if (decision !== undefined)
      return [{ keyId, decision, reason: reason === '' && decision === 'keep' ? common : reason }];
    if (reason !== '')
      missing.push({ pointer: `/${keyId}`, code: 'required', detail: `the decision on ${keyId} is missing` });
    return [];
  });
  if (missing.length > 0) throw invalidInput(missing);
  return decisions;
}

/** The message for each key. A pointer names a key, or the position of a decision. */
export function reviewMessages(
  errors: readonly FieldError[],
  decisions: readonly { keyId: string }[],
): Map<string, string> {
  return new Map(
    errors.map(({ pointer, code }) => {
      const [, first = ''] = pointer.split('/');
      return [decisions[Number(first)]?.keyId ?? first, MESSAGES[code] ?? FORBIDDEN];
    }),
  );
}

const MESSAGES: Record<string, string> = {
  required: 'Choose “Keep” or “Revoke”, or leave the reason empty.',
  too_short: 'Enter a reason.',
  too_long: `Use at most ${MAX_REASON_LENGTH} characters.`,
};
const FORBIDDEN = 'The reason has a character that cannot be stored. Remove it.';
