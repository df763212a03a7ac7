import { parseSecureUrl } from '../lib/loopback.ts';

// Signed messages as in Standard Webhooks 1.0 (https://www.standardwebhooks.com): HMAC-SHA256 of the id, the time and
// the body, with a secret that both sides know.

/** How far the time of a message may be from the clock, in seconds, before or after. */
export const TOLERANCE_SECONDS = 300;

const PREFIX = 'whsec_';
const MIN_SECRET_BYTES = 24;
const MAX_SECRET_BYTES = 64;
const MAX_SECRETS = 2;
/** No full stop, because one separates the id from the time in what is signed. */
const MESSAGE_ID = /^[\x21-\x2d\x2f-\x7e]{1,255}$/;
const HMAC = { name: 'HMAC', hash: 'SHA-256' } as const;

export type WebhookSecret = Uint8Array<ArrayBuffer>;

/**
 * Parses one secret, or two separated by white space while one replaces the other; none if the text is empty.
 * @throws RangeError naming the position of the secret and the rule, never its text
 */
export function parseWebhookSecrets(text: string): WebhookSecret[] {
  const values = text.split(/\s+/).filter((value) => value !== '');
  if (values.length > MAX_SECRETS)
    throw new RangeError(`it has ${values.length} secrets; write one, or two separated by a space`);
  return values.map((value, index) => {
    const bytes = value.startsWith(PREFIX) ? fromBase64(value.slice(PREFIX.length)) : undefined;
    if (bytes && bytes.length >= MIN_SECRET_BYTES && bytes.length <= MAX_SECRET_BYTES) return bytes;
    throw new RangeError(
      `secret ${index + 1} of ${values.length} is not ${PREFIX} followed by the base64 of ${MIN_SECRET_BYTES} to ${MAX_SECRET_BYTES} bytes; make one with: echo "${PREFIX}$(openssl rand -base64 32)"`,
    );
  });
}

/**
 * Parses the address that receives messages, or alerts as texts; undefined if the text is empty.
 * @throws RangeError as `parseSecureUrl`
 */
const addressParser = (whyNoPassword: string) => (text: string) =>
  text.trim() === '' ? undefined : parseSecureUrl(text, whyNoPassword).href;
export const parseWebhookUrl = addressParser('the signature is the credential');
export const parseAlertUrl = addressParser('it would not be sent');

interface WebhookHeaders {
  'webhook-id': string;
  'webhook-timestamp': string;
  /** One signature for each secret, separated by spaces. */
  'webhook-signature': string;
}

/** Signs a message with all of the secrets. `at` is its time in UTC milliseconds. */
export async function signWebhook(
  secrets: readonly WebhookSecret[],
  { id, at, body }: { id: string; at: number; body: string },
): Promise<WebhookHeaders> {
  const timestamp = String(Math.floor(at / 1000));
  const signed = signedBytes(id, timestamp, new TextEncoder().encode(body));
  const signatures = await Promise.all(
    secrets.map(async (secret) => `v1,${(await signatureOf(secret, signed)).toBase64()}`),
  );
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') };
}

export interface SignedMessage {
  id: string;
  /** When it was sent: UTC milliseconds of a whole second, as the sender's clock had it. */
  at: number;
}

export type WebhookFault = 'headers' | 'timestamp' | 'signature';

/** Reads id and time of a message whose signature is still to be checked, or why it cannot be valid. */
export function readMessage(
  headers: { [Name in keyof WebhookHeaders]?: string | undefined },
  now: number,
): SignedMessage | WebhookFault {
  const { 'webhook-id': id = '', 'webhook-timestamp': timestamp = '', 'webhook-signature': signature } = headers;
  if (!MESSAGE_ID.test(id) || !/^\d{1,12}$/.test(timestamp) || signature === undefined) return 'headers';
  const at = Number(timestamp) * 1000;
  if (Math.abs(at - now) > TOLERANCE_SECONDS * 1000) return 'timestamp';
  return readSignatures(signature).length === 0 ? 'signature' : { id, at };
}

/** More signatures in one header are not looked at: a sender has few secrets. */
const MAX_SIGNATURES = 8;
const SIGNATURE_BYTES = 32;

/** The signatures in a `webhook-signature` that may be right: those of version 1 and of the length of an HMAC-SHA256. */
function readSignatures(header: string): Uint8Array[] {
  return header
    .split(' ')
    .slice(0, MAX_SIGNATURES)
    .flatMap((item) => (item.startsWith('v1,') ? (fromBase64(item.slice('v1,'.length)) ?? []) : []))
    .filter(({ length }) => length === SIGNATURE_BYTES);
}

/**
 * Whether one of the signatures in a `webhook-signature` is that of one of the secrets. Computes one HMAC for each
 * secret. The comparison takes the same time wherever they differ.
 */
export async function isSigned(
  secrets: readonly WebhookSecret[],
  { id, at }: SignedMessage,
  body: Uint8Array,
  header: string,
): Promise<boolean> {
  const signed = signedBytes(id, String(at / 1000), body);
  const signatures = readSignatures(header);
  for (const secret of secrets) {
    const expected = await signatureOf(secret, signed);
    if (signatures.some((signature) => isEqual(signature, expected))) return true;
  }
  return false;
}

async function signatureOf(secret: WebhookSecret, signed: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  const key = await crypto.subtle.importKey('raw', secret, HMAC, false, ['sign']);
  return new Uint8Array(await crypto.subtle.sign('HMAC', key, signed));
}

/** Compares two signatures in a time that does not depend on where they differ. */
function isEqual(one: Uint8Array, other: Uint8Array): boolean {
  return one.reduce((difference, byte, index) => difference | (byte ^ (other[index] ?? 0)), 0) === 0;
}

function signedBytes(id: string, timestamp: string, body: Uint8Array): Uint8Array<ArrayBuffer> {
  const head = new TextEncoder().encode(`${id}.${timestamp}.`);
  const bytes = new Uint8Array(head.length + body.length);
  bytes.set(head);
  bytes.set(body, head.length);
  return bytes;
}

/** Base64 (RFC 4648 §4), with or without its padding, and never with more than that. */
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?$/;

function fromBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (!BASE64.test(text)) return undefined;
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}
