import { REVIEW_INTERVALS } from '../../domain/key-rules.ts';
import { Options } from '../../http/settings/audit.tsx';
import type { FormState } from '../../http/settings/forms.ts';
import { usePage } from '../../http/settings/page-context.ts';
import { describedBy, FieldMessage } from '../../http/settings/pages/form.tsx';

const LABELS: Record<number, string> = { 1: 'Every month', 12: 'Every year' };
const INTERVALS = REVIEW_INTERVALS.map(
  (months) => [String(months), LABELS[months] ?? `Every ${months} months`] as const,
);

/** The key rule that says how often keys are reviewed. */
export function ReviewField({ form: { values, messages } }: { form: FormState }) {
  const { base } = usePage();
  const name = 'accessReviewMonths';
  return (
    <div class="field">
      <label for={name}>Keys are reviewed</label>
      <select id={name} name={name} {...describedBy(name, messages, true)}>
        <Options options={[['', 'Never'], ...INTERVALS]} value={values.get(name) ?? undefined} />
      </select>
      <p class="help" id={`${name}-help`}>
        An administrator decides for each key whether it is still needed.{' '}
        <a href={`${base}/access-review`}>Access review</a>
      </p>
      <FieldMessage name={name} messages={messages} />
    </div>
  );
}
