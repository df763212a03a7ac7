import type { Context, MiddlewareHandler } from 'hono';
import {
  isSigned,
  readMessage,
  type SignedMessage,
  type WebhookFault,
  type WebhookSecret,
} from '../../domain/webhook.ts';
import type { AppEnv, RequestVariables } from '../../http/hono-env.ts';
import { readBody } from '../../http/middleware/read-body.ts';
import { Problem, unauthorized } from '../../http/problems.ts';

const MAX_MESSAGE_BYTES = 1024 * 1024;

export interface PsaEnv {
  Bindings: Env;
  Variables: RequestVariables & { message: SignedMessage };
}

/** The scheme in the 401: Standard Webhooks has no registered one. */
const CHALLENGE = 'StandardWebhooks';

/** Others than signed messages of the last five minutes get the same 401; the log shows the reason. */
export const requireSignature = (secrets: readonly WebhookSecret[]) =>
  [requireHeaders(), readWhole(), verifySignature(secrets)] as const;

/** Refuses what cannot be valid before its body is read. */
function requireHeaders(): MiddlewareHandler<PsaEnv> {
  return async function requireHeaders(c, next) {
    const message = readMessage(c.req.header(), c.get('now')());
    if (typeof message === 'string') return refuse(c, message);
    c.set('message', message);
    return next();
  };
}

function readWhole(): MiddlewareHandler<AppEnv> {
  const read = readBody(MAX_MESSAGE_BYTES, {
    tooLarge: () =>
      new Problem(
        'body_too_large',
        `The body is larger than ${MAX_MESSAGE_BYTES} bytes (1 MiB); send fewer records in each message.`,
      ),
    broken: (why) => new Problem('malformed_json', `The body ${why}; send the complete message again.`),
  });
  return async function readWhole(c, next) {
    await read(c);
    await next();
  };
}

function verifySignature(secrets: readonly WebhookSecret[]): MiddlewareHandler<PsaEnv> {
  return async function verifySignature(c, next) {
    const body = new Uint8Array(await c.req.arrayBuffer());
    const signature = c.req.header('webhook-signature') ?? '';
    if (await isSigned(secrets, c.get('message'), body, signature)) return next();
    return refuse(c, 'signature');
  };
}

/** The 401. Every one has the time, because a sender whose clock is wrong cannot find out otherwise. */
function refuse(c: Context<PsaEnv>, fault: WebhookFault): Response {
  c.get('requestStats').messageFault = fault;
  const response = unauthorized(CHALLENGE);
  response.headers.set('Date', new Date(c.get('now')()).toUTCString());
  return response;
}
