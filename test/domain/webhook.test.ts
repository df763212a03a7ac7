import { Webhook } from 'standardwebhooks';
import { describe, expect, test, vi } from 'vitest';
import {
  isSigned,
  parseWebhookSecrets,
  readMessage,
  signWebhook,
  type WebhookSecret,
} from '../../src/domain/webhook.ts';

const SECRETS = [
  `whsec_${btoa('first secret of 32 bytes, really')}`,
  `whsec_${btoa('another one of 32 bytes, really!')}`,
] as const;
const BODY = '{"type":"work.changes","text":"Grüße 🖨️"}';
const [first, second] = SECRETS.map((secret) => parseWebhookSecrets(secret));
const bytes = new TextEncoder().encode(BODY);

/** Whether a message of the headers is accepted now. */
async function isAccepted(
  secrets: readonly WebhookSecret[] = [],
  headers: Record<'webhook-id' | 'webhook-timestamp' | 'webhook-signature', string>,
  body = bytes,
): Promise<boolean> {
  const message = readMessage(headers, Date.now());
  return typeof message === 'object' && isSigned(secrets, message, body, headers['webhook-signature']);
}

const published = (secret: string, { id = 'msg_1', at = new Date(), body = BODY } = {}) => ({
  'webhook-id': id,
  'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
  'webhook-signature': new Webhook(secret).sign(id, at, body),
});

describe('a signed message', () => {
  test('the published library accepts a message with each of its secrets, and with no other', async () => {
    const headers = {
      ...(await signWebhook(parseWebhookSecrets(SECRETS.join(' ')), { id: 'msg_1', at: Date.now(), body: BODY })),
    };
    for (const secret of SECRETS) expect(new Webhook(secret).verify(BODY, headers)).toEqual(JSON.parse(BODY));
    expect(() => new Webhook(`whsec_${btoa('a third one with 32 bytes, yes!!')}`).verify(BODY, headers)).toThrow(
      'No matching',
    );
  });

  test('a message from the published library is accepted with its secret, and with no other', async () => {
    const headers = published(SECRETS[0]);
    expect(await isAccepted(first, headers)).toBe(true);
    expect(await isAccepted(parseWebhookSecrets(`${SECRETS[1]} ${SECRETS[0]}`), headers)).toBe(true);
    expect(await isAccepted(second, headers)).toBe(false);
    expect(await isAccepted([], headers)).toBe(false);
  });

  test('a message is accepted if any of its signatures is right', async () => {
    const headers = published(SECRETS[0]);
    const others = `v1a,${btoa('an asymmetric signature')} v1,${btoa('of another secret')} v1,=== `;
    expect(await isAccepted(first, { ...headers, 'webhook-signature': others + headers['webhook-signature'] })).toBe(
      true,
    );
  });

  test('a message is refused if its id, time or body was changed', async () => {
    const headers = published(SECRETS[0]);
    expect(await isAccepted(first, { ...headers, 'webhook-id': 'msg_2' })).toBe(false);
    expect(
      await isAccepted(first, { ...headers, 'webhook-timestamp': String(Number(headers['webhook-timestamp']) + 1) }),
    ).toBe(false);
    expect(await isAccepted(first, headers, new TextEncoder().encode(`${BODY} `))).toBe(false);
    expect(await isAccepted(first, { ...headers, 'webhook-signature': '' })).toBe(false);
  });
});

describe('the headers of a message', () => {
  const now = 1_800_000_000_000;
  const headers = {
    'webhook-id': 'msg_1',
    'webhook-timestamp': '1800000000',
    'webhook-signature': `v1,${btoa('x'.repeat(32))}`,
  };

  test.each([-300, -299, 0, 299, 300])('headers from %i s before or after the clock are accepted', (seconds) => {
    const at = now + seconds * 1000;
    expect(readMessage({ ...headers, 'webhook-timestamp': String(at / 1000) }, now)).toEqual({ id: 'msg_1', at });
  });

  test.each([-301, 301, 1e6])('headers from %i s before or after the clock are refused', (seconds) => {
    expect(readMessage({ ...headers, 'webhook-timestamp': String(now / 1000 + seconds) }, now)).toBe('timestamp');
  });

  test.each([
    { 'webhook-id': undefined },
    { 'webhook-id': '' },
    { 'webhook-id': 'two words' },
    // What is signed has the id before a full stop.
    { 'webhook-id': 'msg.1' },
    { 'webhook-id': 'x'.repeat(256) },
    { 'webhook-timestamp': undefined },
    { 'webhook-timestamp': '1800000000.5' },
    { 'webhook-timestamp': '-1' },
    { 'webhook-timestamp': '1e9' },
    { 'webhook-signature': undefined },
  ])('the headers %j are refused', (wrong) => {
    expect(readMessage({ ...headers, ...wrong }, now)).toBe('headers');
  });
});

test.each([
  ['whsec_x', /^secret 1 of 1/],
  ['WHSEC_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz', /^secret 1 of 1/],
  [`whsec_${btoa('23 bytes are too few...')}`, /24 to 64 bytes/],
  [`whsec_${btoa('x'.repeat(65))}`, /24 to 64 bytes/],
  [`${SECRETS[0]} whsec_!!!!`, /^secret 2 of 2/],
  [`${SECRETS[0]}=`, /^secret 1 of 1/],
  [`whsec_${btoa('x'.repeat(32))}=====`, /^secret 1 of 1/],
])('the secret %s is refused, and the message does not repeat it', (text, message) => {
  expect(() => parseWebhookSecrets(text)).toThrow(message);
  expect(() => parseWebhookSecrets(text)).not.toThrow(text);
});

test('a message costs one HMAC per secret, however many signatures it contains', async () => {
  const headers = published(SECRETS[0]);
  const wrong = Array(8)
    .fill(`v1,${btoa('x'.repeat(32))}`)
    .join(' ');
  const sign = vi.spyOn(crypto.subtle, 'sign');
  const verify = vi.spyOn(crypto.subtle, 'verify');
  const both = parseWebhookSecrets(SECRETS.join(' '));
  expect(await isAccepted(both, { ...headers, 'webhook-signature': wrong })).toBe(false);
  expect([sign.mock.calls.length, verify.mock.calls.length]).toEqual([2, 0]);
  vi.restoreAllMocks();
});

test.each(['v1,', 'v1,AAAA', `v1,${btoa('x'.repeat(33))}`, 'v1a,AAAA', ''])(
  'a message without a signature of 32 bytes is refused before its body is read: %j',
  (signature) => {
    expect(readMessage({ ...published(SECRETS[0]), 'webhook-signature': signature }, Date.now())).toBe('signature');
  },
);
