import { sha256, toHex } from '../lib/bytes.ts';
import type { Scope } from './scopes.ts';

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const RANDOM_LENGTH = 40;
const CHECKSUM_LENGTH = 6;
/** Characters of a key value behind the prefix and its underscore. */
export const KEY_LENGTH = RANDOM_LENGTH + CHECKSUM_LENGTH;
/** 248 = 4 × 62: bytes above it are thrown away, or the first eight characters of the alphabet would come up more often. */
const UNBIASED_BYTES = 248;

/** A new key value: `<prefix>_`, 40 random base62 characters (238 bits), 6 of checksum. */
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

/** Whether the value has this deployment's prefix, the right length and alphabet, and a checksum that fits: most typos end here, without a look-up. */
export function isWellFormedKey(value: string, prefix: string): boolean {
  const length = prefix.length + 1 + KEY_LENGTH;
  if (value.length !== length || !value.startsWith(`${prefix}_`)) return false;
  if (!/^[0-9A-Za-z]+$/.test(value.slice(prefix.length + 1))) return false;
  return checksum(value.slice(0, -CHECKSUM_LENGTH)) === value.slice(-CHECKSUM_LENGTH);
}

/** SHA-256 of the whole key value as 64 hex digits: all that is ever stored of it, besides the hint. */
export async function hashKey(value: string): Promise<string> {
  return toHex(await sha256(value));
}

/** What an administrator recognises a key by: prefix, first 4 and last 4 of the random part, `twb_Ab12…x9Yz`. */
export function keyHint(value: string): string {
  const random = value.slice(-(RANDOM_LENGTH + CHECKSUM_LENGTH), -CHECKSUM_LENGTH);
  return `${value.slice(0, -(RANDOM_LENGTH + CHECKSUM_LENGTH))}${random.slice(0, 4)}…${random.slice(-4)}`;
}

/** What stands before a key, and behind it, where people copy one from: a header of a request, a line of code or of JSON. */
const BEFORE_KEY = /^["']?(?:Authorization["']?\s*:\s*["']?)?(?:Bearer\s+)?["']?/i;
const BEHIND_KEY = /["']?[,;]?$/;

/**
 * What a pasted text names a key by: its whole value or its hint, with or without `Authorization:`, `Bearer`, quotes around and a comma or
 * semicolon behind. Undefined for neither, such as a value with a piece missing.
 */
export function parseKeyReference(pasted: string): { value: string } | { hint: string } | undefined {
  const text = pasted.trim().replace(BEFORE_KEY, '').replace(BEHIND_KEY, '').replace('...', '…');
  if (isWellFormedKey(text, text.slice(0, text.indexOf('_')))) return { value: text };
  return /^[a-z][a-z0-9]+_[0-9A-Za-z]{4}…[0-9A-Za-z]{4}$/.test(text) ? { hint: text } : undefined;
}

/** After this deployment's prefix, so many characters may be a part of a key value that must not be shown. */
const MIN_OWN_PART = 12;
/** After this deployment's prefix, so many characters are most of a key value: one more than the UUID that people put after a prefix. */
const MIN_OWN_KEY = 33;
/** A key value of any deployment, whole or without its checksum. */
const ANY_KEY = /(?<=[a-z0-9]_)[0-9A-Za-z]{40,}/g;
/** Where a key value without its prefix may be. */
const LONG_RUN = /[0-9A-Za-z]{46,}/g;
/** RFC 7617, in base64 or base64url. */
const BASIC_CREDENTIAL = /\b(Basic\s+)([\w+/-]{16,})=*/gi;
const REMOVED = '[removed]';

/**
 * A text from outside without what looks like a key value: of this deployment also a part of one or one without its prefix, of others the
 * prefix and at least the random part. Also if it is percent-encoded or in a Basic credential. Hints stay. Takes time: bound long texts.
 */
export function withoutKeys(text: string, prefix: string): string {
  const withoutBasic = text.replace(BASIC_CREDENTIAL, (whole: string, scheme: string, credential: string) => {
    const decoded = fromBase64(credential);
    return withoutPlainKeys(decoded, prefix) === decoded ? whole : scheme + REMOVED;
  });
  const plain = withoutPlainKeys(withoutBasic, prefix);
  if (!plain.includes('%')) return plain;
  const decoded = percentDecoded(plain);
  const cleaned = withoutPlainKeys(decoded, prefix);
  // Only a text with an encoded key is returned decoded.
  return cleaned === decoded ? plain : cleaned;
}

function withoutPlainKeys(text: string, prefix: string): string {
  // No ordinary text should wait for the pattern to be compiled.
  const withoutOwn = text.includes(`${prefix}_`)
    ? text.replaceAll(new RegExp(`(?<=${prefix}_)[0-9A-Za-z]{${MIN_OWN_PART},}`, 'g'), REMOVED)
    : text;
  if (!hasBase62Run(withoutOwn, RANDOM_LENGTH)) return withoutOwn;
  return withoutOwn.replaceAll(ANY_KEY, REMOVED).replaceAll(LONG_RUN, (run) => {
    if (fitsPrefix(run.slice(0, KEY_LENGTH), prefix)) return REMOVED + run.slice(KEY_LENGTH);
    return fitsPrefix(run.slice(-KEY_LENGTH), prefix) ? run.slice(0, -KEY_LENGTH) + REMOVED : run;
  });
}

/**
 * Whether a key value is in the text, percent-encoded or not: of this deployment also without its prefix, or most of one; of any other
 * a whole one. The checksum tells it from the ids that other services give, such as `resp_` with 48 hex digits.
 */
export function holdsKey(text: string, prefix: string): boolean {
  if (text.length < MIN_OWN_KEY) return false;
  return holdsPlainKey(text, prefix) || (text.includes('%') && holdsPlainKey(percentDecoded(text), prefix));
}

function holdsPlainKey(text: string, prefix: string): boolean {
  if (text.includes(`${prefix}_`) && new RegExp(`${prefix}_[0-9A-Za-z]{${MIN_OWN_KEY}}`).test(text)) return true;
  if (!hasBase62Run(text, KEY_LENGTH)) return false;
  for (const { 0: run, index } of text.matchAll(LONG_RUN)) {
    const start = run.slice(0, KEY_LENGTH);
    if (fitsPrefix(start, prefix) || fitsPrefix(run.slice(-KEY_LENGTH), prefix)) return true;
    // The text may go on before a prefix, so that each end of the word before the underscore could be one.
    const [word = ''] = /[a-z0-9]{2,16}(?=_$)/.exec(text.slice(Math.max(0, index - 17), index)) ?? [];
    for (let from = 0; from <= word.length - 2; from++) if (fitsPrefix(start, word.slice(from))) return true;
  }
  return false;
}

/** Whether these characters after the prefix are a key value, checksum included. */
const fitsPrefix = (characters: string, prefix: string) => isWellFormedKey(`${prefix}_${characters}`, prefix);

/** The text with the characters decoded that a key value consists of. Others stay encoded, so that no control character comes out. */
function percentDecoded(text: string): string {
  return text.replaceAll(/%([3-7][0-9A-Fa-f])/g, (encoded, hex: string) => {
    const character = String.fromCharCode(Number.parseInt(hex, 16));
    return /\w/.test(character) ? character : encoded;
  });
}

/**
 * Whether so many letters and digits are in a row. Nearly every text has none, and that is told by a look at every `length`-th character
 * and a few before it; a regular expression takes a hundred times as long.
 */
function hasBase62Run(text: string, length: number): boolean {
  for (let last = length - 1; last < text.length; ) {
    let first = last;
    while (last - first < length && isBase62(text.charCodeAt(first))) first -= 1;
    if (last - first === length) return true;
    last = first + length;
  }
  return false;
}

const isBase62 = (code: number) =>
  (code >= 0x30 && code <= 0x39) || (code >= 0x41 && code <= 0x5a) || (code >= 0x61 && code <= 0x7a);

/** Base64 or base64url without padding, decoded; characters at the end that do not make whole bytes are left out. */
function fromBase64(text: string): string {
  return atob(
    text
      .slice(0, text.length - (text.length % 4))
      .replaceAll('-', '+')
      .replaceAll('_', '/'),
  );
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

/** What the database knows of a key that matters for whether it may be used. */
export interface KeyStanding {
  /** UTC milliseconds, or null while the key is not revoked. */
  revokedAt: number | null;
  /** UTC milliseconds from which on the key is dead, or null for never. */
  expiresAt: number | null;
  scopes: readonly Scope[];
  organizationActive: boolean;
}

/** Why a request is answered 401: for the log and the administrator, never for the caller. `blocked` is the operator's doing. */
export type UnauthorizedReason =
  | 'missing'
  | 'malformed'
  | 'blocked'
  | 'unknown'
  | 'revoked'
  | 'expired'
  | 'organization_inactive'
  | 'scope_missing';

/**
 * The first reason why the key may not be used at `now` (UTC milliseconds), or undefined when it may.
 * Revocation is never compared with a clock: a key that has been revoked is dead on every machine at once.
 */
export function whyUnauthorized(key: KeyStanding, now: number, scope?: Scope): UnauthorizedReason | undefined {
  if (key.revokedAt !== null) return 'revoked';
  if (key.expiresAt !== null && now >= key.expiresAt) return 'expired';
  if (!key.organizationActive) return 'organization_inactive';
  if (scope !== undefined && !key.scopes.includes(scope)) return 'scope_missing';
  return undefined;
}

/** What an administrator is told of a key: `expiring` is still answered, but not for long. */
export type KeyState = 'active' | 'expiring' | 'expired' | 'revoked';

/** How long before its end a key counts as expiring. */
export const EXPIRING_MS = 30 * 24 * 3_600_000;

/** The state of a key at `now` (UTC milliseconds). */
export function keyState(
  { revokedAt, expiresAt }: Pick<KeyStanding, 'revokedAt' | 'expiresAt'>,
  now: number,
): KeyState {
  if (revokedAt !== null) return 'revoked';
  if (expiresAt === null) return 'active';
  if (now >= expiresAt) return 'expired';
  return expiresAt - now <= EXPIRING_MS ? 'expiring' : 'active';
}

/** Whether a key in this state is answered. */
export function isLive(state: KeyState): boolean {
  return state === 'active' || state === 'expiring';
}
