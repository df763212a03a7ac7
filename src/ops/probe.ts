import { signWebhook, TOLERANCE_SECONDS, type WebhookSecret } from '../domain/webhook.ts';

/** `says` is one or two sentences; for a failure, what it means and what to do. */
export interface Finding {
  ok: boolean;
  answered: boolean;
  check: string;
  says: string;
  /** The request id of the response, to find it in the log. */
  requestId?: string | undefined;
}

const TIMEOUT_MS = 10_000;

export interface ProbeResponse {
  status: number;
  headers: Headers;
  body: string;
  ms: number;
}

export class NoResponse extends Error {
  override name = 'NoResponse';
}

export class Failure extends Error {
  override name = 'Failure';
}

/** Runs a check; if there is no response, it fails. */
export async function check(name: string, run: () => Promise<string>): Promise<Finding> {
  try {
    return { ok: true, answered: true, check: name, says: await run() };
  } catch (err) {
    if (!(err instanceof Failure || err instanceof NoResponse)) throw err;
    return { ok: false, answered: err instanceof Failure, check: name, says: err.message };
  }
}

export type Prober = ReturnType<typeof proberOf>;

/** Sends requests to an origin. A finding has the id of the last response, to find it in the log. */
export function proberOf(origin: string, send: typeof fetch) {
  let requestId: string | undefined;
  return {
    ask: async (path: string, init: RequestInit = {}): Promise<ProbeResponse> => {
      const given = await sendProbe(send, origin + path, init);
      requestId = given.headers.get('x-request-id') ?? undefined;
      return given;
    },
    check: async (...args: Parameters<typeof check>): Promise<Finding> => {
      requestId = undefined;
      const finding = await check(...args);
      return { ...finding, requestId };
    },
  };
}

export async function sendProbe(
  send: typeof fetch,
  url: string,
  init: RequestInit,
  timeoutMs = TIMEOUT_MS,
): Promise<ProbeResponse> {
  const sentAt = performance.now();
  try {
    const response = await send(url, { ...init, redirect: 'manual', signal: AbortSignal.timeout(timeoutMs) });
    const body = await response.text();
    return { status: response.status, headers: response.headers, body, ms: Math.round(performance.now() - sentAt) };
  } catch (err) {
    throw new NoResponse(whyNoResponse(err, new URL(url), timeoutMs));
  }
}

/** Why a request failed. Node gives the reason in the code of an error's cause. */
function whyNoResponse(err: unknown, { host }: URL, timeoutMs: number): string {
  if (err instanceof Error && err.name === 'TimeoutError')
    return `${host} did not respond within ${timeoutMs / 1000} s.`;
  const code = codeOf(err);
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN')
    return `${host} has no address (${code}). Check the name, and the route or custom domain.`;
  if (code === 'ECONNREFUSED') return `no server listens at ${host}. Check the port, or start the server.`;
  if (/CERT|SIGNATURE|ERR_TLS|SSL|EPROTO/.test(code)) {
    return `the TLS connection to ${host} failed (${code}). The certificate is missing, expired or for a different name.`;
  }
  return `the request to ${host} failed (${code}).`;
}

function codeOf(err: unknown): string {
  for (let at = err; at instanceof Error; at = at.cause) {
    if ('code' in at && typeof at.code === 'string') return at.code;
    if (at.cause === undefined) return at.message;
  }
  return String(err);
}

export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (err) {
    if (!(err instanceof SyntaxError)) throw err;
    return undefined;
  }
}

/** Clearly outside the tolerance of receivers. */
export const OLD_MS = 2 * TOLERANCE_SECONDS * 1000;

interface Message {
  secrets: readonly WebhookSecret[];
  at: number;
  body: string;
  /** The `webhook-id`. Default: a new one. */
  id?: string;
  timeoutMs?: number;
}

export async function postSigned(
  send: typeof fetch,
  url: string,
  { secrets, at, body, id = `msg_doctor_${crypto.randomUUID()}`, timeoutMs }: Message,
): Promise<ProbeResponse> {
  const signature = await signWebhook(secrets, { id, at, body });
  return sendProbe(
    send,
    url,
    { method: 'POST', headers: { 'Content-Type': 'application/json', ...signature }, body },
    timeoutMs,
  );
}
