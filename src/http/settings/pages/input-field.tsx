import type { Child, PropsWithChildren } from 'hono/jsx';
import { Icon } from '../../page/icon.tsx';
import { counted } from './components.tsx';

interface FieldProps {
  id: string;
  label: string;
  value: string | undefined;
  message: string | undefined;
  /** The largest number, or the most characters of a text. */
  max: number;
  help: Child;
  required?: boolean | undefined;
  placeholder?: string | undefined;
  /** Texts to choose from; any other can also be entered. */
  suggestions?: readonly string[] | undefined;
}

export const TextField = ({ max, ...field }: FieldProps) => (
  <InputField {...field} input={{ type: 'text', maxlength: max, autocomplete: 'off' }} />
);

export const NumberField = ({ max, ...field }: FieldProps) => (
  <InputField {...field} input={{ type: 'number', min: 1, max, step: 1 }} />
);

export const LinesField = ({ id, value, placeholder, ...field }: FieldProps) => (
  <Field {...field} id={id}>
    <textarea
      id={id}
      name={id}
      rows={3}
      spellcheck={false}
      {...{ placeholder }}
      {...describedBy(id, field.message, true)}
    >
      {value}
    </textarea>
  </Field>
);

interface InputProps extends Omit<FieldProps, 'max'> {
  input: Record<string, string | number>;
}

function InputField({ id, value, required = false, placeholder, suggestions, input, ...field }: InputProps) {
  const list = suggestions && `${id}-list`;
  return (
    <Field {...field} id={id}>
      <input
        id={id}
        name={id}
        {...input}
        {...{ value, required, placeholder, list }}
        {...describedBy(id, field.message, true)}
      />
      {suggestions && (
        <datalist id={list}>
          {suggestions.map((one) => (
            <option value={one} />
          ))}
        </datalist>
      )}
    </Field>
  );
}

export function Field({
  id,
  label,
  message,
  help,
  children,
}: PropsWithChildren<Pick<FieldProps, 'id' | 'label' | 'message' | 'help'>>) {
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children}
      <FieldMessage id={id} message={message} />
      <div class="help" id={`${id}-help`}>
        {help}
      </div>
    </div>
  );
}

/** The error message of a field, which refers to it in `aria-describedby`. */
export function FieldMessage({ id, message }: { id: string; message: string | undefined }) {
  return message === undefined ? null : (
    <p class="error" id={`${id}-error`}>
      <Icon name="alert" />
      {message}
    </p>
  );
}

/** The attributes that connect a field with its error message and help text. */
export function describedBy(id: string, message: string | undefined, hasHelp = false) {
  const ids = [...(hasHelp ? [`${id}-help`] : []), ...(message === undefined ? [] : [`${id}-error`])];
  return {
    ...(ids.length > 0 ? { 'aria-describedby': ids.join(' ') } : {}),
    ...(message === undefined ? {} : { 'aria-invalid': 'true' as const }),
  };
}

/** The fields with an error, with links to them. It takes the focus when the page opens, even without script. */
export function ErrorSummary({
  nothing,
  form,
  fields,
}: {
  /** The effect of the error, such as `Nothing was saved.` */
  nothing: string;
  form?: string | undefined;
  fields: readonly { id: string; label: string }[];
}) {
  if (form === undefined && fields.length === 0) return null;
  return (
    <div class="banner danger" id="errors" role="alert" tabindex={-1} autofocus>
      <Icon name="stop" />
      <div>
        <strong>{nothing}</strong> {form}
        {fields.length > 0 && ` Correct ${counted(fields.length, 'field')}: `}
        {fields.map(({ id, label }, index) => (
          <>
            {index > 0 && ', '}
            <a href={`#${id}`}>{label}</a>
          </>
        ))}
      </div>
    </div>
  );
}
