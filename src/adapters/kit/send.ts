import { parseRetryAfter } from '../../domain/post-outcome.ts';
import { type Psa, PsaFault, type PsaRequest, type Send } from './psa.ts';

/** The deadline of one request. A create that ran into it may still take place. */
export const REQUEST_DEADLINE_MS = 30_000;

/** Whether the PSA has done what a request without a clear response asked for. */
const UNCLEAR = { read: 'later', write: 'unknown' } as const;
/** What the PSA refuses for good. */
const REFUSED = { read: [404, 410], write: [400, 404, 409, 410, 413, 422] };

/** What the status of an error means. */
function outcomeOf(method: PsaRequest<unknown>['method'], status: number): PsaFault['outcome'] {
  const direction = method === 'GET' ? 'read' : 'write';
  // Redirects too are about the connection, and not about the record.
  if ([401, 403, 407].includes(status) || (status >= 300 && status < 400)) return 'denied';
  if (REFUSED[direction].includes(status)) return 'refused';
  // It has not done it, and says so.
  return status === 425 || status === 429 ? 'later' : UNCLEAR[direction];
}

/** A connection with the world; tests replace it. */
export interface World {
  now: () => number;
  sleep: (ms: number) => Promise<void>;
  fetch: (request: Request) => Promise<Response>;
}

/**
 * Sends one request after the other, with a pause that keeps to the PSA's limit. `onDate` gets by how much the PSA's clock
 * is ahead of ours.
 */
export function sender(
  psa: Pick<Psa, 'baseUrl' | 'headers' | 'prepare' | 'paceMs' | 'codesIn' | 'judge'>,
  { now, sleep, fetch }: World,
  onDate?: (skewMs: number) => void,
): Send {
  let free = Promise.resolve();
  const sendOnce: Send = async (request) => {
    const turn = free;
    free = turn.then(() => sleep(psa.paceMs));
    await turn;
    request.onSend?.();
    const what = `${request.method} ${request.path}`;
    const unclear = UNCLEAR[request.method === 'GET' ? 'read' : 'write'];
    const { response, body } = await answerTo(fetch, toRequest(psa, request)).catch((err: unknown) => {
      throw new PsaFault(unclear, `${what} got no response (${err instanceof Error ? err.name : 'unknown'})`);
    });
    const { ok, status, headers } = response;
    const date = Date.parse(headers.get('Date') ?? '');
    if (!Number.isNaN(date)) onDate?.(date - now());
    const parsed = ok ? request.response.safeParse(body) : undefined;
    if (parsed?.success) return parsed.data;
    // With another body, the PSA may have done it, but does not say what: only a look-up tells.
    const codes = ok ? [] : psa.codesIn(body).filter((code) => /^[\w.-]{1,60}$/.test(code));
    const details = ok ? ['with an unexpected body'] : codes;
    const outcome = (ok ? unclear : psa.judge?.(status, body)) ?? outcomeOf(request.method, status);
    const retryAfterMs = parseRetryAfter(headers.get('Retry-After'), now());
    throw new PsaFault(outcome, [`${what} got ${status}`, ...details].join(' ').slice(0, 300), {
      status,
      retryAfterMs,
      codes,
    });
  };
  const prepare = async (fault?: PsaFault) =>
    psa.prepare?.(sendOnce, fault).catch((err: unknown) => {
      // Its status says nothing about the record or the ticket of the request, which has done nothing.
      throw err instanceof PsaFault ? new PsaFault('denied', err.message, { retryAfterMs: err.retryAfterMs }) : err;
    });
  return async (request) => {
    await prepare();
    try {
      return await sendOnce(request);
    } catch (err) {
      if (!(err instanceof PsaFault) || !(await prepare(err))) throw err;
    }
    return sendOnce(request);
  };
}

function toRequest({ baseUrl, headers: common }: Pick<Psa, 'baseUrl' | 'headers'>, request: PsaRequest<unknown>) {
  const { method, path, query = {}, headers, body } = request;
  const url = new URL(baseUrl() + path);
  url.search = new URLSearchParams(query).toString();
  return new Request(url, {
    method,
    headers: { Accept: 'application/json', 'Content-Type': 'application/json', ...common(), ...headers },
    body: body === undefined ? null : typeof body === 'string' ? body : JSON.stringify(body),
    // A redirected POST may become a GET, and the key must not go to another address.
    redirect: 'manual',
    signal: AbortSignal.timeout(REQUEST_DEADLINE_MS),
  });
}

/** The body is null if it is empty, and undefined if it is not JSON, such as a page of a proxy. */
async function answerTo(fetch: World['fetch'], request: Request): Promise<{ response: Response; body: unknown }> {
  const response = await fetch(request);
  const text = await response.text();
  try {
    return { response, body: text === '' ? null : JSON.parse(text) };
  } catch {
    return { response, body: undefined };
  }
}
