import { HTTPException } from 'hono/http-exception';
import { ServiceError, type ServiceErrorCode, Unauthorized } from '../domain/errors.ts';
import { describeJsonError } from '../lib/json-error.ts';
import { log } from '../lib/log.ts';
import type { AppEnv, ContextOf } from './context.ts';
import { PROBLEMS, Problem, type ProblemCode, problem, unauthorized } from './problems.ts';

/** When to come back after a 503. */
const RETRY_AFTER_SECONDS = 5;

/** The expected failures that a caller of the API can meet. Any other code is a fault of ours here. */
const API_ERRORS: Partial<Record<ServiceErrorCode, ProblemCode>> = {
  psa_not_included: 'psa_not_included',
  ticket_not_found: 'ticket_not_found',
  technician_not_eligible: 'technician_not_eligible',
  unavailable: 'unavailable',
  outcome_unknown: 'outcome_unknown',
};

/** The Worker's one error handler: everything thrown becomes a response here. Unexpected errors are logged, never shown. */
export async function answerError(err: unknown, c: ContextOf<AppEnv>): Promise<Response> {
  if (err instanceof Unauthorized) return unauthorized();
  if (err instanceof Problem) return problem(c, err.code, err.detail, err.extras);
  const code = err instanceof ServiceError ? API_ERRORS[err.code] : undefined;
  if (err instanceof ServiceError && code !== undefined) {
    if (PROBLEMS[code].status >= 500) log('error', code, { requestId: c.get('requestId'), cause: err.cause });
    const mayRetry = code === 'unavailable' || err.retryable;
    return problem(c, code, err.detail, mayRetry ? { headers: { 'Retry-After': String(RETRY_AFTER_SECONDS) } } : {});
  }
  // Hono's validator throws this before our schema is used. The body was read and comes from Hono's cache.
  if (err instanceof HTTPException && err.status === 400)
    return problem(c, 'malformed_json', describeJsonError(await c.req.text()));
  log('error', 'internal_error', { requestId: c.get('requestId'), cause: err });
  return problem(c, 'internal_error', INTERNAL_ERROR);
}

/** The detail of an unexpected error. */
export const INTERNAL_ERROR = 'Something went wrong on our side. Tell us the request id if it stays that way.';
