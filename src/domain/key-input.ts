import * as z from 'zod/mini';
import { dateIn, endOfDate, yearsLater } from './calendar.ts';
import { lazyObject, ruleError } from './fields.ts';
import { settingInputs } from './key-settings.ts';
import { SCOPE_IDS } from './record-kinds.ts';

/** How many years ahead a key may expire. A key that must work longer has no expiry. */
export const MAX_EXPIRY_YEARS = 10;

/** How many keys an organization may have that are neither revoked, expired nor replaced. */
export const MAX_LIVE_KEYS = 100;

/** How many replaced keys may be in their grace period at the same time. */
export const MAX_KEYS_IN_GRACE = 50;

const expiresRule =
  'a date such as 2027-03-31, an instant such as 2027-03-31T12:00:00Z, or leave it out for a key that never expires';
const expires = () =>
  z.optional(z.union([z.iso.date(), z.iso.datetime({ offset: true })], { error: ruleError(expiresRule) }));

/** How long a replaced key keeps working, if it is not revoked immediately. */
export const GRACE_MS = { '1h': 3_600_000, '24h': 24 * 3_600_000, '7d': 7 * 24 * 3_600_000 } as const;
const grace = () => z.enum(['now', '1h', '24h', '7d'], { error: ruleError('now, 1h, 24h or 7d') });
export type Grace = z.infer<ReturnType<typeof grace>>;

export const newApiKey = lazyObject(() => ({
  ...settingInputs,
  scopes: z
    .array(z.enum(SCOPE_IDS, { error: ruleError(`one of ${SCOPE_IDS.join(', ')}`) }), {
      error: ruleError('an array of scopes'),
    })
    .check(z.minLength(1, { error: 'is empty; choose at least one scope' })),
  expires: expires(),
  /** For a key that replaces one that works. */
  grace: z._default(grace(), 'now'),
}));

export type NewApiKey = z.input<typeof newApiKey>;

export const keyChanges = lazyObject(() => settingInputs);

export const rotation = lazyObject(() => ({
  expires: expires(),
  grace: grace(),
}));

export interface Rotation {
  expires?: string;
  grace: string | undefined;
}

/** When a key expires (UTC milliseconds). A date without a time means the end of that day in the time zone. */
export function expiryInstant(expires: string, timeZone: string): number {
  return expires.includes('T') ? Date.parse(expires) : endOfDate(expires, timeZone);
}

/** The latest expiry of a key created at `now`: the end of the same day `MAX_EXPIRY_YEARS` later. */
export function lastExpiry(timeZone: string, now: number): number {
  return endOfDate(yearsLater(dateIn(timeZone, now), MAX_EXPIRY_YEARS), timeZone);
}
