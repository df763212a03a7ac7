import type { Context } from 'hono';
import {
  isSigned,
  readMessage,
  type SignedMessage,
  type WebhookFault,
  type WebhookSecret,
} from '../../domain/webhook.ts';
import type { AppEnv } from '../../http/hono-env.ts';
import { readBody } from '../../http/middleware/body.ts';
import { Problem, unauthorized } from '../../http/problems.ts';

const MAX_MESSAGE_BYTES = 1024 * 1024;

/** The scheme in the 401: Standard Webhooks has no registered one. */
const CHALLENGE = 'StandardWebhooks';

const BODY_ERRORS = {
  tooLarge: () =>
    new Problem(
      'body_too_large',
      `The body is larger than ${MAX_MESSAGE_BYTES} bytes (1 MiB); send fewer records in each message.`,
    ),
  broken: (why: string) => new Problem('malformed_json', `The body ${why}; send the complete message again.`),
};

/**
 * Reads a message of the last five minutes that one of the secrets signed, or returns why it is refused. If the headers
 * show that it cannot be valid, its body is not read.
 */
export async function readSigned(
  c: Context<AppEnv>,
  secrets: readonly WebhookSecret[],
): Promise<SignedMessage | WebhookFault> {
  const message = readMessage(c.req.header(), c.get('now')());
  if (typeof message === 'string') return message;
  await readBody(c, MAX_MESSAGE_BYTES, BODY_ERRORS);
  const body = new Uint8Array(await c.req.arrayBuffer());
  const signature = c.req.header('webhook-signature') ?? '';
  return (await isSigned(secrets, message, body, signature)) ? message : 'signature';
}

/** The same 401 for every fault; the log shows the reason. It has the time, because a sender with a wrong clock needs it. */
export function refuse(c: Context<AppEnv>, fault: WebhookFault): Response {
  c.get('requestStats').messageFault = fault;
  const response = unauthorized(CHALLENGE);
  response.headers.set('Date', new Date(c.get('now')()).toUTCString());
  return response;
}
