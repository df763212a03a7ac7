import { Hono } from 'hono';
import { hasCode } from '../../domain/errors.ts';
import type { FieldError } from '../../domain/fields.ts';
import { MAX_POLICY_DAYS } from '../../domain/key-policy.ts';
import { changeKeyPolicy, readPolicyOverview, type StoredPolicy } from '../../services/keys/policy.ts';
import { type AdminEnv, adminContext } from '../context.ts';
import { readForm, shownCount, wholeNumber } from './forms.ts';
import { pageContext } from './page-context.ts';
import { formatNumber } from './pages/components.tsx';
import { PolicyLead, type PolicyMessages, PolicyPage, type PolicyValues, REVIEW_INTERVALS } from './pages/policy.tsx';
import { render } from './render.tsx';

/** The page of the organization's policy for keys. */
export const policy = new Hono<AdminEnv>();

policy.get('/policy', async (c) => {
  const overview = await readPolicyOverview(adminContext(c));
  const done = DONE.get(c.req.query('done') ?? '');
  const page = { ...overview, context: pageContext(c), values: valuesOf(overview.policy), messages: {}, done };
  return render(c, 'Policy', <PolicyPage {...page} />, { lead: <PolicyLead /> });
});

const DONE = new Map([
  ['changed', 'The policy is saved. It applies to every key that is created or rotated from now on.'],
  ['unchanged', 'No changes to save.'],
]);

policy.post('/policy', async (c) => {
  const form = await readForm(c);
  const revision = shownCount(form, 'shown_revision');
  const values = readValues(form);
  try {
    const result = await changeKeyPolicy(adminContext(c), revision, {
      maxLifetimeDays: values.maxLifetime === '' ? null : wholeNumber(values.maxLifetime, MAX_POLICY_DAYS),
      expiryRequired: values.expiryRequired,
      unusedDays: wholeNumber(values.unused, MAX_POLICY_DAYS),
      reviewMonths: chosenMonths(values.review),
    });
    return c.redirect(`${pageContext(c).base}/policy?done=${result}`, 303);
  } catch (err) {
    if (!hasCode(err, 'invalid')) throw err;
    const overview = await readPolicyOverview(adminContext(c));
    const messages = messagesOf(err.errors);
    // The revision that this form showed, not a later one.
    const shown = { ...overview, policy: { ...overview.policy, revision } };
    const page = { ...shown, context: pageContext(c), values, messages, done: undefined };
    return render(c, 'Policy', <PolicyPage {...page} />, { status: 400, lead: <PolicyLead /> });
  }
});

const valuesOf = ({ maxLifetimeDays, expiryRequired, unusedDays, reviewMonths }: StoredPolicy): PolicyValues => ({
  maxLifetime: maxLifetimeDays?.toString() ?? '',
  expiryRequired,
  unused: unusedDays.toString(),
  review: reviewMonths?.toString() ?? '',
});

function readValues(form: URLSearchParams): PolicyValues {
  const text = (name: string) => form.get(name)?.trim() ?? '';
  return {
    maxLifetime: text('max_lifetime'),
    expiryRequired: form.has('expiry_required'),
    unused: text('unused'),
    review: text('review'),
  };
}

/** The months of an interval that the form offers, null for none; NaN for any other text. */
function chosenMonths(chosen: string): number | null {
  if (chosen === '') return null;
  return REVIEW_INTERVALS.some(([months]) => months === chosen) ? Number(chosen) : Number.NaN;
}

const days = `a whole number of days from 1 to ${formatNumber(MAX_POLICY_DAYS)}`;

const MESSAGES: Record<string, { field: keyof PolicyMessages; message: string }> = {
  '/maxLifetimeDays': { field: 'maxLifetime', message: `Enter ${days}, or leave the field empty for any lifetime.` },
  '/unusedDays': { field: 'unused', message: `Enter ${days}.` },
  '/reviewMonths': { field: 'review', message: 'Choose how often keys are reviewed.' },
};

function messagesOf(errors: readonly FieldError[]): PolicyMessages {
  const messages: PolicyMessages = {};
  for (const { pointer } of errors) {
    const known = MESSAGES[pointer];
    if (known) messages[known.field] = known.message;
  }
  return messages;
}
