import type { Child, PropsWithChildren } from 'hono/jsx';
import { Icon } from '../../page/icon.tsx';
import type { FormState, Messages } from '../forms.ts';
import { usePage } from '../page-context.ts';
import { Banner, counted } from './components.tsx';

interface FormProps {
  form: FormState;
  action: string;
  /** The name and label of every field, in their order. */
  fields: readonly (readonly [name: string, label: string])[];
  /** The effect of an error, such as `Nothing was saved.` */
  nothing: string;
  /** The hidden fields. A `token` makes the form usable once. */
  hidden: Record<string, string | number>;
  /** The buttons and links below the fields. */
  actions: Child;
  /** Above the form, after the errors. */
  notice?: Child;
  /** Whether a draft may replace the values of the form, and these become a draft. */
  hasDraft?: boolean;
}

/** A form in a card. With script, the entered values of a form with a draft are kept until it is accepted. */
export function CardForm({
  form,
  action,
  fields,
  nothing,
  hidden,
  actions,
  notice,
  hasDraft = true,
  children,
}: PropsWithChildren<FormProps>) {
  const { userId } = usePage();
  return (
    <>
      <ErrorSummary nothing={nothing} messages={form.messages} fields={fields} />
      {notice}
      <form
        method="post"
        action={action}
        id="form"
        class="form card"
        data-once={'token' in hidden || undefined}
        data-draft={hasDraft ? userId : undefined}
        data-entered={form.messages !== undefined || undefined}
      >
        {Object.entries(hidden).map(([name, value]) => (
          <input type="hidden" name={name} value={value} />
        ))}
        {children}
        <div class="actions">{actions}</div>
      </form>
    </>
  );
}

/** Says that nothing was saved because others changed the same, with a link to their audit entries. */
export const Conflict = ({ what, history }: { what: string; history: string }) => (
  <Banner tone="warning" id="conflict">
    Another administrator changed this {what} after you opened the form, so nothing was saved. The fields below show the{' '}
    <a href={history}>changes</a>, except where you entered something else, which replaces them if you send the form
    again.
  </Banner>
);

interface FieldProps {
  /** Also its element's id. */
  name: string;
  form: FormState;
  /** A line of text, a whole number, a date, or a list with an item on each line. */
  control: 'line' | 'number' | 'date' | 'lines';
  label: string;
  help?: Child;
  /** The most characters of a line, the largest number or the last day. */
  max?: number | string | undefined;
  required?: boolean | undefined;
  placeholder?: string | undefined;
  /** Texts to choose from; any other can also be entered. */
  suggestions?: readonly string[] | undefined;
}

// Without a spelling check, which may send a pasted key to a service of the browser.
const INPUTS = {
  line: { type: 'text', autocomplete: 'off', spellcheck: false },
  number: { type: 'number', min: 1, step: 1 },
  date: { type: 'date' },
};

/** How many lines of a text with several a form shows at most. */
const MAX_ROWS = 21;

/** A field with its label, its value, its error message and its help. */
export function Field({ name, form, control, label, help, max, required, placeholder, suggestions }: FieldProps) {
  const value = form.values.get(name) || undefined;
  const lines = value?.split('\n').length ?? 0;
  const list = suggestions && `${name}-list`;
  // An empty form begins with the field that it needs.
  const autofocus = required && value === undefined && form.messages === undefined;
  const described = describedBy(name, form.messages, help !== undefined);
  const shared = { id: name, name, required, placeholder, autofocus, ...described };
  return (
    <div class="field">
      <label for={name}>{label}</label>
      {control === 'lines' ? (
        <textarea {...shared} rows={Math.min(Math.max(3, lines), MAX_ROWS)} spellcheck={false}>
          {value}
        </textarea>
      ) : (
        <input {...shared} {...INPUTS[control]} {...{ [control === 'line' ? 'maxlength' : 'max']: max, value, list }} />
      )}
      {suggestions && (
        <datalist id={list}>
          {suggestions.map((one) => (
            <option value={one} />
          ))}
        </datalist>
      )}
      <FieldMessage name={name} messages={form.messages} />
      {help !== undefined && (
        <div class="help" id={`${name}-help`}>
          {help}
        </div>
      )}
    </div>
  );
}

/** The error message of a field, which refers to it in `aria-describedby`. */
export function FieldMessage({ name, messages = {} }: { name: string; messages: Messages | undefined }) {
  return messages[name] === undefined ? null : (
    <p class="error" id={`${name}-error`}>
      <Icon name="alert" />
      {messages[name]}
    </p>
  );
}

/** The attributes that connect a field with its error message and help text. */
export function describedBy(name: string, messages: Messages = {}, hasHelp = false) {
  const isWrong = messages[name] !== undefined;
  const ids = [...(hasHelp ? [`${name}-help`] : []), ...(isWrong ? [`${name}-error`] : [])];
  return {
    'aria-describedby': ids.join(' ') || undefined,
    'aria-invalid': isWrong ? ('true' as const) : undefined,
  };
}

/** The fields with an error, with links to them. It takes the focus when the page opens, even without script. */
export function ErrorSummary({
  nothing,
  messages = {},
  fields,
}: Pick<FormProps, 'nothing' | 'fields'> & { messages: Messages | undefined }) {
  if (Object.keys(messages).length === 0) return null;
  const wrong = fields.filter(([name]) => messages[name] !== undefined);
  return (
    <Banner tone="danger" id="errors">
      <strong>{nothing}</strong> {messages['']}
      {wrong.length > 0 && ` Correct ${counted(wrong.length, 'field')}: `}
      {wrong.map(([name, label], index) => [index > 0 && ', ', <a href={`#${name}`}>{label}</a>])}
    </Banner>
  );
}

interface ChoicesProps {
  name: string;
  form: FormState;
  legend: string;
  choices: readonly { value: string; text: string; minor?: string; isOff?: boolean }[];
  /** Whether the choices are in one row, with help below them. */
  isRow?: boolean;
}

/** Choices of which one is required. */
export function Choices({ name, form, legend, choices, isRow = false, children }: PropsWithChildren<ChoicesProps>) {
  return (
    <fieldset {...describedBy(name, form.messages, isRow)}>
      <legend>{legend}</legend>
      <div class={isRow ? 'pills' : undefined}>
        {choices.map(({ value, text, minor, isOff = false }, index) => (
          <label class="choice">
            <input
              type="radio"
              name={name}
              id={index === 0 ? name : undefined}
              required
              disabled={isOff}
              {...{ value, checked: !isOff && form.values.get(name) === value }}
            />{' '}
            {text}
            {minor && <span class="minor">{minor}</span>}
          </label>
        ))}
      </div>
      <FieldMessage name={name} messages={form.messages} />
      {children}
    </fieldset>
  );
}
