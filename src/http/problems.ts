import { ServiceError, Unauthorized } from '../domain/errors.ts';
import { echo, type FieldError } from '../domain/fields.ts';
import { jsonWithoutKeys } from '../domain/pasted-keys.ts';
import { describeJsonError } from '../lib/json-error.ts';
import { log } from '../lib/log.ts';
import { prefersStrictHandling } from '../lib/prefer.ts';
import type { AppEnv, ContextOf } from './hono-env.ts';

const SECONDS = { min: 4, max: 8 };

/** Random, because the callers that an overloaded database refuses would otherwise return together. */
export function retryAfter503(random: () => number = Math.random): { 'Retry-After': string } {
  const { min, max } = SECONDS;
  return { 'Retry-After': String(min + Math.floor(random() * (max - min + 1))) };
}

/** Retry-After in whole seconds, at least 1 (RFC 9110 §10.2.3). */
export const retryAfter = (ms: number) => String(Math.max(1, Math.ceil(ms / 1000)));

/** Every problem that has a code, by status; src/docs/pages/errors.md explains them. The 401 has none: see `unauthorized`. */
export const PROBLEMS = {
  malformed_json: { status: 400, title: 'Malformed JSON' },
  invalid_encoding: { status: 400, title: 'The body is not UTF-8' },
  invalid_idempotency_key: { status: 400, title: 'Invalid Idempotency-Key' },
  invalid_host: { status: 400, title: 'Invalid Host' },
  https_required: { status: 403, title: 'HTTPS is required' },
  psa_not_included: { status: 403, title: 'Write-back is not enabled' },
  not_found: { status: 404, title: 'Not found' },
  ticket_not_found: { status: 404, title: 'Ticket not found' },
  method_not_allowed: { status: 405, title: 'Method not allowed' },
  idempotency_mismatch: { status: 409, title: 'Idempotency-Key used for a different request' },
  body_too_large: { status: 413, title: 'The body is too large' },
  unsupported_media_type: { status: 415, title: 'Unsupported media type' },
  validation_failed: { status: 422, title: 'Validation failed' },
  technician_not_eligible: { status: 422, title: 'Not an active technician' },
  rate_limited: { status: 429, title: 'Too many requests' },
  daily_limit_reached: { status: 429, title: 'Daily limit reached' },
  internal_error: { status: 500, title: 'Internal error' },
  unavailable: { status: 503, title: 'Temporarily unavailable' },
  outcome_unknown: { status: 503, title: 'Outcome unknown' },
} as const satisfies Record<string, { status: number; title: string }>;

export type ProblemCode = keyof typeof PROBLEMS;

/** Whether a caller of the API can get this error. Any other one is a bug there. */
const isProblemCode = (code: string): code is ProblemCode => Object.hasOwn(PROBLEMS, code);

/** From the IANA registry of HTTP problem types. */
const QUOTA_EXCEEDED = 'https://iana.org/assignments/http-problem-types#quota-exceeded';

interface Extras {
  headers?: Record<string, string>;
  members?: { errors?: FieldError[]; 'violated-policies'?: string[] };
}

/** Thrown in http/ to respond with a problem. `detail` explains what is wrong and what to do. */
export class Problem extends Error {
  override name = 'Problem';
  readonly code: ProblemCode;
  readonly detail: string;
  readonly extras: Extras;
  constructor(code: ProblemCode, detail: string, extras: Extras = {}) {
    super(`${code}: ${detail}`);
    this.code = code;
    this.detail = detail;
    this.extras = extras;
  }
}

/** The arguments of a `Problem`, for a response that is not thrown: `problem(c, ...arguments)`. */
export type ProblemArguments = ConstructorParameters<typeof Problem>;

/** The address of a problem's explanation, absolute, so that users can open it from the log of a tool. */
export function problemType(code: ProblemCode, url: string): string {
  if (PROBLEMS[code].status === 429) return QUOTA_EXCEEDED;
  // With two Host headers, the URL cannot be parsed: then the type is relative.
  const origin = URL.canParse(url) ? new URL(url).origin : '';
  return `${origin}/docs/errors#${code}`;
}

/** The body of the response to a request for `url`. */
export function problemBody(
  { code, detail, members }: Pick<Problem, 'code' | 'detail'> & { members: Extras['members'] | undefined },
  url: string,
  requestId: string | null | undefined,
) {
  const { status, title } = PROBLEMS[code];
  return { type: problemType(code, url), title, status, code, detail, requestId, ...members };
}

export function problem(
  c: ContextOf<AppEnv>,
  code: ProblemCode,
  detail: string,
  { headers = {}, members = {} }: Extras = {},
): Response {
  const { status } = PROBLEMS[code];
  c.get('requestStats').problem = code;
  const body = problemBody({ code, detail, members }, c.req.url, c.get('requestId'));
  const { keyPrefix, supportUrl } = c.get('config');
  const help = status >= 500 && supportUrl ? { Link: `<${supportUrl}>; rel="help"` } : {};
  // A detail may repeat the caller's input, and users paste keys into wrong fields.
  return new Response(jsonWithoutKeys(body, keyPrefix), {
    status,
    headers: { ...headers, ...help, 'Content-Type': 'application/problem+json' },
  });
}

/** The body of the 401, which is the same for everything that is wrong with a key. */
export const UNAUTHORIZED_PROBLEM = { type: 'about:blank', title: 'Unauthorized', status: 401 } as const;
const UNAUTHORIZED_BODY = JSON.stringify(UNAUTHORIZED_PROBLEM);

/** The constant 401. `challenge` is the scheme that the path expects (RFC 9110 §11.6.1). */
export function unauthorized(challenge = 'Bearer'): Response {
  return new Response(UNAUTHORIZED_BODY, {
    status: 401,
    headers: { 'Content-Type': 'application/problem+json', 'WWW-Authenticate': challenge },
  });
}

export function invalidHost(): ProblemArguments {
  return ['invalid_host', 'The Host header is not a host name; send it once, with the name of this service.'];
}

/** Enough for every path of the API. */
const MAX_SHOWN_PATH = 200;

/** There is nothing at a path. `otherwise` is the detail unless the path has a slash too many. */
export function pathNotFound(path: string, otherwise: string): ProblemArguments {
  if (path.includes('//')) {
    const remedy = 'remove one slash, or fill in what is missing between them, such as the ticket id';
    return ['not_found', `The path contains //; ${remedy}.`];
  }
  if (path !== '/' && path.endsWith('/')) {
    const shown = echo(path.slice(0, -1), MAX_SHOWN_PATH);
    return ['not_found', `The path ends with a slash; send the request to ${shown}, without it.`];
  }
  return ['not_found', otherwise];
}

export function endpointNotFound(path: string): ProblemArguments {
  return pathNotFound(path, 'There is no API endpoint at this path; check the path.');
}

export function methodNotAllowedProblem(method: string, supported: readonly string[]): ProblemArguments {
  const allow = supported.join(', ');
  return [
    'method_not_allowed',
    `${method} is not supported at this path; use ${allow}.`,
    { headers: { Allow: allow } },
  ];
}

/** The only error handler: turns every error into a response. Unexpected ones are logged, not shown. */
export function respondWithError(err: unknown, c: ContextOf<AppEnv>): Response {
  if (err instanceof Unauthorized) return unauthorized();
  const { code, detail, extras } = problemOf(err, c);
  return problem(c, code, detail, extras);
}

/** The problem that an error other than `Unauthorized` is reported as. Logs it if it is our fault. */
function problemOf(err: unknown, c: ContextOf<AppEnv>): Problem {
  if (err instanceof Problem) return err;
  if (err instanceof ServiceError && isProblemCode(err.code)) {
    const { code } = err;
    if (PROBLEMS[code].status >= 500) log('error', code, { requestId: c.get('requestId'), cause: err.cause });
    const { dayLimit, retryable, retryAfterMs } = err.info;
    if (dayLimit) return new Problem(code, err.detail, dayLimitExtras(dayLimit));
    if (retryAfterMs !== undefined)
      return new Problem(code, err.detail, { headers: { 'Retry-After': retryAfter(retryAfterMs) } });
    if (code === 'idempotency_mismatch') return new Problem(code, err.detail, { headers: appliedPreference(c) });
    const mayRetry = code === 'unavailable' || retryable;
    return new Problem(code, err.detail, mayRetry ? { headers: retryAfter503() } : {});
  }
  log('error', 'internal_error', { requestId: c.get('requestId'), cause: err });
  return internalError();
}

/** The header of every response that a write decided, if the request preferred strict handling. */
export function appliedPreference(c: ContextOf<AppEnv>): Record<string, string> {
  return prefersStrictHandling(c.req.header('Prefer')) ? { 'Preference-Applied': 'handling=strict' } : {};
}

export function dayLimitExtras({
  exceeded: { name },
  retryAfterMs,
}: NonNullable<ServiceError['info']['dayLimit']>): Problem['extras'] {
  return { headers: { 'Retry-After': retryAfter(retryAfterMs) }, members: { 'violated-policies': [name] } };
}

export function malformedJson(body: string): Problem {
  return new Problem('malformed_json', describeJsonError(body));
}

export function internalError(): Problem {
  return new Problem(
    'internal_error',
    'An unexpected error occurred. With an Idempotency-Key, send the same request again; if the error persists, report the requestId to the operator.',
  );
}
