import { Hono } from 'hono';
import { hasCode, ServiceError } from '../../domain/errors.ts';
import type { FieldError } from '../../domain/fields.ts';
import { MAX_RULE_DAYS } from '../../domain/key-rules.ts';
import { wholeNumber } from '../../domain/key-settings.ts';
import { inThousands } from '../../lib/in-thousands.ts';
import { changeKeyRules, readKeyRulesOverview, type StoredKeyRules } from '../../services/keys/change-key-rules.ts';
import { type AdminEnv, adminContext } from '../hono-env.ts';
import { readForm, shownCount } from './forms.ts';
import { pageContext } from './page-context.ts';
import {
  KeyRulesLead,
  type KeyRulesMessages,
  KeyRulesPage,
  type KeyRulesValues,
  REVIEW_INTERVALS,
} from './pages/key-rules-page.tsx';
import { render } from './render-page.tsx';

export const keyRules = new Hono<AdminEnv>();

keyRules.get('/key-rules', async (c) => {
  const overview = await readKeyRulesOverview(adminContext(c));
  const done = DONE.get(c.req.query('done') ?? '');
  const page = { ...overview, values: valuesOf(overview.rules), messages: {}, done };
  return render(c, 'Key rules', <KeyRulesPage {...page} />, { lead: <KeyRulesLead /> });
});

const DONE = new Map([
  ['changed', 'The key rules are saved. They apply to every key that is created or rotated from now on.'],
  ['unchanged', 'No changes to save.'],
]);

keyRules.post('/key-rules', async (c) => {
  const form = await readForm(c);
  const revision = shownCount(form, 'shown_revision');
  const values = readValues(form);
  try {
    const result = await changeKeyRules(adminContext(c), revision, {
      maxLifetimeDays: values.maxLifetime === '' ? null : wholeNumber(values.maxLifetime, MAX_RULE_DAYS),
      expiryRequired: values.expiryRequired,
      accessReviewMonths: chosenMonths(values.review),
    });
    return c.redirect(`${pageContext(c).base}/key-rules?done=${result}`, 303);
  } catch (err) {
    const isInvalid = err instanceof ServiceError && err.code === 'invalid';
    if (!isInvalid && !hasCode(err, 'key_rules_changed_meanwhile')) throw err;
    const { rules, changes, ...overview } = await readKeyRulesOverview(adminContext(c));
    const page = { ...overview, changes, values, done: undefined };
    // After an error the form keeps the revision that it showed.
    const shown = isInvalid
      ? { rules: { ...rules, revision }, messages: messagesOf(err.errors) }
      : { rules, messages: {}, conflict: changes.slice(0, Math.max(0, rules.revision - revision)) };
    const status = isInvalid ? 400 : 409;
    return render(c, 'Key rules', <KeyRulesPage {...page} {...shown} />, {
      status,
      hasErrors: isInvalid,
      lead: <KeyRulesLead />,
    });
  }
});

const valuesOf = ({ maxLifetimeDays, expiryRequired, accessReviewMonths }: StoredKeyRules): KeyRulesValues => ({
  maxLifetime: maxLifetimeDays?.toString() ?? '',
  expiryRequired,
  review: accessReviewMonths?.toString() ?? '',
});

function readValues(form: URLSearchParams): KeyRulesValues {
  const text = (name: string) => form.get(name)?.trim() ?? '';
  return {
    maxLifetime: text('max_lifetime'),
    expiryRequired: form.has('expiry_required'),
    review: text('review'),
  };
}

/** The months of an interval that the form offers, null for none; NaN for any other text. */
function chosenMonths(chosen: string): number | null {
  if (chosen === '') return null;
  return REVIEW_INTERVALS.some(([months]) => months === chosen) ? Number(chosen) : Number.NaN;
}

const days = `a whole number of days from 1 to ${inThousands(MAX_RULE_DAYS)}`;

const MESSAGES: Record<string, { field: keyof KeyRulesMessages; message: string }> = {
  '/maxLifetimeDays': { field: 'maxLifetime', message: `Enter ${days}, or leave the field empty for any lifetime.` },
  '/accessReviewMonths': { field: 'review', message: 'Choose how often keys are reviewed.' },
};

function messagesOf(errors: readonly FieldError[]): KeyRulesMessages {
  const messages: KeyRulesMessages = {};
  for (const { pointer } of errors) {
    const known = MESSAGES[pointer];
    if (known) messages[known.field] = known.message;
  }
  return messages;
}
