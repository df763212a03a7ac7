import * as z from 'zod/mini';

/** One error of a body: where (a JSON Pointer, RFC 6901), which rule, and in words what was sent and what to send. */
export interface FieldError {
  pointer: string;
  code: string;
  detail: string;
}

/** Maximum length of a message or description in Unicode code points, not counting leading and trailing white space. */
export const MAX_TEXT_LENGTH = 32_000;
/** Maximum length of an email address (RFC 5321 §4.5.3.1.3, without the angle brackets). */
const MAX_EMAIL_LENGTH = 254;
/** How many characters of the caller's input an error repeats. */
const MAX_ECHO_LENGTH = 40;
/** How many characters of a field name a pointer repeats: enough for any real name, while the response stays small. */
const MAX_POINTER_NAME_LENGTH = 200;

/**
 * What a regular expression can say about a text: it contains something other than white space, and no NUL. The first
 * part consumes all leading white space, so there is one way to match a text, and a long one takes linear time.
 */
const TEXT_PATTERN = '^\\s*[^\\s\\x00][^\\x00]*$';

const MISSING = 'is missing';

const MAX_FIELD_ERRORS = 20;

/** A number from 1 on in an address, by its name. */
export const wholeNumber = (name: string) =>
  z.optional(
    z.pipe(
      z.string().check(z.regex(/^[1-9]\d{0,14}$/, `${name} must be a whole number, at least 1.`)),
      z.coerce.number(),
    ),
  );

/** A calendar date in an address, by its name. */
export const calendarDate = (name: string) => z.optional(z.iso.date(`${name} must be a date, such as 2027-03-31.`));

export function echo(text: string, max = MAX_ECHO_LENGTH): string {
  const points = Array.from(text.slice(0, 4 * max));
  return (points.length > max ? `${points.slice(0, max).join('')}…` : text).toWellFormed();
}

/** Describes a JSON value in words: `the string "30"`, `null`, `an array`. */
function describe(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'string') return value === '' ? 'an empty string' : `the string ${JSON.stringify(echo(value))}`;
  if (typeof value === 'object') return 'an object';
  return String(value);
}

/** The error `was …; send <rule>` or `is missing; send <rule>`. `hint` may replace the advice for a value. */
export function ruleError(rule: string, hint?: (value: unknown) => string | undefined) {
  return ({ input }: { input?: unknown }) =>
    input === undefined ? `${MISSING}; send ${rule}` : `was ${describe(input)}; ${hint?.(input) ?? `send ${rule}`}`;
}

/** The hint `send 30 without quotes`, for a string that would be right without them. */
export function unquoted(isRight: (value: unknown) => boolean) {
  return (value: unknown) => {
    if (typeof value !== 'string') return undefined;
    const trimmed = value.trim();
    const parsed =
      trimmed === 'true' ? true : trimmed === 'false' ? false : trimmed === '' ? undefined : Number(trimmed);
    return isRight(parsed) ? `send ${parsed} without quotes` : undefined;
  };
}

function codePoints(text: string): number {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}

/**
 * Free text from a person or a script: stored exactly as sent, or refused with the reason. JSON Schema cannot exclude
 * white space from a count, so its keywords are slightly stricter than the check: a text that satisfies them is never
 * refused for its length.
 */
export function freeText(max = MAX_TEXT_LENGTH) {
  const rule = `a string of 1 to ${max} characters`;
  return z.string({ error: ruleError(rule) }).check(
    z.superRefine((text, context) => {
      const report = (code: string, message: string) => context.addIssue({ code: 'custom', message, params: { code } });
      const nul = text.indexOf('\0');
      if (nul >= 0) {
        report(
          'forbidden_character',
          `has a NUL character at position ${codePoints(text.slice(0, nul)) + 1}; remove it`,
        );
      }
      const surrogate = text.search(/\p{Surrogate}/u);
      if (surrogate >= 0) {
        const position = codePoints(text.slice(0, surrogate)) + 1;
        report(
          'forbidden_character',
          `has a lone UTF-16 surrogate (half of a character) at position ${position}; cut the text between characters`,
        );
      }
      const length = codePoints(text.trim());
      if (length === 0) report('too_short', `was ${text === '' ? 'empty' : 'only white space'}; send ${rule}`);
      if (length > max) report('too_long', `has ${length} characters; send at most ${max}`);
    }),
    z.meta({ minLength: 1, maxLength: max, pattern: TEXT_PATTERN }),
  );
}

/** An email address. Case is ignored: parsing returns lower case. */
export function emailAddress(rule: string) {
  return z
    .email({ error: ruleError(rule) })
    .check(
      z.maxLength(MAX_EMAIL_LENGTH, { error: () => `is longer than ${MAX_EMAIL_LENGTH} characters; send ${rule}` }),
      z.toLowerCase(),
    );
}

export const flag = () => z.boolean({ error: ruleError('true or false') });

/** A whole number from 1 to `max`. */
export function wholeUpTo(max: number) {
  const error = ruleError(`a whole number from 1 to ${max}`);
  return z.int({ error }).check(z.minimum(1, { error }), z.maximum(max, { error }));
}

/** An object that refuses unknown fields by name. */
export function strictObject<Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  const known = Object.keys(shape).join(', ');
  return z.strictObject(shape, {
    error: ({ code, input }) =>
      code === 'unrecognized_keys'
        ? `is not accepted; remove it. Accepted fields: ${known}`
        : ruleError(`a JSON object with ${known}`)({ input }),
  });
}

/**
 * A strict object that is built when it is first needed, for inputs that a write does not have: building them takes
 * a part of an isolate's start, and most isolates only serve writes.
 */
export const lazyObject = <Shape extends z.core.$ZodLooseShape>(shape: () => Shape) =>
  z.lazy(() => strictObject(shape()));

/** Converts zod's issues: one error per field and per unknown field, no duplicates, at most `MAX_FIELD_ERRORS`. */
export function fieldErrors(error: z.core.$ZodError): FieldError[] {
  const errors = error.issues.flatMap((issue): FieldError[] => {
    const path = issue.path.map(String);
    if (issue.code === 'unrecognized_keys') {
      return issue.keys
        .slice(0, MAX_FIELD_ERRORS)
        .map((key) => fieldError([...path, key], 'unknown_field', issue.message));
    }
    const code =
      issue.code === 'custom' && typeof issue.params?.['code'] === 'string' ? issue.params['code'] : codeOf(issue);
    return [fieldError(path, code, issue.message)];
  });
  const distinct = new Map(errors.map((error) => [`${error.pointer} ${error.detail}`, error]));
  return [...distinct.values()].slice(0, MAX_FIELD_ERRORS);
}

function fieldError(path: string[], code: string, message: string): FieldError {
  return {
    pointer: path
      .map((name) => `/${echo(name, MAX_POINTER_NAME_LENGTH).replaceAll('~', '~0').replaceAll('/', '~1')}`)
      .join(''),
    code,
    detail: `${path.length === 0 ? 'The body' : path.map((name) => echo(name) || '""').join('.')} ${message}`,
  };
}

function codeOf(issue: z.core.$ZodIssue): string {
  if (issue.message.startsWith(MISSING)) return 'required';
  if (issue.code === 'invalid_type') return 'invalid_type';
  if (issue.code === 'too_small' || issue.code === 'too_big') return 'out_of_range';
  return issue.code === 'invalid_format' ? 'invalid_format' : 'invalid_value';
}
