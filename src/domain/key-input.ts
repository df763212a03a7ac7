import * as z from 'zod';
import { parseNetworks } from './allowed-networks.ts';
import { dateIn, endOfDate, yearsLater } from './calendar.ts';
import { MAX_DAY_MINUTES, MAX_DAY_RECORDS, type OwnDayLimit } from './day-limit.ts';
import { freeText, ruleError, strictObject } from './fields.ts';
import { invisibleCharacter } from './invisible-character.ts';
import { MAX_QUOTA, MAX_WINDOW_MS } from './request-limit.ts';
import { SCOPE_IDS } from './scopes.ts';

/** How many years ahead a key may expire. A key that must work longer has no expiry. */
export const MAX_EXPIRY_YEARS = 10;

/** How many keys an organization may have that are neither revoked, expired nor replaced. */
export const MAX_LIVE_KEYS = 100;

/** How many replaced keys may be in their grace period at the same time. */
export const MAX_KEYS_IN_GRACE = 50;

const expiresRule =
  'a date such as 2027-03-31, an instant such as 2027-03-31T12:00:00Z, or leave it out for a key that never expires';
const quotaRule = `a whole number from 1 to ${MAX_QUOTA}`;
const windowRule = `whole seconds in milliseconds, from 1000 to ${MAX_WINDOW_MS}`;
const dayRecordsRule = `a whole number from 1 to ${MAX_DAY_RECORDS}`;
const dayMinutesRule = `a whole number from 1 to ${MAX_DAY_MINUTES}`;
const int = (rule: string, min: number, max: number) =>
  z
    .int({ error: ruleError(rule) })
    .min(min, { error: ruleError(rule) })
    .max(max, { error: ruleError(rule) });

const MAX_NAME_LENGTH = 100;

/**
 * A trimmed name in Unicode NFC, in which each run of white space is one space, without invisible
 * characters: two names that look the same are rarely different. Case counts, and so do letters of
 * different alphabets with the same shape.
 */
const keyName = () =>
  z
    .string({ error: ruleError(`a text of 1 to ${MAX_NAME_LENGTH} characters`) })
    .normalize('NFC')
    .pipe(freeText(MAX_NAME_LENGTH))
    .transform((name) => name.trim().replace(/\s+/g, ' '))
    .superRefine((name, context) => {
      const found = invisibleCharacter(name);
      if (found === undefined) return;
      const which = `U+${found.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}`;
      const message = `has the invisible character ${which}; remove all invisible characters`;
      context.addIssue({ code: 'custom', message, params: { code: 'forbidden_character' } });
    });
const expires = () =>
  z.union([z.iso.date(), z.iso.datetime({ offset: true })], { error: ruleError(expiresRule) }).optional();
const limit = () =>
  strictObject({
    quota: int(quotaRule, 1, MAX_QUOTA),
    windowMs: int(windowRule, 1000, MAX_WINDOW_MS).multipleOf(1000, { error: ruleError(windowRule) }),
  }).optional();
const dayLimit = () =>
  strictObject({
    records: int(dayRecordsRule, 1, MAX_DAY_RECORDS).optional(),
    minutes: int(dayMinutesRule, 1, MAX_DAY_MINUTES).optional(),
  }).optional();

/** How long a description and the name of an owner may be, in characters. */
export const MAX_DESCRIPTION_LENGTH = 200;
export const MAX_OWNER_LENGTH = 100;

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
    .default('');

/** The networks from which the key may be used; none for everywhere. */
const networks = () =>
  z
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

/** The input for a new key. */
export const newApiKey = strictObject({
  name: keyName(),
  scopes: z
    .array(z.enum(SCOPE_IDS, { error: ruleError(`one of ${SCOPE_IDS.join(', ')}`) }), {
      error: ruleError('an array of scopes'),
    })
    .min(1, {
      error: 'is empty; choose at least one scope',
    }),
  expires: expires(),
  limit: limit(),
  dayLimit: dayLimit(),
  networks: networks(),
  description: optionalLine(MAX_DESCRIPTION_LENGTH),
  owner: optionalLine(MAX_OWNER_LENGTH),
});

export type NewApiKey = z.input<typeof newApiKey>;

/** The input for changing an existing key. */
export const keyChanges = strictObject({
  name: keyName(),
  limit: limit(),
  dayLimit: dayLimit(),
  networks: networks(),
  description: optionalLine(MAX_DESCRIPTION_LENGTH),
  owner: optionalLine(MAX_OWNER_LENGTH),
});

export type KeyChanges = z.input<typeof keyChanges>;

/** The key's own daily limits from a valid input. */
export function ownDayLimit({ dayLimit }: Pick<z.output<typeof keyChanges>, 'dayLimit'>): OwnDayLimit {
  return { records: dayLimit?.records ?? null, minutes: dayLimit?.minutes ?? null };
}

/** How long a rotated key keeps working, if it is not revoked at once. */
export const GRACE_MS = { '1h': 3_600_000, '24h': 24 * 3_600_000, '7d': 7 * 24 * 3_600_000 } as const;

/** The input for a rotation. `expires` is the successor's. */
export const rotation = strictObject({
  expires: expires(),
  grace: z.enum(['now', '1h', '24h', '7d'], { error: ruleError('now, 1h, 24h or 7d') }),
});

/** A rotation as a form sends it, before validation. */
export interface Rotation {
  expires?: string;
  grace: string | undefined;
}

/**
 * The instant (UTC milliseconds) at which the key expires. A date without a time means the end of
 * that day in the time zone.
 */
export function expiryInstant(expires: string, timeZone: string): number {
  return expires.includes('T') ? Date.parse(expires) : endOfDate(expires, timeZone);
}

/**
 * The latest expiry (UTC milliseconds) of a key created at `now`: the end of the same day
 * `MAX_EXPIRY_YEARS` later, in the time zone.
 */
export function lastExpiry(timeZone: string, now: number): number {
  return endOfDate(yearsLater(dateIn(timeZone, now), MAX_EXPIRY_YEARS), timeZone);
}
