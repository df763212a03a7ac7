import type { MiddlewareHandler } from 'hono';
import { csrf } from 'hono/csrf';
import { parseNetworks } from '../../domain/allowed-networks.ts';
import { addDays, DAY_MS } from '../../domain/calendar.ts';
import {
  type DayLimit,
  MAX_DAY_MINUTES,
  MAX_DAY_RECORDS,
  NO_OWN_DAY_LIMIT,
  type OwnDayLimit,
} from '../../domain/day-limit.ts';
import type { FieldError } from '../../domain/fields.ts';
import type { KeyChanges } from '../../domain/key-input.ts';
import { type KeyRules, lastDayAllowed } from '../../domain/key-rules.ts';
import { parseRequestLimit, type RequestLimit } from '../../domain/request-limit.ts';
import type { ChangeableKey } from '../../services/keys/change-key.ts';
import type { KeyDetails } from '../../services/keys/read-keys.ts';
import type { AppEnv } from '../context.ts';
import { readBody } from '../middleware/read-body.ts';
import { PageProblem } from './page-problem.ts';
import { formatNumber } from './pages/components.tsx';
import { type FormValues, lifetimesAllowed, type Messages } from './pages/key-fields.tsx';

/**
 * Above the size of any form in the settings area. The largest one has 21 reasons of 200 characters,
 * each of up to 12 bytes in a form.
 */
const MAX_FORM_BYTES = 64 * 1024;

/** Requires every POST to be a form from this origin, below the size limit. */
export const guardForms = () =>
  [
    requireForm(),
    csrf(),
    readBody(MAX_FORM_BYTES, {
      tooLarge: () => new PageProblem(413, 'Form too large', 'The form holds more text than its fields allow.'),
      broken: (why) =>
        new PageProblem(400, 'Incomplete form', `The form ${why}. Nothing was changed. Submit it again.`),
    }),
  ] as const;

function requireForm(): MiddlewareHandler<AppEnv> {
  return async function requireForm(c, next) {
    const mediaType = c.req.header('Content-Type')?.split(';')[0]?.trim().toLowerCase();
    if (c.req.method === 'POST' && mediaType !== 'application/x-www-form-urlencoded') {
      throw new PageProblem(
        415,
        'Unsupported format',
        'Open the page and submit its form. No other format is accepted.',
      );
    }
    await next();
  };
}

/** Reads the fields of a submitted form. */
export async function readForm(c: { req: { arrayBuffer(): Promise<ArrayBuffer> } }): Promise<URLSearchParams> {
  return new URLSearchParams(new TextDecoder().decode(await c.req.arrayBuffer()));
}

/**
 * The one-time token of a form.
 * @throws PageProblem if it does not have the format of our tokens
 */
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

/**
 * The name and limits that the change form showed when it was opened.
 * @throws PageProblem if those fields are missing
 */
export function shownKey(form: URLSearchParams, id: string): ChangeableKey {
  const [name, limit] = [form.get('shown_name'), form.get('shown_limit')];
  if (name === null || limit === null) throw incomplete();
  const dayLimit = {
    records: shownNumber(form, 'shown_day_records', MAX_DAY_RECORDS),
    minutes: shownNumber(form, 'shown_day_minutes', MAX_DAY_MINUTES),
  };
  try {
    const allowedNetworks = parseNetworks(form.get('shown_networks') ?? '');
    const [description, owner] = [form.get('shown_description') ?? '', form.get('shown_owner') ?? ''];
    return {
      id,
      name,
      limit: limit === '' ? null : parseRequestLimit(limit),
      dayLimit,
      allowedNetworks,
      description,
      owner,
    };
  } catch (err) {
    throw err instanceof RangeError ? incomplete() : err;
  }
}

/** A number that a form showed; null if there was none. */
function shownNumber(form: URLSearchParams, field: string, max: number): number | null {
  const text = form.get(field);
  if (text === '') return null;
  const number = wholeNumber(text ?? '', max);
  if (Number.isNaN(number)) throw incomplete();
  return number;
}

/** A whole number from 1 to `max` in decimal digits; NaN for any other text. */
export function wholeNumber(text: string, max: number): number {
  const number = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  return number >= 1 && number <= max ? number : Number.NaN;
}

/**
 * A number from 0 on that a form showed and sends back, such as a revision.
 * @throws PageProblem if it is missing
 */
export function shownCount(form: URLSearchParams, field: string): number {
  const text = form.get(field) ?? '';
  if (!/^\d{1,15}$/.test(text)) throw incomplete();
  return Number(text);
}

/** The values of a form, to show again with its errors. */
export function readFormValues(form: URLSearchParams): FormValues {
  const text = (name: string) => form.get(name) ?? undefined;
  return {
    name: form.get('name') ?? '',
    scopes: form.getAll('scope'),
    expiration: text('expiration') || undefined,
    date: text('date'),
    limit: text('limit'),
    dayRecords: text('day_records'),
    dayMinutes: text('day_minutes'),
    networks: text('networks'),
    description: text('description'),
    owner: text('owner'),
    grace: text('grace'),
  };
}

/** An invalid date for contradictory choices, so that all field errors are reported together. */
const NO_DATE = '';

/**
 * The last day on which the key works, from the form's choice; none for no expiration. `today` is
 * in the organization's time zone.
 */
export function chosenExpiry({ expiration = '', date = '' }: FormValues, today: string): { expires?: string } {
  if (expiration === 'date') return { expires: date };
  // Without script, a date can be entered with another choice selected. Do not guess what is meant.
  if (date !== '') return { expires: NO_DATE };
  if (expiration === 'none') return {};
  return { expires: /^(30|60|90|365)$/.test(expiration) ? addDays(today, Number(expiration)) : NO_DATE };
}

/**
 * Preselects the same lifetime as the key's, counted from today, or the longest that the key rules
 * allows. For a key that never expires, nothing is preselected.
 */
export function sameLifetime({ createdAt, expiresAt }: KeyDetails, rules: KeyRules, today: string): FormValues {
  if (expiresAt === null) return {};
  const days = Math.max(1, Math.floor((expiresAt - createdAt) / DAY_MS));
  return { expiration: 'date', date: addDays(today, Math.min(days, rules.maxLifetimeDays ?? days)) };
}

/** Preselects the longest lifetime in days that the key rules allow: a year, if it allows that. */
export function longestLifetime(rules: KeyRules, today: string): FormValues {
  const longest = lifetimesAllowed(rules).at(-1);
  return longest === undefined
    ? { expiration: 'date', date: lastDayAllowed(rules, today) ?? undefined }
    : { expiration: longest };
}

/**
 * The key's own limit, from the form; none if the field is empty or equals the deployment's limit.
 * The quota may not exceed the deployment's. The window is that of `own`, the key's current limit,
 * or else the deployment's.
 */
export function chosenLimit(
  { limit = '' }: FormValues,
  { quota, windowMs }: RequestLimit,
  own: RequestLimit | null = null,
): { limit?: RequestLimit } {
  if (limit === '') return {};
  if (own && limit === String(own.quota)) return { limit: own };
  const window = own?.windowMs ?? windowMs;
  if (limit === String(quota) && window === windowMs) return {};
  return {
    limit: { quota: /^\d+$/.test(limit) && Number(limit) <= quota ? Number(limit) : Number.NaN, windowMs: window },
  };
}

/**
 * The key's own daily limits, from the form; none for an empty field, or for records that equal the
 * deployment's limit. The records may not exceed that limit, except to keep those of `own`, the
 * key's current limits.
 */
export function chosenDayLimit(
  { dayRecords = '', dayMinutes = '' }: FormValues,
  deployment: DayLimit | null,
  own: OwnDayLimit = NO_OWN_DAY_LIMIT,
): Required<Pick<KeyChanges, 'dayLimit'>> {
  return { dayLimit: { records: chosenRecords(dayRecords, deployment, own), minutes: chosenMinutes(dayMinutes) } };
}

function chosenRecords(typed: string, deployment: DayLimit | null, own: OwnDayLimit): number | undefined {
  if (typed === '') return undefined;
  if (own.records !== null && typed === String(own.records)) return own.records;
  if (deployment && typed === String(deployment.records)) return undefined;
  return wholeNumber(typed, deployment?.records ?? MAX_DAY_RECORDS);
}

const chosenMinutes = (typed: string) => (typed === '' ? undefined : wholeNumber(typed, MAX_DAY_MINUTES));

const wholeNumberUpTo = (max: number) =>
  `Enter a whole number from 1 to ${formatNumber(max)}, or leave the field empty.`;

/** Messages by field, or by field and error code. */
const MESSAGES: Record<string, string> = {
  'name too_short': 'Enter a name that says which workflow uses the key.',
  'name too_long': 'Use at most 100 characters.',
  'name taken': 'Another key already has this name. Enter a different name, or revoke the other key first.',
  scopes: 'Select at least one.',
  'expires out_of_range': 'This date is in the past. Enter a later date.',
  'expires too_late':
    'A key can expire at most 10 years from now. For a key that never expires, choose “No expiration”.',
  expires: 'Choose an expiration. For “On a date”, enter a date such as 2027-03-31. Otherwise leave the date empty.',
  limit: 'Enter a whole number from 1 to the limit for all keys, or leave the field empty.',
  'dayLimit/minutes': wholeNumberUpTo(MAX_DAY_MINUTES),
  'grace too_many':
    'Too many replaced keys still work. Revoke this key at once, or revoke one of the replaced keys first.',
  grace: 'Choose how long the old key keeps working.',
};

const FIELDS: Record<string, keyof Messages> = {
  name: 'name',
  scopes: 'scopes',
  expires: 'expiration',
  limit: 'limit',
  'dayLimit/records': 'dayRecords',
  'dayLimit/minutes': 'dayMinutes',
  networks: 'networks',
  description: 'description',
  owner: 'owner',
  grace: 'grace',
};

/**
 * The first error of each field, worded for the administrator. `dayLimit` is the deployment's daily
 * limit for a key.
 */
export function messagesOf(errors: readonly FieldError[], dayLimit: DayLimit | null = null): Messages {
  const words: Record<string, string> = {
    ...MESSAGES,
    'dayLimit/records': wholeNumberUpTo(dayLimit?.records ?? MAX_DAY_RECORDS),
  };
  const messages: Messages = {};
  for (const { pointer, code, detail } of errors) {
    const path = pointer.slice(1);
    const part = Object.hasOwn(FIELDS, path) ? path : (path.split('/')[0] ?? '');
    // The detail names the key rule.
    const general = code.startsWith('key_rules_') ? undefined : words[part];
    messages[FIELDS[part] ?? 'form'] ??=
      words[`${part} ${code}`] ?? general ?? sentence(detail.replace(/^networks has /, 'the list has '));
  }
  return messages;
}

const sentence = (text: string) => `${text.charAt(0).toUpperCase()}${text.slice(1)}${text.endsWith('.') ? '' : '.'}`;
