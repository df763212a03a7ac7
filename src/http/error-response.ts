import { ServiceError, Unauthorized } from '../domain/errors.ts';
import { describeJsonError } from '../lib/json-error.ts';
import { log } from '../lib/log.ts';
import { prefersStrictHandling } from '../lib/prefer.ts';
import type { AppEnv, ContextOf } from './hono-env.ts';
import { isProblemCode, PROBLEMS, Problem, problem, retryAfter503, unauthorized } from './problems.ts';
import { retryAfter } from './rate-limit-response.ts';

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
    const { dayLimit, retryable } = err.info;
    if (dayLimit) return new Problem(code, err.detail, dayLimitExtras(dayLimit));
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
