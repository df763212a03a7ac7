import { HTTPException } from 'hono/http-exception';
import { ServiceError, type ServiceErrorCode, Unauthorized } from '../domain/errors.ts';
import { describeJsonError } from '../lib/json-error.ts';
import { log } from '../lib/log.ts';
import { prefersStrictHandling } from '../lib/prefer.ts';
import type { AppEnv, ContextOf } from './hono-env.ts';
import { PROBLEMS, Problem, type ProblemCode, problem, retryAfter503, unauthorized } from './problems.ts';
import { retryAfter } from './rate-limit-response.ts';

/** The expected failures that a caller of the API can get. Any other code here is a bug. */
const API_ERRORS = [
  'psa_not_included',
  'ticket_not_found',
  'technician_not_eligible',
  'unavailable',
  'daily_limit_reached',
  'idempotency_mismatch',
  'outcome_unknown',
] as const satisfies readonly (ServiceErrorCode & ProblemCode)[];

/** The only error handler: turns every error into a response. Unexpected ones are logged, not shown. */
export async function respondWithError(err: unknown, c: ContextOf<AppEnv>): Promise<Response> {
  if (err instanceof Unauthorized) return unauthorized();
  const { code, detail, extras } = await problemOf(err, c);
  return problem(c, code, detail, extras);
}

/** The problem that an error other than `Unauthorized` is reported as. Logs it if it is our fault. */
export async function problemOf(err: unknown, c: ContextOf<AppEnv>): Promise<Problem> {
  if (err instanceof Problem) return err;
  const code = err instanceof ServiceError ? API_ERRORS.find((known) => known === err.code) : undefined;
  if (err instanceof ServiceError && code !== undefined) {
    if (PROBLEMS[code].status >= 500) log('error', code, { requestId: c.get('requestId'), cause: err.cause });
    const { dayLimit, retryable } = err.info;
    if (dayLimit) return new Problem(code, err.detail, dayLimitExtras(dayLimit));
    if (code === 'idempotency_mismatch') return new Problem(code, err.detail, { headers: appliedPreference(c) });
    const mayRetry = code === 'unavailable' || retryable;
    return new Problem(code, err.detail, mayRetry ? { headers: retryAfter503() } : {});
  }
  // Hono's validator throws this before it runs our schema. The body comes from Hono's cache.
  if (err instanceof HTTPException && err.status === 400) return malformedJson(await c.req.text());
  log('error', 'internal_error', { requestId: c.get('requestId'), cause: err });
  return internalError();
}

/** The header of every response that a write decided, if the request preferred strict handling. */
export function appliedPreference(c: ContextOf<AppEnv>): Record<string, string> {
  return prefersStrictHandling(c.req.header('Prefer')) ? { 'Preference-Applied': 'handling=strict' } : {};
}

export function dayLimitExtras({
  name,
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
