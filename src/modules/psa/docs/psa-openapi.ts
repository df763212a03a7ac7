import * as z from 'zod';
import type { ZodOpenApiContentObject, ZodOpenApiResponsesObject } from 'zod-openapi';
import type { Messages } from '../../../docs/module.ts';
import { openapi, seconds, unauthorizedProblem } from '../../../docs/openapi.ts';
import { signature } from '../../../docs/webhook.ts';
import { PROBLEMS, type ProblemCode } from '../../../http/problems.ts';
import { PSA_CALL_TYPES, type PsaCallType } from '../psa-calls.ts';
import { CALL_ERROR_TEXTS, callText } from './call-texts.ts';
import { failure, messages, success } from './message-shapes.ts';

/** A component of the document. */
const header = <Shape extends z.ZodType>(id: string, shape: Shape, description: string, example: string): Shape =>
  shape.meta({ description, example, header: { id } });

/** The problems that refuse a message before its call. */
const MESSAGE_PROBLEMS = [
  'malformed_json',
  'invalid_encoding',
  'https_required',
  'body_too_large',
  'unsupported_media_type',
  'rate_limited',
  'internal_error',
] as const satisfies ProblemCode[];

const always = {
  'X-Request-Id': header(
    'RequestId',
    z.uuid(),
    'Include it when you ask for help.',
    '01a3b2c4-5d6e-7f80-9a1b-2c3d4e5f6071',
  ),
};
const extraHeaders: Partial<Record<number, z.ZodRawShape>> = {
  409: {
    'Retry-After': header(
      'RetryAfterOf409',
      seconds,
      'For `superseded`: the number of seconds to wait before you sign a new message.',
      '290',
    ).optional(),
  },
  429: {
    'Retry-After': header('RetryAfter', seconds, 'The number of seconds to wait.', '2'),
    'RateLimit-Policy': header(
      'RateLimitPolicy',
      z.string(),
      'The limit: `q` requests in any `w` seconds.',
      '"ip";q=1200;w=10',
    ),
    RateLimit: header('RateLimit', z.string(), 'The remaining requests.', '"ip";r=0;t=2'),
  },
  503: {
    'Retry-After': header(
      'RetryAfterOf503',
      seconds,
      'The number of seconds to wait: a random number from 4 to 8.',
      '5',
    ),
  },
};

/** The refusals of messages and calls, each status once. `content` describes the body with these codes. */
function refusals<Code extends string>(
  refused: readonly { code: Code; status: number; text: string }[],
  content: (codes: Code[]) => ZodOpenApiContentObject,
): ZodOpenApiResponsesObject {
  const byStatus = Map.groupBy(refused, ({ status }) => status);
  return Object.fromEntries(
    Array.from(byStatus, ([status, found]) => [
      String(status),
      {
        description: found.map(({ code, text }) => `\`${code}\`: ${text}`).join(' '),
        headers: z.object({ ...always, ...extraHeaders[status] }),
        content: content(found.map(({ code }) => code)),
      },
    ]),
  );
}

const problems = MESSAGE_PROBLEMS.map((code) => ({
  code,
  status: PROBLEMS[code].status,
  text: `${PROBLEMS[code].title}.`,
}));

const problemShape = (codes: readonly ProblemCode[]) =>
  z.object({
    type: z.url().meta({ description: 'The address of its explanation, on the origin of the request.' }),
    title: z.string(),
    status: z.int(),
    code: z.enum(codes),
    detail: z.string(),
    requestId: z.uuid(),
    'violated-policies': z.array(z.string()).optional(),
  });

const examples = (exampleOf: (type: PsaCallType) => unknown) =>
  Object.fromEntries(PSA_CALL_TYPES.map((type) => [type, { value: exampleOf(type) }]));

/** The PSA's interface: the calls, and what modules send to the PSA. `origin` is as for `describeApi`. */
export function describePsa(origin: string, sent: readonly Messages[]) {
  return openapi({
    info: {
      title: 'Ticket Write-Back API: interface for the PSA',
      contact: { name: 'Guide', ...(origin !== '' && { url: `${origin}/docs/psa` }) },
      description:
        'A PSA keeps its directory up to date, reads what automations wrote, and reviews or redacts it. Messages are signed as in [Standard Webhooks](https://www.standardwebhooks.com) 1.0 with a secret of the operator. Responses may gain fields: ignore unknown fields.',
    },
    servers: [{ url: origin || '/' }],
    tags: [{ name: 'Calls', description: 'What the PSA sends.' }, ...sent.map(({ tag }) => tag)],
    paths: {
      '/psa': {
        post: {
          operationId: 'call',
          tags: ['Calls'],
          summary: 'Send a message',
          description:
            'Runs the call that `type` names. A call is safe to repeat while it still applies. A change of a directory with an older time than the last one applied to its organization gets `superseded`.',
          security: [],
          requestParams: { header: signature },
          requestBody: {
            required: true,
            content: {
              'application/json': {
                schema: z.union(messages),
                examples: examples((type) => ({ type, data: callText(type).data })),
              },
            },
          },
          responses: {
            200: {
              description: 'The result of the call.',
              headers: z.object(always),
              content: {
                'application/json': {
                  schema: success,
                  examples: examples((type) => ({ ok: true, value: callText(type).value })),
                },
              },
            },
            401: {
              description:
                'The signature, the id or the time is missing or wrong. The response is always the same; the log of the service shows the reason.',
              headers: z.object({
                ...always,
                'WWW-Authenticate': header('WWWAuthenticate', z.string(), 'Sign the message.', 'StandardWebhooks'),
                Date: header(
                  'Date',
                  z.string(),
                  "The service's clock. Compare it with yours.",
                  'Sun, 22 Nov 2026 09:30:00 GMT',
                ),
              }),
              content: { 'application/problem+json': { schema: unauthorizedProblem } },
            },
            ...refusals(problems, (codes) => ({ 'application/problem+json': { schema: problemShape(codes) } })),
            ...refusals(CALL_ERROR_TEXTS, () => ({ 'application/json': { schema: failure } })),
          },
        },
      },
    },
    webhooks: Object.fromEntries(sent.flatMap(({ webhooks }) => Object.entries(webhooks))),
  });
}
