import { sha256 } from '../lib/bytes.ts';
import { DAY_MS } from './calendar.ts';
import type { OwnDayLimit } from './day-limit.ts';
import { isAllowedFrom } from './networks.ts';
import { keyParts, MIN_PART } from './pasted-keys.ts';
import type { Scope } from './record-kinds.ts';

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const RANDOM_LENGTH = 40;
const CHECKSUM_LENGTH = 6;
/** How many characters a hint has of each end of the random ones. */
const HINT_LENGTH = 4;
/** The length of a key value after the prefix and its underscore. */
export const KEY_LENGTH = RANDOM_LENGTH + CHECKSUM_LENGTH;
/** 248 = 4 × 62. Larger bytes are discarded: they would favor the first eight characters. */
const UNBIASED_BYTES = 248;

/** The rule for a key prefix, as a sentence continues after "it must". */
export const KEY_PREFIX_RULE = 'be 2 to 16 lower-case letters and digits and begin with a letter';
export const isKeyPrefix = (text: string) => /^[a-z][a-z0-9]{1,15}$/.test(text);
const MAX_PREFIX_LENGTH = 16;

/** A new key value: `<prefix>_`, 40 random base62 characters (238 bits) and 6 of checksum. */
export function generateKey(prefix: string): string {
  let random = '';
  while (random.length < RANDOM_LENGTH) {
    for (const byte of crypto.getRandomValues(new Uint8Array(RANDOM_LENGTH - random.length))) {
      if (byte < UNBIASED_BYTES) random += BASE62.charAt(byte % 62);
    }
  }
  const body = `${prefix}_${random}`;
  return body + checksum(body);
}

/** Checks prefix, length, alphabet and checksum. Most typos fail here, without a database lookup. */
export function isWellFormedKey(value: string, prefix: string): boolean {
  const length = prefix.length + 1 + KEY_LENGTH;
  if (value.length !== length || !value.startsWith(`${prefix}_`)) return false;
  if (!/^[0-9A-Za-z]+$/.test(value.slice(prefix.length + 1))) return false;
  return checksum(value.slice(0, -CHECKSUM_LENGTH)) === value.slice(-CHECKSUM_LENGTH);
}

/** SHA-256 of the whole key value as 64 hex digits. Only this and the hint are stored. */
export async function hashKey(value: string): Promise<string> {
  return (await sha256(value)).toHex();
}

/** How administrators recognize a key: its prefix, first 4 and last 4 random characters, such as `twb_Ab12…x9Yz`. */
export function keyHint(value: string): string {
  const random = value.slice(-(RANDOM_LENGTH + CHECKSUM_LENGTH), -CHECKSUM_LENGTH);
  return `${value.slice(0, -(RANDOM_LENGTH + CHECKSUM_LENGTH))}${random.slice(0, HINT_LENGTH)}…${random.slice(-HINT_LENGTH)}`;
}

/** What a text says of a key: its hint, and the hash of its value if it is the whole value. */
export interface PastedKey {
  hint: string;
  hash: string | null;
}

/**
 * The word before a `_`, with an escape before it, and the rest of what may be a key value or a hint. URLs encode `_`, and
 * some JSON encodes `…`. Escapes end in letters and digits, as in `Bearer%20twb_…` and `Bearer\ntwb_…`.
 */
const IN_TEXT =
  /(\\[nrt]|\\u[0-9A-Fa-f]{4}|%[0-9A-Fa-f]{2}|(?<![0-9A-Za-z]))([0-9A-Za-z]+)(?:_|%5[Ff])([0-9A-Za-z]{46}|[0-9A-Za-z]{4}(?:…|\.{3}|\\u2026)[0-9A-Za-z]{4})(?![0-9A-Za-z])/g;

/** The most keys of one text. */
const MAX_PASTED_KEYS = 20;

/**
 * The whole key values and the hints in any text, such as a line of a log or a header, each once, in the order of the text,
 * and at most 20. A truncated value is none.
 */
export async function findPastedKeys(text: string): Promise<PastedKey[]> {
  const found = new Map<string, PastedKey>();
  for (const [, encoded = '', word = '', rest = ''] of text.matchAll(IN_TEXT)) {
    if (found.size === MAX_PASTED_KEYS) break;
    if (rest.length === KEY_LENGTH) {
      const value = endingInValue(`${encoded}${word}`, rest);
      if (value !== undefined) found.set(value, { hint: keyHint(value), hash: await hashKey(value) });
    } else if (isKeyPrefix(word)) {
      const hint = `${word}_${rest.replace(/\.{3}|\\u2026/, '…')}`;
      found.set(hint, { hint, hash: null });
    }
  }
  return [...found.values()];
}

/**
 * The values in a text that look like keys of the deployment and are none: cut off, too long or mistyped. In a text with
 * other keys, a few characters after the prefix are rather a word, such as `twb_client`.
 */
export const brokenKeys = (text: string, prefix: string, hasOthers: boolean): string[] =>
  [...new Set(keyParts(text, prefix, hasOthers ? MIN_PART : HINT_LENGTH))].filter(
    (value) => !isWellFormedKey(value, prefix),
  );

/** What the hint of a key begins with. */
export const beginningOfHint = (value: string, prefix: string): string =>
  value.slice(0, prefix.length + 1 + HINT_LENGTH);

/** The key value at the end of a text before a `_` and the rest after it. The checksum tells where its prefix begins. */
function endingInValue(text: string, rest: string): string | undefined {
  for (let start = Math.max(0, text.length - MAX_PREFIX_LENGTH); start < text.length; start++) {
    const prefix = text.slice(start);
    if (isKeyPrefix(prefix) && isWellFormedKey(`${prefix}_${rest}`, prefix)) return `${prefix}_${rest}`;
  }
  return undefined;
}

/** CRC-32 (ISO 3309, as in zlib) of an ASCII text as 6 base62 digits, most significant first. */
function checksum(text: string): string {
  let crc = 0xffffffff;
  for (let i = 0; i < text.length; i++) {
    crc ^= text.charCodeAt(i);
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  let rest = (crc ^ 0xffffffff) >>> 0;
  let digits = '';
  for (let i = 0; i < CHECKSUM_LENGTH; i++) {
    digits = BASE62.charAt(rest % 62) + digits;
    rest = Math.floor(rest / 62);
  }
  return digits;
}

/** Why a request gets a 401: for the log and the administrators, never for the caller. */
export type UnauthorizedReason =
  | 'missing'
  | 'malformed'
  | 'blocked'
  | 'unknown'
  | 'revoked'
  | 'expired'
  | 'organization_inactive'
  | 'scope_missing'
  | 'address_not_allowed';

export function whyUnauthorized(
  key: Pick<FoundKey, 'revokedAt' | 'expiresAt' | 'organizationActive' | 'scopes' | 'allowedNetworks'>,
  { now, address, scope }: { now: number; address: string | null; scope?: Scope | undefined },
): UnauthorizedReason | undefined {
  if (key.revokedAt !== null) return 'revoked';
  if (key.expiresAt !== null && now >= key.expiresAt) return 'expired';
  if (!key.organizationActive) return 'organization_inactive';
  if (scope !== undefined && !key.scopes.includes(scope)) return 'scope_missing';
  if (!isAllowedFrom(key.allowedNetworks, address)) return 'address_not_allowed';
  return undefined;
}

/** The state of a key as administrators see it. An `expiring` key still works. */
export type KeyState = 'active' | 'expiring' | 'expired' | 'revoked';

/** How many days before its expiry a key counts as expiring, and needs attention. */
export const EXPIRING_DAYS = 14;

export function keyState({ revokedAt, expiresAt }: Pick<FoundKey, 'revokedAt' | 'expiresAt'>, now: number): KeyState {
  if (revokedAt !== null) return 'revoked';
  if (expiresAt === null) return 'active';
  if (now >= expiresAt) return 'expired';
  return expiresAt - now <= EXPIRING_DAYS * DAY_MS ? 'expiring' : 'active';
}

export function isLive(state: KeyState): boolean {
  return state === 'active' || state === 'expiring';
}

/** The authenticated caller: a key, and the organization it belongs to. */
export interface Principal {
  organizationId: string;
  timeZone: string;
  hasPsa: boolean;
  keyId: string;
  /** SHA-256 of the key value in hex: a write also matches it, so that a cached key can never stand for another one. */
  keyHash: string;
  /** The id of the first key of the rotation chain, whose limit all keys of the chain share. */
  chainId: string;
  keyName: string;
  scopes: readonly Scope[];
  /** Networks separated by spaces; empty for everywhere. A write requires that the list has not changed. */
  allowedNetworks: string;
  dayLimit: OwnDayLimit;
  /** UTC milliseconds at which the key expires, or null for never. */
  expiresAt: number | null;
}

/** A key as read from the database, not yet checked. */
export interface FoundKey extends Principal {
  /** UTC milliseconds, or null while the key is not revoked. */
  revokedAt: number | null;
  organizationActive: boolean;
}
