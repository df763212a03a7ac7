// What the checks of the doctor are made of: a request, and its result in words.

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

/** Keeps the last response of a check, so that its finding names the request. */
export class Notes {
  requestId: string | undefined;
  of(given: ProbeResponse): ProbeResponse {
    this.requestId = given.headers.get('x-request-id') ?? undefined;
    return given;
  }
}

/** There was no response; the message says why. */
export class NoResponse extends Error {
  override name = 'NoResponse';
}

/** A check failed; the message is shown. */
export class Failure extends Error {
  override name = 'Failure';
}

/** Runs a check; if there is no response, it fails. */
export async function check(name: string, run: (notes: Notes) => Promise<string>): Promise<Finding> {
  const notes = new Notes();
  try {
    return { ok: true, answered: true, check: name, says: await run(notes), requestId: notes.requestId };
  } catch (err) {
    if (!(err instanceof Failure || err instanceof NoResponse)) throw err;
    return {
      ok: false,
      answered: err instanceof Failure,
      check: name,
      says: err.message,
      requestId: notes.requestId,
    };
  }
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
