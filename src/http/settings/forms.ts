import type { Child } from 'hono/jsx';
import { addDays } from '../../domain/calendar.ts';
import { MAX_NAME_LENGTH } from '../../domain/directory.ts';
import type { FieldError } from '../../domain/fields.ts';
import { MAX_RULE_DAYS } from '../../domain/key-rules.ts';
import {
  companyIds,
  KEY_SETTING_NAMES,
  type KeySettings,
  keySetting,
  type SettingsInput,
} from '../../domain/key-settings.ts';
import { hostNetwork } from '../../domain/networks.ts';
import { MAX_MINUTES } from '../../domain/record-kinds.ts';
import { inThousands } from '../../lib/in-thousands.ts';
import type { Lockout } from '../../services/keys/key-usage.ts';
import { PageProblem } from './page-problem.ts';

export const tooLarge = () =>
  new PageProblem(
    413,
    'Form too large',
    'The form holds more than its page allows. Select fewer entries, or shorten its texts. Nothing was changed.',
  );

export async function readForm(c: { req: { arrayBuffer(): Promise<ArrayBuffer> } }): Promise<URLSearchParams> {
  return new URLSearchParams(new TextDecoder().decode(await c.req.arrayBuffer()));
}

/** @throws PageProblem if the one-time token is not one of ours */
export function formToken(form: URLSearchParams): string {
  const token = form.get('token') ?? '';
  if (!/^[0-9a-f-]{36}$/.test(token)) throw incomplete();
  return token;
}

const incomplete = () =>
  new PageProblem(
    400,
    'Incomplete form',
    'Part of the form is missing. Open the page again and submit the form there.',
  );

/** A number from 0 on that a form sends back, such as a revision. @throws PageProblem if it is missing */
export function shownCount(form: URLSearchParams, field: string): number {
  const text = form.get(field) ?? '';
  if (!/^\d{1,15}$/.test(text)) throw incomplete();
  return Number(text);
}

/** A form as it is shown: its values, and once it was sent the messages about them (none after a conflict). */
export interface FormState {
  values: URLSearchParams;
  messages?: Messages;
}

/** The values of a form that is opened. It sends them back as `shown`. */
export const openedForm = (fields: readonly [field: string, value: string][]) =>
  new URLSearchParams([...fields, ['shown', new URLSearchParams([...fields]).toString()]]);

/** A form that was sent when others had changed the same: the values that its sender changed, and else the current ones. */
export function mergedForm(sent: URLSearchParams, current: readonly [field: string, value: string][]): URLSearchParams {
  const shown = new URLSearchParams(sent.get('shown') ?? '');
  const textOf = (form: URLSearchParams, name: string) => form.getAll(name).sort().join('\n').replaceAll('\r', '');
  const merged = openedForm(current);
  for (const name of new Set([...sent.keys(), ...shown.keys()])) {
    if (name === 'shown' || textOf(sent, name) === textOf(shown, name)) continue;
    merged.delete(name);
    for (const value of sent.getAll(name)) merged.append(name, value);
  }
  return merged;
}

/** Error messages by field. The empty name is for the whole form. */
export type Messages = Record<string, Child>;

const KEY_FIELDS = KEY_SETTING_NAMES.map((name) => ({ ...keySetting(name), name }));

/** A key's settings as form fields. */
export const settingsInForm = (key: KeySettings): [field: string, value: string][] =>
  KEY_FIELDS.flatMap(({ name, control }): [string, string][] => {
    const text = String(key[name] ?? '');
    if (control === 'companies') return companiesInForm(text === '' ? [ALL_COMPANIES] : companyIds(text));
    return [[name, control === 'lines' ? text.replaceAll(' ', '\n') : text]];
  });

// The field `companies` has a choice, and the id of each selected company. Neither choice is an id.
export const ALL_COMPANIES = '*';
export const SOME_COMPANIES = '';

const companiesInForm = (values: readonly string[]): [string, string][] =>
  [...(values.includes(ALL_COMPANIES) ? [] : [SOME_COMPANIES]), ...values].map((value) => ['companies', value]);

/** The companies that are selected in a form. */
export const selectedCompanies = (form: URLSearchParams): string[] =>
  form.getAll('companies').filter((value) => value !== ALL_COMPANIES && value !== SOME_COMPANIES);

/** What a form searches for among the companies, if it does: then it saves nothing, and is shown with what was found. */
export function searchedCompany(form: URLSearchParams): string | undefined {
  const text = form.get('find')?.trim().slice(0, MAX_NAME_LENGTH) ?? '';
  return form.has('search') || text !== '' ? text : undefined;
}

/** The form after its search, which is for a key that is limited to companies. */
export function afterSearch(form: URLSearchParams): FormState {
  const others = [...form].filter(([name]) => name !== 'companies');
  return { values: new URLSearchParams([...others, ...companiesInForm(selectedCompanies(form))]), messages: {} };
}

export function chosenSettings(form: URLSearchParams): SettingsInput {
  const settings: SettingsInput = {};
  for (const { name, control } of KEY_FIELDS) {
    if (control === 'number') settings[name] = chosenNumber(form, name);
    // Without a choice, the list is empty, which is an error: all companies have to be chosen.
    else if (control !== 'companies') settings[name] = form.get(name) ?? '';
    else if (!form.has(name, ALL_COMPANIES)) settings[name] = form.getAll(name).join(' ');
  }
  return settings;
}

/** The whole number in an optional field: null if it is empty, NaN for any other text. */
export function chosenNumber(form: URLSearchParams, field: string): number | null {
  const text = form.get(field)?.trim() ?? '';
  if (text === '') return null;
  return /^\d+$/.test(text) ? Number(text) : Number.NaN;
}

/** Adds the recent use that the form's settings would refuse, so that they allow it. */
export function allowRecentUse(form: URLSearchParams, { addresses, records, minutes }: Lockout): void {
  const networks = [form.get('allowedNetworks') ?? '', ...addresses.map(({ address }) => hostNetwork(address))];
  form.set('allowedNetworks', networks.join('\n'));
  if (records !== undefined) form.set('dayLimitRecords', String(records));
  if (minutes !== undefined) form.set('dayLimitMinutes', String(minutes));
}

/** An invalid date for contradictory choices, so that all field errors are reported together. */
const NO_DATE = '';

/** The last day on which the key works, in the organization's time zone; none for a key that never expires. */
export function chosenExpiry(form: URLSearchParams, today: string): { expires?: string } {
  const choice = form.get('expires') ?? '';
  const date = form.get('date') ?? '';
  if (choice === 'date') return { expires: date };
  // Without script, a date can be entered with another choice selected. Do not guess the intention.
  if (date !== '') return { expires: NO_DATE };
  if (choice === 'none' || choice === '') return {};
  return { expires: /^(30|90|365)$/.test(choice) ? addDays(today, Number(choice)) : NO_DATE };
}

const upTo = (max = 0) => `Enter a whole number from 1 to ${inThousands(max)}, or leave the field empty.`;

export const TAKEN_NAME = 'Another key already has this name. Enter a different name, or rotate the other key.';

/** Messages by field, or by field and error code. Other errors are shown in their own words. */
const MESSAGES: Record<string, string> = {
  'name too_short': 'Enter a name that tells which workflow uses the key.',
  'name too_long': `Use at most ${keySetting('name').max} characters.`,
  'name taken': TAKEN_NAME,
  dayLimitRecords: upTo(keySetting('dayLimitRecords').max),
  dayLimitMinutes: upTo(keySetting('dayLimitMinutes').max),
  scopes: 'Select at least one.',
  'expires out_of_range': 'This date is in the past. Enter a later date.',
  'expires too_late': 'A key can expire at most 10 years from now. For a key that never expires, choose “Never”.',
  expires: 'Choose an expiration. For “On a date”, enter a date such as 2027-03-31. Otherwise leave it empty.',
  'grace too_many':
    'Too many replaced keys still work. Revoke this key immediately, or revoke one of the replaced keys first.',
  grace: 'Choose how long the old key keeps working.',
  maxLifetimeDays: upTo(MAX_RULE_DAYS),
  longMinutes: upTo(MAX_MINUTES),
};

export function messagesOf(errors: readonly FieldError[]): Record<string, string> {
  const messages: Record<string, string> = {};
  for (const { pointer, code, detail } of errors) {
    const [field = ''] = pointer.slice(1).split('/');
    // The detail contains the key rule.
    const general = code.startsWith('key_rules_') ? undefined : MESSAGES[field];
    messages[field] ??=
      MESSAGES[`${field} ${code}`] ??
      general ??
      sentence(detail.replace(/^(allowedNetworks|companies) has /, 'the list has '));
  }
  return messages;
}

const sentence = (text: string) => `${text.charAt(0).toUpperCase()}${text.slice(1)}${text.endsWith('.') ? '' : '.'}`;
