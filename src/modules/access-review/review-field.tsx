import { REVIEW_INTERVALS } from '../../domain/key-rules.ts';
import type { FormState } from '../../http/settings/forms.ts';
import { usePage } from '../../http/settings/page-context.ts';
import { describedBy, FieldMessage } from '../../http/settings/pages/form.tsx';

const LABELS = new Map([
  [1, 'Every month'],
  [12, 'Every year'],
]);

/** The key rule that says how often keys are reviewed. */
export function ReviewField({ form: { values, messages } }: { form: FormState }) {
  const { base } = usePage();
  const name = 'accessReviewMonths';
  const chosen = values.get(name);
  return (
    <div class="field">
      <label for={name}>Keys are reviewed</label>
      <select id={name} name={name} {...describedBy(name, messages, true)}>
        <option value="" selected={chosen === ''}>
          Never
        </option>
        {REVIEW_INTERVALS.map((months) => (
          <option value={months} selected={chosen === String(months)}>
            {LABELS.get(months) ?? `Every ${months} months`}
          </option>
        ))}
      </select>
      <p class="help" id={`${name}-help`}>
        An administrator decides for each key whether it is still needed.{' '}
        <a href={`${base}/access-review`}>Access review</a>
      </p>
      <FieldMessage name={name} messages={messages} />
    </div>
  );
}
