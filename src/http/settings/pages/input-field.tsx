import { describedBy, FieldMessage } from './components.tsx';

interface FieldProps {
  id: string;
  label: string;
  value: string | undefined;
  message: string | undefined;
  /** The largest number, or the most characters of a text. */
  max: number;
  help: string;
  required?: boolean | undefined;
  placeholder?: string | undefined;
}

/** A field for one line of text. */
export const TextField = ({ max, ...field }: FieldProps) => (
  <InputField {...field} input={{ type: 'text', maxlength: max, autocomplete: 'off' }} />
);

/** A field for a whole number from 1 on. */
export const NumberField = ({ max, ...field }: FieldProps) => (
  <InputField {...field} input={{ type: 'number', min: 1, max, step: 1 }} />
);

interface InputProps extends Omit<FieldProps, 'max'> {
  /** Further attributes of the input. */
  input: Record<string, string | number>;
}

function InputField({ id, label, value, message, help, required = false, placeholder, input }: InputProps) {
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        id={id}
        name={id}
        {...input}
        value={value}
        {...{ required, placeholder }}
        {...describedBy(id, message, true)}
      />
      <p class="help" id={`${id}-help`}>
        {help}
      </p>
      <FieldMessage id={id} message={message} />
    </div>
  );
}
