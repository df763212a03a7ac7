import type { MiddlewareHandler } from 'hono';
import { csrf } from 'hono/csrf';
import { addDays, DAY_MS } from '../../domain/calendar.ts';
import type { FieldError } from '../../domain/fields.ts';
import { parsePolicy, type RateLimitPolicy } from '../../domain/rate-limit.ts';
import type { ChangeableKey } from '../../services/keys/change-key.ts';
import type { KeyDetails } from '../../services/keys/read-keys.ts';
import type { AppEnv } from '../context.ts';
import { readBody } from '../middleware/read-body.ts';
import { PageProblem } from './page-problem.ts';
import type { FormValues, Messages } from './pages/key-form.tsx';

/** Far more than any form here holds. */
const MAX_FORM_BYTES = 16 * 1024;

/** Every POST is a form of our own pages: the right media type, sent from this very origin, of a sane size. */
export const guardForms = () =>
  [
    requireForm(),
    csrf(),
    readBody(MAX_FORM_BYTES, {
      tooLarge: () => new PageProblem(413, 'Too much', 'The form holds more text than any of its fields takes.'),
      broken: (why) => new PageProblem(400, 'Incomplete form', `The form ${why}, so nothing was done. Send it again.`),
    }),
  ] as const;

function requireForm(): MiddlewareHandler<AppEnv> {
  return async function requireForm(c, next) {
    const mediaType = c.req.header('Content-Type')?.split(';')[0]?.trim().toLowerCase();
    if (c.req.method === 'POST' && mediaType !== 'application/x-www-form-urlencoded') {
      throw new PageProblem(415, 'Not a form', 'Send the form of the page; no other kind of body is read here.');
    }
    await next();
  };
}

/** The fields of a form that was sent. */
export async function readForm(c: { req: { arrayBuffer(): Promise<ArrayBuffer> } }): Promise<URLSearchParams> {
  return new URLSearchParams(new TextDecoder().decode(await c.req.arrayBuffer()));
}

/** The one-time token of a form. @throws PageProblem when it is not one that we made. */
export function formToken(form: URLSearchParams): string {
  const token = form.get('token') ?? '';
  if (!/^[0-9a-f-]{36}$/.test(token)) throw incomplete();
  return token;
}

const incomplete = () =>
  new PageProblem(400, 'Incomplete form', 'A part of the form is missing. Open the page again and send it from there.');

/** The key as the form for changing it has shown it. @throws PageProblem when the form does not say so */
export function shownKey(form: URLSearchParams, id: string): ChangeableKey {
  const [name, limit] = [form.get('shown_name'), form.get('shown_limit')];
  if (name === null || limit === null) throw incomplete();
  try {
    return { id, name, limit: limit === '' ? null : parsePolicy(limit) };
  } catch (err) {
    throw err instanceof RangeError ? incomplete() : err;
  }
}

/** The values of a form, to be shown again beside its errors. */
export function readFormValues(form: URLSearchParams): FormValues {
  const text = (name: string) => form.get(name) ?? undefined;
  return {
    name: form.get('name') ?? '',
    scopes: form.getAll('scope'),
    expiration: text('expiration') || undefined,
    date: text('date'),
    limit: text('limit'),
    grace: text('grace'),
  };
}

/** An always-invalid date for contradictory choices, so that all field errors are reported together. */
const NO_DATE = '';

/** The date until whose end a key is to work, from the choice on the form; none for no expiration. `today` is the organization's. */
export function chosenExpiry({ expiration = '', date = '' }: FormValues, today: string): { expires?: string } {
  if (expiration === 'date') return { expires: date };
  // Without script the date can be filled in while something else is chosen: never guess which of the two was meant.
  if (date !== '') return { expires: NO_DATE };
  if (expiration === 'none') return {};
  return { expires: /^(30|60|90|365)$/.test(expiration) ? addDays(today, Number(expiration)) : NO_DATE };
}

/** The choice that repeats a key's lifetime, counted from today. A key that never expired presets nothing: that has to be chosen anew. */
export function sameLifetime({ createdAt, expiresAt }: KeyDetails, today: string): FormValues {
  if (expiresAt === null) return {};
  return { expiration: 'date', date: addDays(today, Math.max(1, Math.floor((expiresAt - createdAt) / DAY_MS))) };
}

/**
 * A limit of the key's own, from a form: not above the deployment's quota, and in the window of `own`, the limit that the key had of its
 * own before, or else in the deployment's. None when left empty, or the same as the deployment's.
 */
export function chosenLimit(
  { limit = '' }: FormValues,
  { quota, windowMs }: RateLimitPolicy,
  own: RateLimitPolicy | null = null,
): { limit?: RateLimitPolicy } {
  if (limit === '') return {};
  if (own && limit === String(own.quota)) return { limit: own };
  const window = own?.windowMs ?? windowMs;
  if (limit === String(quota) && window === windowMs) return {};
  return {
    limit: { quota: /^\d+$/.test(limit) && Number(limit) <= quota ? Number(limit) : Number.NaN, windowMs: window },
  };
}

/** By field, or by field and rule. */
const WORDS: Record<string, string> = {
  'name too_short': 'Give the key a name that says which workflow it is for.',
  'name too_long': 'Use at most 100 characters.',
  'name taken':
    'Another key has this name. Choose one that says which workflow this key is for, or revoke the other key first.',
  scopes: 'Choose at least one.',
  'expires out_of_range': 'This date has passed; choose a later one.',
  'expires too_late': 'A key lives for ten years at most, or without expiration.',
  expires: 'Choose an expiration. A date, written as 2027-03-31, goes with “On a date” only.',
  limit: 'Enter a whole number, at least 1 and not higher than the limit of all keys, or leave it empty.',
  'grace too_many':
    'Too many replaced keys still work. Revoke this key at once, or revoke one of the replaced keys first.',
  grace: 'Choose how long the old key goes on working.',
};

const FIELDS: Record<string, keyof Messages> = {
  name: 'name',
  scopes: 'scopes',
  expires: 'expiration',
  limit: 'limit',
  grace: 'grace',
};

/** What is wrong with a form, in a person's words and beside the field: the first error of each. */
export function messagesOf(errors: readonly FieldError[]): Messages {
  const messages: Messages = {};
  for (const { pointer, code, detail } of errors) {
    const [, part = ''] = pointer.split('/');
    messages[FIELDS[part] ?? 'form'] ??= WORDS[`${part} ${code}`] ?? WORDS[part] ?? sentence(detail);
  }
  return messages;
}

const sentence = (text: string) => `${text.charAt(0).toUpperCase()}${text.slice(1)}${text.endsWith('.') ? '' : '.'}`;
