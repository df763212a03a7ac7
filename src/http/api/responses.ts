import * as z from 'zod';
import type { ZodOpenApiResponseObject, ZodOpenApiResponsesObject } from 'zod-openapi';
import { fieldErrorShape } from '../../domain/fields.ts';
import { PROBLEMS, type ProblemCode, problemType, UNAUTHORIZED_PROBLEM } from '../problems.ts';

/** The request id of all examples. */
const REQUEST_ID = '01a3b2c4-5d6e-7f80-9a1b-2c3d4e5f6071';

/** Names a header's shape as a component of the document. */
const header = <Shape extends z.ZodType>(shape: Shape, id: string, description: string, example: string) =>
  shape.meta({ description, example, header: { id } });

const requestId = header(
  z.uuid(),
  'RequestId',
  'Made here for each request: name it when you ask for help.',
  REQUEST_ID,
);
const WHOLE_SECONDS = /^[1-9]\d*$/;
const retryAfter = z.string().regex(WHOLE_SECONDS);
const RETRY_AFTER = 'After how many seconds to send the same request again.';

const always = { 'X-Request-Id': requestId };
/** On every answer after the key resolved, unless the limiter could not be reached. */
const limited = {
  ...always,
  'RateLimit-Policy': header(
    z.string().optional(),
    'RateLimitPolicy',
    'The limit that applied: `q` requests in any `w` seconds.',
    '"key";q=200;w=10',
  ),
  RateLimit: header(
    z.string().optional(),
    'RateLimit',
    'Requests that remain (`r`), and the seconds until the oldest counted one is forgotten (`t`).',
    '"key";r=199;t=10',
  ),
};

/** On every answer to a request with a key, but for a 401. */
const keyed = {
  ...limited,
  'Api-Key-Expires-At': header(
    z.iso.datetime().optional(),
    'ApiKeyExpiresAt',
    'When the key expires, if it does: have it replaced before then.',
    '2027-01-31T23:00:00.000Z',
  ),
};

/** The headers of a success that needs no key. */
export const keylessHeaders = z.object(limited);

/** The headers of a success. */
export const successHeaders = z.object(keyed);

/** The headers of a replay. */
export const replayHeaders = z.object({
  ...keyed,
  'Idempotency-Replayed': header(
    z.literal('true'),
    'IdempotencyReplayed',
    'The Idempotency-Key had made this record before; nothing was written now.',
    'true',
  ),
  'Idempotency-Mismatch': header(
    z.literal('true').optional(),
    'IdempotencyMismatch',
    'This request differs from the one that made the record: the key was reused for something else.',
    'true',
  ),
});

/** What the errors of a status have for headers besides those of all. */
const extraHeaders: Partial<Record<number, z.ZodRawShape>> = {
  405: { Allow: header(z.string(), 'Allow', 'The methods that this address knows.', 'POST') },
  429: { 'Retry-After': header(retryAfter, 'RetryAfter', RETRY_AFTER, '2') },
  503: {
    'Retry-After': header(retryAfter.optional(), 'RetryAfterIfSafe', `${RETRY_AFTER} Absent if that is not safe.`, '5'),
  },
};

/** The members that only the problems of one code have. */
const members: Partial<Record<ProblemCode, z.ZodRawShape>> = {
  validation_failed: {
    errors: z
      .array(fieldErrorShape)
      .min(1)
      .meta({ description: 'Everything that is wrong with the body, at most 20.' }),
  },
  rate_limited: {
    'violated-policies': z
      .array(z.enum(['ip', 'key']))
      .min(1)
      .meta({ description: 'The limit that was exceeded.' }),
  },
};

/** One `detail` of each code as the service words it, with the further members that belong to it. */
const examples: Record<ProblemCode, { detail: string } & Record<string, unknown>> = {
  malformed_json: {
    detail:
      'The body is not valid JSON: see line 1, column 13, at "\\n". Check quotes, commas and unescaped line breaks there.',
  },
  invalid_encoding: {
    detail: 'The body holds bytes that are not UTF-8; encode the JSON text as UTF-8 before you send it.',
  },
  invalid_idempotency_key: {
    detail: 'Idempotency-Key is empty; send one value of 1 to 255 visible ASCII characters, or leave the header out.',
  },
  https_required: {
    detail:
      'This API is served over HTTPS only. Change http:// to https://, and replace the key if the request had one.',
  },
  psa_not_included: { detail: "Your organization's plan does not include PSA; ask an administrator to add it." },
  not_found: { detail: 'There is no such address in this API; check the path.' },
  ticket_not_found: { detail: 'Your organization has no ticket "4711"; check the id in the address.' },
  method_not_allowed: { detail: 'DELETE is not possible at this address; use POST.' },
  body_too_large: { detail: 'The body is larger than 524288 bytes (512 KiB); shorten the text.' },
  unsupported_media_type: { detail: 'Content-Type was text/plain; send application/json.' },
  validation_failed: {
    detail: 'minutes was the text "30"; send 30 without quotes.',
    errors: [
      { pointer: '/minutes', code: 'invalid_type', detail: 'minutes was the text "30"; send 30 without quotes' },
    ],
  },
  technician_not_eligible: {
    detail:
      'userEmail is not the address of an active technician of your organization; correct it, or leave it out to credit the automation service account.',
  },
  rate_limited: {
    detail: 'This key may send 200 requests in 10 seconds; send the request again after 2 s.',
    'violated-policies': ['key'],
  },
  internal_error: { detail: 'Something went wrong on our side. Tell us the request id if it stays that way.' },
  unavailable: { detail: 'The database did not answer. Nothing was written; send the same request again.' },
  outcome_unknown: {
    detail:
      'The database did not confirm the write, so the record may exist. Send the same request with the same Idempotency-Key again: it never makes a second record.',
  },
};

/** One shape for each code, so that the document refers to it instead of repeating it. */
const shapes = new Map<ProblemCode, ReturnType<typeof makeShape>>();

/** The answers to requests that fail with one of these codes, by status. */
export function problemResponses(expected: readonly ProblemCode[]): ZodOpenApiResponsesObject {
  return responses(expected, keyed);
}

/** The same where no key is needed. */
export function keylessProblemResponses(expected: readonly ProblemCode[]): ZodOpenApiResponsesObject {
  return responses(expected, limited);
}

function responses(expected: readonly ProblemCode[], headers: z.ZodRawShape): ZodOpenApiResponsesObject {
  const byStatus = Map.groupBy(expected, (code) => PROBLEMS[code].status);
  return Object.fromEntries(
    [...byStatus].map(([status, codes]) => [String(status), problemResponse(status, codes, headers)]),
  );
}

/** The answer to every request whose key is not good for it. */
export const unauthorizedResponse: ZodOpenApiResponseObject = {
  id: 'Unauthorized',
  description:
    'The key is missing, malformed, unknown, revoked or expired, or lacks the scope. The answer is always the same; [the four steps](/docs/problems#unauthorized) find the cause.',
  headers: z.object({
    ...always,
    'WWW-Authenticate': header(z.string(), 'WWWAuthenticate', 'Send `Authorization: Bearer <key>`.', 'Bearer'),
  }),
  content: {
    'application/problem+json': {
      schema: z
        .object({
          type: z.literal(UNAUTHORIZED_PROBLEM.type),
          title: z.literal(UNAUTHORIZED_PROBLEM.title),
          status: z.literal(UNAUTHORIZED_PROBLEM.status),
        })
        .meta({ id: 'UnauthorizedProblem' }),
      examples: { unauthorized: { value: UNAUTHORIZED_PROBLEM } },
    },
  },
};

function problemResponse(status: number, codes: ProblemCode[], headers: z.ZodRawShape): ZodOpenApiResponseObject {
  const [first, ...others] = codes;
  if (!first) throw new Error(`no problem has the status ${status}`);
  return {
    description: codes.map((code) => `\`${code}\`: ${PROBLEMS[code].meaning}`).join(' '),
    headers: z.object({ ...headers, ...extraHeaders[status] }),
    content: {
      'application/problem+json': {
        schema:
          others.length === 0 ? shapeOf(first) : z.discriminatedUnion('code', [shapeOf(first), ...others.map(shapeOf)]),
        examples: Object.fromEntries(
          codes.map((code) => [code, { summary: PROBLEMS[code].title, value: exampleOf(code) }]),
        ),
      },
    },
  };
}

function shapeOf(code: ProblemCode) {
  const shape = shapes.get(code) ?? makeShape(code);
  shapes.set(code, shape);
  return shape;
}

function makeShape(code: ProblemCode) {
  const { status, meaning, remedy } = PROBLEMS[code];
  return z
    .object({
      type: z.literal(problemType(code)),
      title: z.string(),
      status: z.literal(status),
      code: z.literal(code),
      detail: z
        .string()
        .meta({ description: 'What is wrong and what to do, in one sentence. Show it to people; do not compare it.' }),
      requestId: z.uuid().meta({ description: 'The same as X-Request-Id.' }),
      ...members[code],
    })
    .meta({
      id: `${code.replaceAll(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase())}Problem`,
      description: `${meaning} ${remedy}`,
    });
}

function exampleOf(code: ProblemCode): Record<string, unknown> {
  const { status, title } = PROBLEMS[code];
  const { detail, ...more } = examples[code];
  return { type: problemType(code), title, status, code, detail, requestId: REQUEST_ID, ...more };
}
