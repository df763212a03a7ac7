// The client of the Ticket Write-Back API: see README.md.
import { type components, MAX_TEXT_LENGTH, PATHS } from './contract.ts';

type Schemas = components['schemas'];
type Problem = Schemas['Problem'];
export type Ping = Schemas['Ping'];
export type NoteRequest = Schemas['NoteRequest'];
export type NoteResult = Schemas['NoteResult'];
export type TimeEntryRequest = Schemas['TimeEntryRequest'];
export type TimeEntryResult = Schemas['TimeEntryResult'];
export type DryRunResult = Schemas['DryRunResult'];

/** The codes of the service (see /docs/errors), and three causes without one. */
export type ErrorCode =
  | NonNullable<Problem['code']>
  /** 401: the key is missing, wrong, or not valid for this request. */
  | 'unauthorized'
  /** No response arrived, or it could not be read. The record may exist. */
  | 'no_response'
  /** The response is not from the service, such as an error page of a proxy. */
  | 'unexpected_response';

const USER_AGENT = 'ticket-write-back-client/1.0.0';
const MAX_BACKOFF_SECONDS = 30;
/** Visible ASCII. */
const VISIBLE = /^[\x21-\x7e]+$/;

export interface Settings {
  /** The address of the service, such as `https://tickets.example`, or of a gateway with the path before `/api/v1`. */
  url: string;
  /** The API key. Read it from an environment variable or a secret store. */
  key: string;
  /** The name of the automation. An Idempotency-Key is `<workflow>:<event id>`. */
  workflow: string;
  /** Attempts for each call. Default: 10. */
  attempts?: number;
  /**
   * The longest wait before an attempt, in seconds. If the service asks for more, the call fails. Default: 120. Request
   * limits ask for less, daily limits often for hours.
   */
  maxWaitSeconds?: number;
  /** The time for one attempt, in milliseconds. Default: 30,000. */
  timeoutMs?: number;
  /** Sends the requests, for example through a proxy. Default: the global `fetch`. */
  fetch?: typeof globalThis.fetch;
}

export interface CallOptions {
  /** Ends the call, which then throws the signal's reason. The record may exist: repeat the call with its event id. */
  signal?: AbortSignal | undefined;
}

/** The ticket and the event that a call writes for. */
export interface Target extends CallOptions {
  ticketId: string;
  /** The id of the event that the automation works on: the same for each retry, a new one for each event. */
  eventId: string;
  /** Return the existing record, with `idempotencyMismatch`, if a different request used the event id before. */
  acceptMismatch?: boolean | undefined;
}

export interface TimeEntryTarget extends Target {
  /** Credit the automation service account if the technician in `userEmail` is not eligible. */
  orServiceAccount?: boolean;
}

interface Details {
  status?: number | undefined;
  requestId?: string | undefined;
  retryAfterSeconds?: number | undefined;
  fields?: NonNullable<Problem['errors']> | undefined;
  cause?: unknown;
}

/** Why a call failed. `message` contains the cause and the remedy. */
export class WriteBackError extends Error {
  override readonly name = 'WriteBackError';
  readonly code: ErrorCode;
  /** The HTTP status; undefined if there was no response. */
  readonly status: number | undefined;
  /** The id of the request. Include it when you ask for help. */
  readonly requestId: string | undefined;
  /** The wait that the service asked for. */
  readonly retryAfterSeconds: number | undefined;
  /** The invalid fields, after `validation_failed`. */
  readonly fields: NonNullable<Problem['errors']>;

  constructor(code: ErrorCode, message: string, details: Details = {}) {
    super(message, { cause: details.cause });
    this.code = code;
    this.status = details.status;
    this.requestId = details.requestId;
    this.retryAfterSeconds = details.retryAfterSeconds;
    this.fields = details.fields ?? [];
  }

  /** Whether the same call may succeed later. With the same event id it never writes twice. */
  get isTransient(): boolean {
    return this.code === 'no_response' || this.status === 429 || (this.status ?? 0) >= 500;
  }
}

/** Cuts a text to the longest that the service accepts, without splitting a character as `text.slice` could. */
export function limitText(text: string): string {
  return Array.from(text).slice(0, MAX_TEXT_LENGTH).join('');
}

/**
 * Writes notes and time entries to tickets, each event once. Calls retry after 429, 5xx and lost connections, with the
 * same Idempotency-Key, and never before the time in `Retry-After`.
 */
export class WriteBackClient {
  /** Without `/` at the end. */
  readonly #base: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #workflow: string;
  readonly #attempts: number;
  readonly #maxWaitSeconds: number;
  readonly #timeoutMs: number;
  readonly #fetch: typeof globalThis.fetch;

  /** @throws Error in a browser, if the address is not HTTPS, and if the key cannot be one */
  constructor({ url, key, workflow, attempts = 10, maxWaitSeconds = 120, timeoutMs = 30_000, fetch }: Settings) {
    if ('document' in globalThis)
      throw new Error('An API key does not belong in a browser, where every visitor can read it. Call from a server.');
    const { protocol, hostname, origin, pathname } = new URL(url);
    if (protocol !== 'https:' && !/^(localhost|127\.0\.0\.1|\[::1\])$/.test(hostname))
      throw new Error(`The address ${origin} is not HTTPS, so others on the network could read the API key.`);
    // The error that a header causes would contain the key.
    if (!VISIBLE.test(key.trim()))
      throw new Error('The API key is empty or contains a character that no key contains.');
    this.#base = origin + pathname.replace(/\/+$/, '');
    this.#headers = { Authorization: `Bearer ${key.trim()}`, 'User-Agent': USER_AGENT };
    this.#workflow = workflow;
    this.#attempts = attempts;
    this.#maxWaitSeconds = maxWaitSeconds;
    this.#timeoutMs = timeoutMs;
    this.#fetch = fetch ?? globalThis.fetch;
  }

  /** Checks the key, and returns its organization, name and scopes. @throws WriteBackError */
  ping({ signal }: CallOptions = {}): Promise<Ping> {
    return this.#call(PATHS.ping, { headers: this.#headers }, signal);
  }

  /** Adds an internal note. @throws WriteBackError */
  addInternalNote({ ticketId, eventId, acceptMismatch, signal, ...note }: Target & NoteRequest): Promise<NoteResult> {
    return this.#write(PATHS.createNote, { ticketId, eventId, acceptMismatch, signal }, note);
  }

  /** Logs time. @throws WriteBackError */
  async logTime({
    ticketId,
    eventId,
    acceptMismatch,
    signal,
    orServiceAccount,
    userEmail,
    ...entry
  }: TimeEntryTarget & TimeEntryRequest): Promise<TimeEntryResult> {
    const write = (body: TimeEntryRequest) =>
      this.#write<TimeEntryResult>(PATHS.createTimeEntry, { ticketId, eventId, acceptMismatch, signal }, body);
    if (userEmail === undefined) return write(entry);
    return write({ ...entry, userEmail }).catch((err: unknown) => {
      // After a mismatch as well: the technician may not have been eligible when the entry was written.
      const codes: unknown[] = ['technician_not_eligible', 'idempotency_mismatch'];
      if (!orServiceAccount || !(err instanceof WriteBackError) || !codes.includes(err.code)) throw err;
      return write(entry);
    });
  }

  /** What `addInternalNote` would get. Nothing is written, and the event id stays unused. @throws WriteBackError */
  dryRunNote({ ticketId, eventId, acceptMismatch, signal, ...note }: Target & NoteRequest): Promise<DryRunResult> {
    return this.#write(PATHS.dryRunNote, { ticketId, eventId, acceptMismatch, signal }, note);
  }

  /** What `logTime` would get, without `orServiceAccount`. @throws WriteBackError */
  dryRunTime({
    ticketId,
    eventId,
    acceptMismatch,
    signal,
    ...entry
  }: Target & TimeEntryRequest): Promise<DryRunResult> {
    return this.#write(PATHS.dryRunTimeEntry, { ticketId, eventId, acceptMismatch, signal }, entry);
  }

  async #write<Result>(path: string, target: Target, body: object): Promise<Result> {
    const { ticketId, eventId, acceptMismatch, signal } = target;
    const idempotencyKey = `${this.#workflow}:${eventId}`;
    if (!VISIBLE.test(idempotencyKey))
      throw new WriteBackError(
        'invalid_idempotency_key',
        `${idempotencyKey} is not 1 to 255 visible ASCII characters.`,
      );
    const headers = {
      ...this.#headers,
      'Content-Type': 'application/json',
      'Idempotency-Key': idempotencyKey,
      ...(!acceptMismatch && { Prefer: 'handling=strict' }),
    };
    const address = path.replace('{ticketId}', encodeURIComponent(ticketId));
    return this.#call(address, { method: 'POST', headers, body: JSON.stringify(body) }, signal);
  }

  /** Sends a request until it succeeds, cannot succeed, or the attempts are used up. */
  async #call<Result>(path: string, init: RequestInit, signal: AbortSignal | undefined): Promise<Result> {
    const request = new Request(this.#base + path, { ...init, redirect: 'manual' });
    for (let attempt = 1; ; attempt++) {
      const outcome = await this.#attempt<Result>(request.clone(), signal);
      if (!(outcome instanceof WriteBackError)) return outcome.body;
      const seconds = Math.max(outcome.retryAfterSeconds ?? 0, Math.min(2 ** (attempt - 1), MAX_BACKOFF_SECONDS));
      if (!outcome.isTransient || attempt >= this.#attempts || seconds > this.#maxWaitSeconds) throw outcome;
      // A random part, so that not all callers return at the same time.
      await pause((seconds + Math.random()) * 1000, signal);
    }
  }

  async #attempt<Result>(
    request: Request,
    signal: AbortSignal | undefined,
  ): Promise<{ body: Result } | WriteBackError> {
    const send = this.#fetch; // Called as a method, fetch would refuse its `this`.
    const limit = AbortSignal.timeout(this.#timeoutMs);
    try {
      const response = await send(request, { signal: signal ? AbortSignal.any([limit, signal]) : limit });
      return response.ok ? { body: await response.json() } : await errorOf(response, this.#base);
    } catch (cause) {
      signal?.throwIfAborted();
      return new WriteBackError('no_response', `The service did not respond: ${cause}`, { cause });
    }
  }
}

/** @throws the reason of the signal */
function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const abort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort);
      resolve();
    }, ms);
    signal?.addEventListener('abort', abort);
  });
}

async function errorOf(response: Response, base: string): Promise<WriteBackError> {
  const { status, headers } = response;
  const body: Promise<Partial<Problem>> = response.json();
  // The page of a proxy is not JSON.
  const problem = await body.catch((): Partial<Problem> => ({}));
  const { code = status === 401 ? 'unauthorized' : 'unexpected_response', errors: fields } = problem;
  const { detail = detailOf(status, base) } = problem;
  const requestId = problem.requestId ?? headers.get('X-Request-Id') ?? undefined;
  const retryAfterSeconds = secondsOf(headers.get('Retry-After') ?? '') || undefined;
  return new WriteBackError(code, detail, { status, requestId, retryAfterSeconds, fields });
}

/** The service's 401 has no detail, and the response of a proxy has none of ours. */
const detailOf = (status: number, base: string) =>
  status === 401
    ? `The key is not accepted: for example it is mistyped, expired or revoked, lacks the scope, or may not be used from this address. Four steps find the cause: ${base}/docs/errors#unauthorized`
    : `The response has the status ${status} and is not from the service, but for example from a proxy.`;

/** The seconds of `Retry-After`, which is a number or a date (RFC 9110 §10.2.3). NaN if it is neither. */
function secondsOf(retryAfter: string): number {
  const seconds = Number(retryAfter);
  return Number.isNaN(seconds) ? Math.max(0, Math.ceil((Date.parse(retryAfter) - Date.now()) / 1000)) : seconds;
}
