import * as z from 'zod/mini';
import { keysOf, pluck } from '../lib/objects.ts';
import { MAX_DAY_MINUTES, MAX_DAY_RECORDS, type OwnDayLimit } from './day-limit.ts';
import { DIRECTORY_ID } from './directory-id.ts';
import { parseList } from './entered-list.ts';
import { freeText, ruleError } from './fields.ts';
import { invisibleCharacter } from './invisible-character.ts';
import { MAX_NETWORKS, parseNetworks } from './networks.ts';

// What administrators can set of a key after it was created. A new setting is an entry of KEY_SETTINGS and a column of api_keys.

interface KeySetting {
  /** Checks an input; its output is the stored value. */
  input: z.ZodMiniType;
  /** Its field in the forms: a line of text, a whole number, a list with an item on each line, or companies. */
  control: 'line' | 'number' | 'lines' | 'companies';
  /** In forms, in CSV files and, in lower case, in the audit log. */
  label: string;
  help: string;
  /** The most characters of a line, or the largest number. */
  max?: number;
  /** Every other field is marked as optional. */
  required?: boolean;
  placeholder?: string;
}

const MAX_NAME_LENGTH = 100;

/** Refuses invisible and reversing characters: others read the text when they decide on the key. */
function refuseInvisible(text: string, context: z.core.$RefinementCtx): void {
  const found = invisibleCharacter(text);
  if (found === undefined) return;
  const which = `U+${found.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}`;
  const message = `has the invisible character ${which}; remove all invisible characters`;
  context.addIssue({ code: 'custom', message, params: { code: 'forbidden_character' } });
}

/**
 * One trimmed line of text in Unicode NFC, in which each run of white space is one space, without invisible characters:
 * two names that look the same are rarely different. Case counts, and so do letters of different alphabets with the
 * same shape.
 */
const oneLine = (rule: string, text: z.ZodMiniType<string, string>) =>
  z
    .pipe(
      z.string({ error: ruleError(rule) }).check(
        z.normalize('NFC'),
        z.overwrite((text) => text.trim().replace(/\s+/g, ' ')),
      ),
      text,
    )
    .check(z.superRefine(refuseInvisible));

/** An optional list, stored as `parse` returns it; empty if it is left out. */
const list = (rule: string, parse: (text: string) => string) =>
  z.lazy(() => {
    const text = z.string({ error: ruleError(`${rule}, separated by spaces, or leave it out`) });
    const parsed = z.transform((input: string, { issues }) => {
      try {
        return parse(input);
      } catch (err) {
        if (!(err instanceof RangeError)) throw err;
        issues.push({ code: 'custom', input, message: err.message, params: { code: 'invalid_format' } });
        return z.NEVER;
      }
    });
    return z._default(z.pipe(text, parsed), '');
  });

/** The most companies that one key may be limited to. */
export const MAX_COMPANIES = 50;
/** Room for the longest ids, and more than enough to count them. */
const MAX_COMPANIES_LENGTH = 7_000;

/**
 * The ids of companies, in order. Never none: a key without companies writes to the tickets of all, so this is only the
 * value of a setting that is left out.
 */
function parseCompanies(text: string): string {
  const limits = { maxLength: MAX_COMPANIES_LENGTH, max: MAX_COMPANIES, entries: 'companies' };
  const ids = parseList(text, limits, (entry) => {
    if (DIRECTORY_ID.test(entry)) return entry;
    throw new RangeError(`has ${JSON.stringify(entry.slice(0, 64))}, which is not the id of a company`);
  });
  if (ids.length === 0) throw new RangeError('has no company; choose at least one, or all companies');
  return ids.toSorted().join(' ');
}

/** The ids in a stored list of companies. */
export const companyIds = (companies: string): string[] => companies.split(' ').filter(Boolean);

/** An optional line of text; empty if it is left out. */
function line(label: string, max: number, help: string) {
  const rule = `a text of at most ${max} characters, or leave it out`;
  const input = z.lazy(() => z._default(oneLine(rule, z.union([z.literal(''), freeText(max)])), ''));
  return { input, control: 'line' as const, max, label, help };
}

/** An optional whole number from 1 on; null if it is left out. */
function number(label: string, max: number, help: string) {
  const error = ruleError(`a whole number from 1 to ${max}, or leave it out`);
  const input = z.lazy(() => {
    const whole = z.int({ error }).check(z.minimum(1, { error }), z.maximum(max, { error }));
    return z._default(z.nullable(whole), null);
  });
  return { input, control: 'number' as const, max, label, help };
}

const KEY_SETTINGS = {
  name: {
    input: z.lazy(() => oneLine(`a text of 1 to ${MAX_NAME_LENGTH} characters`, freeText(MAX_NAME_LENGTH))),
    control: 'line',
    required: true,
    placeholder: 'n8n prod: alert triage',
    max: MAX_NAME_LENGTH,
    label: 'Name',
    help: 'Use one key per workflow. The audit log has the name with everything the key writes.',
  },
  owner: line('Owner', 100, 'The person or team to ask before the key is revoked.'),
  description: line('Description', 200, 'What the workflow does, or where it runs.'),
  companies: {
    input: list('ids of companies', parseCompanies),
    control: 'companies',
    label: 'Companies',
    help: `Requests for tickets of other companies get “ticket not found”. At most ${MAX_COMPANIES} companies.`,
  },
  dayLimitRecords: number(
    'Limit of new records per day',
    MAX_DAY_RECORDS,
    'Notes and time entries together. If the limit for all keys is lower, it applies.',
  ),
  dayLimitMinutes: number(
    'Limit of minutes per day',
    MAX_DAY_MINUTES,
    'Minutes of all time entries together. If you leave this empty, the minutes are not limited.',
  ),
  allowedNetworks: {
    input: list('networks such as 203.0.113.0/24', parseNetworks),
    control: 'lines',
    placeholder: '203.0.113.0/24',
    label: 'Allowed networks',
    help: `At most ${MAX_NETWORKS} IPv4 or IPv6 networks, one on each line. Requests from elsewhere are refused. If you leave this empty, the key works from everywhere.`,
  },
} as const satisfies Record<string, KeySetting>;

export type KeySettingName = keyof typeof KEY_SETTINGS;

export const KEY_SETTING_NAMES = keysOf(KEY_SETTINGS);

export const keySetting = (name: KeySettingName): KeySetting => KEY_SETTINGS[name];

/** The settings in CSV files, each with its heading. The name is always a column. */
export const CSV_SETTINGS = KEY_SETTING_NAMES.flatMap((name) =>
  name === 'name' ? [] : [{ name, csv: keySetting(name).label }],
);

export const settingInputs = pluck(KEY_SETTINGS, 'input');

export type KeySettings = { -readonly [Name in KeySettingName]: z.output<(typeof settingInputs)[Name]> };

/** Settings before validation. A setting that is left out has its default value. */
export type SettingsInput = Partial<Record<KeySettingName, unknown>>;

const NO_LINE = '""';

const without = (all: readonly string[], some: readonly string[]) => all.filter((one) => !some.includes(one));

/** What differs between two states of a key, in words for the audit log. */
export function describeChanges(from: KeySettings, to: KeySettings): string[] {
  return KEY_SETTING_NAMES.flatMap((name) => {
    const { label, control } = keySetting(name);
    const words = ({ [name]: value }: KeySettings) =>
      control === 'line' ? JSON.stringify(value) : value === '' ? 'any' : String(value ?? 'none');
    const [what, old, changed] = [label.toLowerCase(), words(from), words(to)];
    if (old === changed) return [];
    const [before = [], after = []] = [from, to].map(({ [name]: list }) => String(list ?? '').split(' '));
    const [added, removed] = [without(after, before), without(before, after)];
    // An empty list has another meaning: any.
    const isPart = control !== 'line' && old !== 'any' && changed !== 'any';
    if (isPart && removed.length === 0) return [`${what} added: ${added.join(' ')}`];
    if (isPart && added.length === 0) return [`${what} removed: ${removed.join(' ')}`];
    if (old === NO_LINE) return [`${what} added: ${changed}`];
    return [changed === NO_LINE ? `${what} removed: ${old}` : `${what} ${old} to ${changed}`];
  });
}

export function ownDayLimit({
  dayLimitRecords: records,
  dayLimitMinutes: minutes,
}: Pick<KeySettings, 'dayLimitRecords' | 'dayLimitMinutes'>): OwnDayLimit {
  return { records, minutes };
}
