import * as z from 'zod';
import { inThousands } from '../lib/in-thousands.ts';
import { fromKeys, keysOf, pluck } from '../lib/objects.ts';
import { MAX_NETWORKS, parseNetworks } from './allowed-networks.ts';
import { type DayLimit, MAX_DAY_MINUTES, MAX_DAY_RECORDS, type OwnDayLimit } from './day-limit.ts';
import { freeText, ruleError } from './fields.ts';
import { invisibleCharacter } from './invisible-character.ts';
import { formatRequestLimit, MAX_QUOTA, MAX_WINDOW_MS, type RequestLimit } from './request-limit.ts';

// What administrators can set of a key after it was created. A new setting is an entry of KEY_SETTINGS and a column.

export interface DefaultLimits {
  requests: RequestLimit;
  day: DayLimit | null;
}

interface StoredLimits {
  limitQuota: number | null;
  limitWindowMs: number | null;
  dayLimitRecords: number | null;
  dayLimitMinutes: number | null;
}

export interface SettingContext {
  defaults: DefaultLimits;
  own?: StoredLimits | undefined;
}

interface SettingForm {
  field: string;
  control: 'line' | 'number' | 'lines';
  /** Every other field is marked as optional. */
  required?: boolean;
  placeholder?: string;
  max: (context: SettingContext) => number;
  label: string;
  help: (defaults: DefaultLimits) => string;
  /** The message for an error code, if the words of the error are not for administrators. */
  message?: (code: string, defaults: DefaultLimits) => string | undefined;
}

interface KeySetting {
  column: string;
  /** Checks an input; its output is the stored value. */
  input: z.ZodType;
  /** The input from the fields of a form. NaN for a text that is not a valid number. */
  read: (field: (name: string) => string, context: SettingContext) => string | number | null;
  /** Undefined for a value that no form shows: a change keeps it. */
  form?: SettingForm;
  csv?: string;
  /** Its name in the audit log. Undefined for a value that another setting describes. */
  audited?: string;
  /** Its value in the audit log, if that is not the quoted text. */
  describe?: (key: StoredLimits & { allowedNetworks: string }) => string;
}

const number = (max: number, step = 1) => {
  const rule = step === 1 ? `a whole number from 1 to ${max}` : `a multiple of ${step} up to ${max}`;
  const error = ruleError(`${rule}, or leave it out`);
  return z.int({ error }).min(step, { error }).max(max, { error }).multipleOf(step, { error }).nullable().default(null);
};

const MAX_NAME_LENGTH = 100;

/** Refuses invisible and reversing characters: others read the text when they decide on the key. */
function refuseInvisible(text: string, context: z.RefinementCtx): void {
  const found = invisibleCharacter(text);
  if (found === undefined) return;
  const which = `U+${found.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}`;
  const message = `has the invisible character ${which}; remove all invisible characters`;
  context.addIssue({ code: 'custom', message, params: { code: 'forbidden_character' } });
}

/**
 * A trimmed name in Unicode NFC, in which each run of white space is one space, without invisible characters: two names
 * that look the same are rarely different. Case counts, and so do letters of different alphabets with the same shape.
 */
const keyName = z
  .string({ error: ruleError(`a text of 1 to ${MAX_NAME_LENGTH} characters`) })
  .normalize('NFC')
  .pipe(freeText(MAX_NAME_LENGTH))
  .transform((name) => name.trim().replace(/\s+/g, ' '))
  .superRefine(refuseInvisible);

/** One line of text, trimmed and in Unicode NFC; empty if it is left out. */
const optionalLine = (max: number) =>
  z
    .string({ error: ruleError(`a text of at most ${max} characters, or leave it out`) })
    .normalize('NFC')
    .transform((text) => text.trim().replace(/\s+/g, ' '))
    .superRefine((text, context) => {
      if (text === '') return;
      const { error } = freeText(max).safeParse(text);
      for (const { message, ...issue } of error?.issues ?? [])
        context.addIssue({
          code: 'custom',
          message,
          params: { code: 'params' in issue ? issue.params?.['code'] : undefined },
        });
    })
    .superRefine(refuseInvisible)
    .default('');

const networks = z
  .string({ error: ruleError('networks such as 203.0.113.0/24, separated by spaces, or leave it out') })
  .default('')
  .transform((text, context) => {
    try {
      return parseNetworks(text);
    } catch (err) {
      if (!(err instanceof RangeError)) throw err;
      context.addIssue({ code: 'custom', message: err.message, params: { code: 'invalid_format' } });
      return z.NEVER;
    }
  });

/** An optional line of text: its column, its field and its name in the audit log are the same word. */
const line = <const Name extends string>(name: Name, label: string, { max, help }: { max: number; help: string }) => ({
  column: name,
  input: optionalLine(max),
  read: (field: (name: string) => string) => field(name),
  form: { field: name, control: 'line' as const, max: () => max, label, help: () => help },
  csv: label,
  audited: name,
});

/** A whole number from `min` to `max` in decimal digits; NaN for any other text. */
export function wholeNumber(text: string, max: number, min = 1): number {
  const number = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  return number >= min && number <= max ? number : Number.NaN;
}

const wholeNumberUpTo = (max: number) =>
  `Enter a whole number from 1 to ${inThousands(max)}, or leave the field empty.`;

function readRecords(text: string, { defaults: { day }, own }: SettingContext): number | null {
  const ownRecords = own?.dayLimitRecords ?? null;
  if (text === '') return null;
  if (ownRecords !== null && text === String(ownRecords)) return ownRecords;
  if (day && text === String(day.records)) return null;
  return wholeNumber(text, day?.records ?? MAX_DAY_RECORDS);
}

function describeDayLimit({ dayLimitRecords: records, dayLimitMinutes: minutes }: StoredLimits): string {
  const parts = [
    ...(records === null ? [] : [`${records} ${records === 1 ? 'record' : 'records'}`]),
    ...(minutes === null ? [] : [`${minutes} ${minutes === 1 ? 'minute' : 'minutes'}`]),
  ];
  return parts.join(' and ') || 'default';
}

export const KEY_SETTINGS = {
  name: {
    column: 'name',
    input: keyName,
    read: (field) => field('name'),
    form: {
      field: 'name',
      control: 'line',
      required: true,
      placeholder: 'n8n prod: alert triage',
      max: () => MAX_NAME_LENGTH,
      label: 'Name',
      help: () => 'Use one key per workflow. The name appears in the audit log with everything the key writes.',
      message: (code) =>
        code === 'too_short'
          ? 'Enter a name that says which workflow uses the key.'
          : code === 'too_long'
            ? `Use at most ${MAX_NAME_LENGTH} characters.`
            : code === 'taken'
              ? 'Another key already has this name. Enter a different name, or revoke the other key first.'
              : undefined,
    },
    audited: 'name',
  },
  limitQuota: {
    column: 'limit_quota',
    input: number(MAX_QUOTA),
    read: (_, { own }) => own?.limitQuota ?? null,
    audited: 'limit',
    describe: (key) => {
      const limit = ownRequestLimit(key);
      return limit ? formatRequestLimit(limit) : 'default';
    },
  },
  limitWindowMs: {
    column: 'limit_window_ms',
    input: number(MAX_WINDOW_MS, 1000),
    read: (_, { own }) => own?.limitWindowMs ?? null,
  },
  dayLimitRecords: {
    column: 'day_limit_records',
    input: number(MAX_DAY_RECORDS),
    read: (field, context) => readRecords(field('day_records'), context),
    form: {
      field: 'day_records',
      control: 'number',
      max: ({ defaults: { day }, own }) => Math.max(day?.records ?? MAX_DAY_RECORDS, own?.dayLimitRecords ?? 0),
      label: 'New records per day',
      help: ({ day }) =>
        day
          ? `Notes and time entries together. If you leave this empty, the limit for all keys applies: ${inThousands(day.records)} new records per day.`
          : 'Notes and time entries together. If you leave this empty, the number of records is not limited.',
      message: (_, { day }) => wholeNumberUpTo(day?.records ?? MAX_DAY_RECORDS),
    },
    csv: 'Own limit of new records per day',
    audited: 'daily limit',
    describe: describeDayLimit,
  },
  dayLimitMinutes: {
    column: 'day_limit_minutes',
    input: number(MAX_DAY_MINUTES),
    read: (field) => (field('day_minutes') === '' ? null : wholeNumber(field('day_minutes'), MAX_DAY_MINUTES)),
    form: {
      field: 'day_minutes',
      control: 'number',
      max: () => MAX_DAY_MINUTES,
      label: 'Minutes per day',
      help: () => 'Minutes of all time entries together. If you leave this empty, the minutes are not limited.',
      message: () => wholeNumberUpTo(MAX_DAY_MINUTES),
    },
    csv: 'Own limit of minutes per day',
  },
  allowedNetworks: {
    column: 'allowed_networks',
    input: networks,
    read: (field) => field('networks'),
    form: {
      field: 'networks',
      control: 'lines',
      placeholder: '203.0.113.0/24',
      max: () => MAX_NETWORKS,
      label: 'Allowed networks',
      help: () =>
        `At most ${MAX_NETWORKS} IPv4 or IPv6 networks, one on each line. Requests from elsewhere are refused. If you leave this empty, the key works from everywhere.`,
    },
    csv: 'Allowed networks',
    audited: 'allowed networks',
    describe: ({ allowedNetworks }) => allowedNetworks || 'any',
  },
  description: line('description', 'Description', { max: 200, help: 'What the workflow does, or where it runs.' }),
  owner: line('owner', 'Owner', { max: 100, help: 'The person or team to ask before the key is revoked.' }),
} as const satisfies Record<string, KeySetting>;

export type KeySettingName = keyof typeof KEY_SETTINGS;

export const KEY_SETTING_NAMES = keysOf(KEY_SETTINGS);

export const keySetting = (name: KeySettingName): KeySetting => KEY_SETTINGS[name];

/** The settings in CSV files, each with its heading. */
export const CSV_SETTINGS = KEY_SETTING_NAMES.flatMap((name) => {
  const { csv } = keySetting(name);
  return csv === undefined ? [] : [{ name, csv }];
});

/** The settings with a field in the forms: first the lines of text, then the others. */
export const KEY_FORM_FIELDS = KEY_SETTING_NAMES.flatMap((name) => {
  const { form } = keySetting(name);
  return form ? [{ ...form, name }] : [];
}).toSorted((a, b) => Number(a.control !== 'line') - Number(b.control !== 'line'));

export const settingInputs = pluck(KEY_SETTINGS, 'input');

export type KeySettings = { -readonly [Name in KeySettingName]: z.output<(typeof settingInputs)[Name]> };

/** Settings before validation. A setting that is left out has its default value. */
export type SettingsInput = Partial<Record<KeySettingName, unknown>>;

export const readSettings = (field: (name: string) => string, context: SettingContext) =>
  fromKeys(KEY_SETTING_NAMES, (name) => keySetting(name).read(field, context));

/** The text that a field shows for a stored value; undefined for none. */
export function shownValue(name: KeySettingName, value: string | number | null): string | undefined {
  if (value === null) return undefined;
  const text = String(value);
  return keySetting(name).form?.control === 'lines' ? text.replaceAll(' ', '\n') : text;
}

/** What differs between two states of a key, in words for the audit log. */
export function describeChanges(from: KeySettings, to: KeySettings): string[] {
  return KEY_SETTING_NAMES.flatMap((name) => {
    const { audited, describe } = keySetting(name);
    if (audited === undefined) return [];
    const words = (key: KeySettings) => describe?.(key) ?? JSON.stringify(key[name]);
    return words(from) === words(to) ? [] : [`${audited} ${words(from)} to ${words(to)}`];
  });
}

export function ownRequestLimit({
  limitQuota: quota,
  limitWindowMs: windowMs,
}: Pick<StoredLimits, 'limitQuota' | 'limitWindowMs'>): RequestLimit | null {
  return quota === null || windowMs === null ? null : { quota, windowMs };
}

export function ownDayLimit({
  dayLimitRecords: records,
  dayLimitMinutes: minutes,
}: Pick<StoredLimits, 'dayLimitRecords' | 'dayLimitMinutes'>): OwnDayLimit {
  return { records, minutes };
}
