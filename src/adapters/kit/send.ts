import { type Psa, PsaFault, type PsaRequest, type Send } from './psa.ts';

/** The deadline of one request. A create that ran into it may still take place. */
export const REQUEST_DEADLINE_MS = 30_000;

/** What the PSA refuses for good. 401, 403, 407 and redirects are about the connection. */
const REFUSED = { read: [404, 410], write: [400, 404, 409, 410, 413, 422] };
const isDenied = (status: number) => [401, 403, 407].includes(status) || (status >= 300 && status < 400);
/** The PSA has not done what it was asked for, and says so. */
const isLater = (status: number) => status === 425 || status === 429;

/** A connection with the world; tests replace it. */
export interface World {
  now: () => number;
  sleep: (ms: number) => Promise<void>;
  fetch: (request: Request) => Promise<Response>;
}

export interface Sender {
  send: Send;
  /** By how much the PSA's clock is ahead of ours, as its latest response shows; undefined before the first one. */
  skewMs: () => number | undefined;
}

/** Sends one request after the other, with a pause that keeps to the PSA's limit. */
export function sender(psa: Pick<Psa, 'baseUrl' | 'headers' | 'paceMs' | 'codesIn'>, world: World): Sender {
  let free = Promise.resolve();
  let skewMs: number | undefined;

  async function send<Result>(request: PsaRequest<Result>): Promise<Result> {
    const turn = free;
    free = turn.then(() => world.sleep(psa.paceMs));
    await turn;
    const what = `${request.method} ${request.path}`;
    // Whether the PSA has done what a request without a clear response asked for.
    const [unclear, refused] =
      request.method === 'GET' ? (['later', REFUSED.read] as const) : (['unknown', REFUSED.write] as const);
    let response: Response;
    let text: string;
    try {
      response = await world.fetch(toRequest(psa, request));
      text = await response.text();
    } catch (err) {
      throw new PsaFault(unclear, `${what} got no response (${err instanceof Error ? err.name : 'unknown'})`);
    }
    const { status, headers } = response;
    const date = Date.parse(headers.get('Date') ?? '');
    if (!Number.isNaN(date)) skewMs = date - world.now();
    const body = readJson(text);
    if (!response.ok) {
      const codes = psa.codesIn(body).filter((code) => /^[\w.-]{1,60}$/.test(code));
      const message = [`${what} got ${status}`, ...codes].join(' ').slice(0, 300);
      const outcome = isDenied(status)
        ? 'denied'
        : isLater(status)
          ? 'later'
          : refused.includes(status)
            ? 'refused'
            : unclear;
      throw new PsaFault(outcome, message, { status, retryAfterMs: retryAfterMs(headers, world.now()) });
    }
    const parsed = request.response.safeParse(body);
    // The PSA may have done it, but does not say what: only a look-up tells.
    if (!parsed.success) throw new PsaFault(unclear, `${what} got ${status} with an unexpected body`, { status });
    return parsed.data;
  }
  return { send, skewMs: () => skewMs };
}

function toRequest(psa: Pick<Psa, 'baseUrl' | 'headers'>, request: PsaRequest<unknown>): Request {
  const { method, path, query = {}, headers, body } = request;
  const url = new URL(psa.baseUrl + path);
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  return new Request(url, {
    method,
    headers: { ...psa.headers(), Accept: 'application/json', 'Content-Type': 'application/json', ...headers },
    body: body === undefined ? null : JSON.stringify(body),
    // A redirected POST may become a GET, and the key must not go to another address.
    redirect: 'manual',
    signal: AbortSignal.timeout(REQUEST_DEADLINE_MS),
  });
}

/** Undefined if it is not JSON, such as a page of a proxy. An empty body is null. */
function readJson(text: string): unknown {
  try {
    return text === '' ? null : JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Seconds or a date (RFC 9110 §10.2.3). */
function retryAfterMs(headers: Headers, now: number): number {
  const value = headers.get('Retry-After') ?? '';
  const ms = /^\d+$/.test(value) ? 1_000 * Number(value) : Date.parse(value) - now;
  return ms > 0 ? ms : 0;
}
