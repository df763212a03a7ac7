import * as z from 'zod';
import type { ZodOpenApiResponseObject, ZodOpenApiResponsesObject } from 'zod-openapi';
import { dailyLimitReached, errorOf, idempotencyMismatch, ticketNotFound, unknownOutcome } from '../domain/errors.ts';
import { fieldErrors } from '../domain/fields.ts';
import { timeEntryRequest } from '../domain/record-kinds.ts';
import { fieldErrorShape } from '../domain/response-shapes.ts';
import { invalidIdempotencyKey } from '../http/api/writes.ts';
import { bodyTooLarge, invalidEncoding, unsupportedMediaType, validationFailed } from '../http/middleware/body.ts';
import { httpsRequired } from '../http/middleware/guard.ts';
import { rateLimited } from '../http/middleware/limits.ts';
import {
  dayLimitExtras,
  endpointNotFound,
  internalError,
  invalidHost,
  malformedJson,
  methodNotAllowedProblem,
  PROBLEMS,
  Problem,
  type ProblemCode,
  problemType,
  UNAUTHORIZED_PROBLEM,
} from '../http/problems.ts';
import { fromKeys, keysOf } from '../lib/objects.ts';
import { unavailableDetail } from '../services/call-d1.ts';
import { errorText } from './errors.ts';
import { fold, jsonBlock } from './field-tables.ts';
import { apiHeader, pascalCase, REQUEST_ID, seconds, unauthorizedProblem } from './openapi.ts';

const EXAMPLE_ORIGIN = 'https://tickets.example';

const always = { 'X-Request-Id': apiHeader('X-Request-Id', z.uuid()) };
const expiry = { 'Api-Key-Expires-At': apiHeader('Api-Key-Expires-At', z.iso.datetime().optional()) };
/** RateLimit headers are missing if the limiter could not be reached. A 401 has only the first of these. */
const keyed = {
  ...always,
  'RateLimit-Policy': apiHeader('RateLimit-Policy', z.string().optional()),
  RateLimit: apiHeader('RateLimit', z.string().optional()),
  ...expiry,
};
/** The headers of a 503: see `requestContext`. */
const unlimited = { ...always, ...expiry };

/** Of every response that a write decided, if the request preferred strict handling. */
const applied = { 'Preference-Applied': apiHeader('Preference-Applied', z.literal('handling=strict').optional()) };

export const successHeaders = z.object(keyed);

export const createdHeaders = z.object({ ...keyed, ...applied });

export const replayHeaders = z.object({
  ...keyed,
  ...applied,
  'Idempotency-Replayed': apiHeader('Idempotency-Replayed', z.literal('true')),
  'Idempotency-Mismatch': apiHeader('Idempotency-Mismatch', z.literal('true').optional()),
});

const extraHeaders: Partial<Record<number, z.ZodRawShape>> = {
  404: { 'Retry-After': apiHeader('Retry-After', seconds.optional(), 'RetryAfterIfNew') },
  405: { Allow: apiHeader('Allow', z.string()) },
  409: applied,
  429: { 'Retry-After': apiHeader('Retry-After', seconds) },
  503: { 'Retry-After': apiHeader('Retry-After', seconds.optional(), 'RetryAfterIfSafe') },
};

const exceeded = (limits: readonly string[]) => ({
  'violated-policies': z.array(z.enum(limits)).min(1).meta({ description: 'The limit that was exceeded.' }),
});

const members: Partial<Record<ProblemCode, z.ZodRawShape>> = {
  validation_failed: {
    errors: z.array(fieldErrorShape).min(1).meta({ description: 'The errors of the body, at most 20.' }),
  },
  rate_limited: exceeded(['ip', 'key']),
  daily_limit_reached: exceeded(['key-day', 'organization-day']),
};

const { error: badTimeEntry = new z.ZodError([]) } = timeEntryRequest.safeParse({
  minutes: '30',
  description: 'Cleared the print queue',
  billable: true,
});
const KEY_LIMIT = { quota: 200, windowMs: 10_000 };

/** One example for each code, from the function that the service itself uses. */
const examples: Record<ProblemCode, Pick<Problem, 'detail'> & Partial<Pick<Problem, 'extras'>>> = {
  malformed_json: malformedJson('{"message":"Cleared\nthe queue"}'),
  invalid_encoding: invalidEncoding(),
  invalid_idempotency_key: invalidIdempotencyKey('is empty'),
  invalid_host: new Problem(...invalidHost()),
  https_required: httpsRequired(),
  psa_not_included: errorOf('psa_not_included'),
  not_found: new Problem(...endpointNotFound('/api/v1/tickets')),
  ticket_not_found: ticketNotFound('4711'),
  method_not_allowed: new Problem(...methodNotAllowedProblem('DELETE', ['POST'])),
  idempotency_mismatch: idempotencyMismatch({ ticketId: '1001', idempotencyKey: 'triage:evt-20418' }, '1002'),
  body_too_large: bodyTooLarge(),
  unsupported_media_type: unsupportedMediaType('text/plain'),
  validation_failed: validationFailed(fieldErrors(badTimeEntry)),
  technician_not_eligible: errorOf('technician_not_eligible'),
  rate_limited: new Problem(
    ...rateLimited({
      name: 'key',
      requestLimit: KEY_LIMIT,
      decision: { admitted: false, remaining: 0, resetMs: 2_000, retryAfterMs: 2_000 },
    }),
  ),
  daily_limit_reached: dailyLimitExample(),
  internal_error: internalError(),
  unavailable: { detail: unavailableDetail('nothing_written', 'not_run') },
  outcome_unknown: unknownOutcome({ idempotencyKey: 'any' }),
};

function dailyLimitExample() {
  const limit = { name: 'key-day', what: 'records', isOwn: false, limit: 20_000, used: 20_000, added: 1 } as const;
  const { detail, info } = dailyLimitReached(limit, 'America/New_York', 27_000_000);
  return { detail, ...(info.dayLimit && { extras: dayLimitExtras(info.dayLimit) }) };
}

/** One shape per code, so that the document refers to it instead of repeating it. */
const SHAPES = fromKeys(keysOf(PROBLEMS), shapeOf);

export function problemResponses(expected: readonly ProblemCode[]): ZodOpenApiResponsesObject {
  const byStatus = Map.groupBy(expected, (code) => PROBLEMS[code].status);
  return Object.fromEntries([...byStatus].map(([status, codes]) => [String(status), problemResponse(status, codes)]));
}

export const unauthorizedResponse: ZodOpenApiResponseObject = {
  id: 'Unauthorized',
  description:
    'The key is missing, or not valid for this request. The response is always the same; [four steps](/docs/errors#unauthorized) find the cause.',
  headers: z.object({
    ...always,
    'WWW-Authenticate': apiHeader('WWW-Authenticate', z.string()),
  }),
  content: {
    'application/problem+json': {
      schema: unauthorizedProblem.meta({ id: 'UnauthorizedProblem' }),
      examples: { unauthorized: { value: UNAUTHORIZED_PROBLEM } },
    },
  },
};

function problemResponse(status: number, codes: ProblemCode[]): ZodOpenApiResponseObject {
  const [first, ...others] = codes;
  if (!first) throw new Error(`no problem has the status ${status}`);
  return {
    description: codes.map((code) => `\`${code}\`: ${errorText(code).meaning}`).join(' '),
    headers: z.object({ ...(status === 503 ? unlimited : keyed), ...extraHeaders[status] }),
    content: {
      'application/problem+json': {
        schema:
          others.length === 0
            ? SHAPES[first]
            : z.discriminatedUnion('code', [SHAPES[first], ...others.map((code) => SHAPES[code])]),
        examples: Object.fromEntries(
          codes.map((code) => [code, { summary: PROBLEMS[code].title, value: exampleOf(code) }]),
        ),
      },
    },
  };
}

function shapeOf(code: ProblemCode) {
  const { status } = PROBLEMS[code];
  const { meaning, remedy } = errorText(code);
  return z
    .object({
      type: problemTypeShape(code),
      title: z.string(),
      status: z.literal(status),
      code: z.literal(code),
      detail: z.string().meta({ description: 'The cause and the remedy. For people: compare `code` instead.' }),
      requestId: z.uuid().meta({ description: 'The same as X-Request-Id.' }),
      ...members[code],
    })
    .meta({
      id: `${pascalCase(code)}Problem`,
      description: `${meaning} ${remedy}`,
    });
}

function problemTypeShape(code: ProblemCode) {
  const example = problemType(code, EXAMPLE_ORIGIN);
  if (PROBLEMS[code].status === 429) return z.literal(example);
  return z
    .url()
    .regex(new RegExp(`${example.slice(EXAMPLE_ORIGIN.length)}$`))
    .meta({ description: 'The address of its explanation; for a 429, of the IANA problem type.', example });
}

/** An example of each error as Markdown, to unfold. */
export const errorExamples = [
  fold('`401` Unauthorized', jsonBlock('Example of unauthorized', UNAUTHORIZED_PROBLEM)),
  ...keysOf(PROBLEMS).map((code) => {
    const { status, title } = PROBLEMS[code];
    return fold(`\`${code}\` ${status} ${title}`, jsonBlock(`Example of ${code}`, exampleOf(code)));
  }),
].join('\n\n');

function exampleOf(code: ProblemCode): Record<string, unknown> {
  const { status, title } = PROBLEMS[code];
  const { detail, extras } = examples[code];
  return {
    type: problemType(code, EXAMPLE_ORIGIN),
    title,
    status,
    code,
    detail,
    requestId: REQUEST_ID,
    ...extras?.members,
  };
}
