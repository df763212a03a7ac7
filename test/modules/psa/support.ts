import { Webhook } from 'standardwebhooks';
import type { CallResult } from '../../../src/services/call-result.ts';
import { rememberText } from '../../support/secrets.ts';
import { makeApi } from '../../support/world.ts';

/** The secret of the PSA in tests. */
export const PSA_SECRET = `whsec_${btoa('the secret of the PSA in tests.')}`;

export interface MessageOptions {
  secret?: string;
  id?: string;
  /** UTC milliseconds. */
  at?: number;
  headers?: Record<string, string>;
}

/** A message as the published library signs it. */
export function signed(body: string, { secret = PSA_SECRET, id, at = Date.now(), headers }: MessageOptions = {}) {
  const messageId = id ?? `msg_${crypto.randomUUID()}`;
  return {
    method: 'POST',
    body,
    headers: {
      'Content-Type': 'application/json',
      'webhook-id': messageId,
      'webhook-timestamp': String(Math.floor(at / 1000)),
      'webhook-signature': new Webhook(secret).sign(messageId, new Date(at), body),
      ...headers,
    },
  };
}

/** No log may contain the names, addresses and texts of a message: what has more than one word. */
function rememberWords(_: string, value: unknown): unknown {
  if (typeof value === 'string' && /[\s@]/.test(value)) rememberText(value);
  return value;
}

/** An app with a secret for the PSA, and a function that sends it signed messages. */
export function makePsa(options: Parameters<typeof makeApi>[0] = {}) {
  const api = makeApi({ ...options, vars: { PSA_SECRET, ...options.vars } });
  /** Sends a message, or a body that is none. */
  function post(message: object | string, how: MessageOptions = {}): Promise<Response> {
    const body = typeof message === 'string' ? message : JSON.stringify(message, rememberWords);
    const request = signed(body, how);
    // As bytes, because the log may have the call and the organization of a message.
    return api.send('/psa', { ...request, body: new TextEncoder().encode(body) });
  }
  /** Sends a message and returns the status and the result. */
  async function call<T = unknown>(
    type: string,
    data: unknown,
    how?: MessageOptions,
  ): Promise<[number, CallResult<T>]> {
    const response = await post({ type, data }, how);
    return [response.status, await response.json<CallResult<T>>()];
  }
  return { api, post, call };
}
