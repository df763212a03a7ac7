import * as z from 'zod';
import type { ZodOpenApiContentObject, ZodOpenApiPathItemObject, ZodOpenApiResponsesObject } from 'zod-openapi';
import { openapi, psaHeader, seconds, unauthorizedProblem } from '../../../docs/openapi.ts';
import { FACT_TYPES, type FactType } from '../../../domain/facts.ts';
import { nullable, plainText, time } from '../../../domain/psa-shapes.ts';
import { TOLERANCE_SECONDS } from '../../../domain/webhook.ts';
import { PROBLEMS, type ProblemCode } from '../../../http/problems.ts';
import { type AlertData, messageType } from '../../alerts/alert.ts';
import { FACT_MEANINGS } from '../../alerts/docs/fact-meanings.ts';
import { PSA_CALL_TYPES, type PsaCallType } from '../psa-calls.ts';
import { CALL_ERROR_TEXTS, callText } from './call-texts.ts';
import { failure, messages, pushedPage, success } from './message-shapes.ts';

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

const always = { 'X-Request-Id': psaHeader('RequestId', z.uuid()) };
const extraHeaders: Partial<Record<number, z.ZodRawShape>> = {
  409: { 'Retry-After': psaHeader('RetryAfterOf409', seconds).optional() },
  429: {
    'Retry-After': psaHeader('RetryAfter', seconds),
    'RateLimit-Policy': psaHeader('RateLimitPolicy', z.string()),
    RateLimit: psaHeader('RateLimit', z.string()),
  },
  503: { 'Retry-After': psaHeader('RetryAfterOf503', seconds) },
};

const signature = z.object({
  'webhook-id': z.string().min(1).max(255).meta({
    description:
      'Identifies the message, so make a new one for each: 1 to 255 visible ASCII characters without a full stop.',
    example: 'msg_01a3b2c4',
  }),
  'webhook-timestamp': z.string().meta({
    description: `The current time in Unix seconds, at most ${TOLERANCE_SECONDS} seconds from the clock of the service.`,
    example: '1795254600',
  }),
  'webhook-signature': z.string().meta({
    description: '`v1,` and the base64 of the HMAC-SHA256 of `id.timestamp.body`. Several are separated by spaces.',
    example: 'v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=',
  }),
});

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

const alertData: z.ZodObject & z.ZodType<AlertData> = z.object({
  organization: nullable(z.string()).meta({ description: 'Null for an alert about the whole deployment.' }),
  key: nullable(
    z.object({ id: z.string(), name: plainText, hint: z.string(), expiresAt: nullable(time()) }).meta({
      id: 'AlertKey',
      description: 'The key as it was when the alert was made.',
    }),
  ),
  since: time().meta({ description: 'Since when it needs attention, as far as that is known.' }),
  level: z.int().meta({ description: '1, and higher if it has become more urgent.' }),
  text: z.string().meta({ description: 'The alert in English, without markup and without names.' }),
  advice: z.string().meta({ description: 'What to do about it.' }),
});

const settingsUrl = nullable(z.url()).meta({
  description: 'The page of the settings area to look at; null if the operator has not set the address of the service.',
});

const alertMessage = (type: FactType) =>
  z
    .object({
      type: z.literal(messageType(type)),
      timestamp: time().meta({ description: 'When it was found.' }),
      data: alertData.extend({ settingsUrl }),
    })
    .meta({ id: `Alert_${type}`, description: FACT_MEANINGS[type] });

/** A message to the PSA, with the meaning of a 204 and a 410. */
function webhook(
  operation: { operationId: string; tags: string[]; summary: string; description: string },
  schema: z.ZodType,
  { stored, gone }: { stored: string; gone: string },
): ZodOpenApiPathItemObject {
  return {
    post: {
      ...operation,
      security: [],
      requestParams: { header: signature },
      requestBody: { required: true, content: { 'application/json': { schema } } },
      responses: {
        204: { description: stored },
        410: { description: gone },
        503: { description: 'Try again, after `Retry-After` if it is set.' },
      },
    },
  };
}

const changesWebhook = webhook(
  {
    operationId: 'receiveChanges',
    tags: ['Push'],
    summary: 'Receive changes',
    description:
      'The service posts the changes of an organization in order, at most 100 changes and 512 KiB at a time, signed in the same way. It continues only after a 2xx. Until then it sends the same page with the same `webhook-id`, or the first half of a page that timed out: put the id of the note or time entry on what you write, and look for it first.',
  },
  pushedPage,
  {
    stored: 'The changes are stored.',
    gone: 'Stop sending the changes of this organization, until they are resumed.',
  },
);

const alertWebhook = (type: FactType) =>
  webhook(
    {
      operationId: `receive_${type}`,
      tags: ['Alerts'],
      summary: `Receive ${messageType(type)}`,
      description: FACT_MEANINGS[type],
    },
    alertMessage(type),
    {
      stored: 'The alert is stored, or of no interest.',
      gone: 'Do not send this alert again. The changes are not affected.',
    },
  );

const examples = (exampleOf: (type: PsaCallType) => unknown) =>
  Object.fromEntries(PSA_CALL_TYPES.map((type) => [type, { value: exampleOf(type) }]));

/** The PSA's interface: the calls, and the push as a webhook. `origin` is as for `describeApi`. */
export function describePsa(origin: string) {
  return openapi({
    info: {
      title: 'Ticket Write-Back API: interface for the PSA',
      contact: { name: 'Guide', ...(origin !== '' && { url: `${origin}/docs/psa` }) },
      description:
        'A PSA keeps its directory up to date, reads what automations wrote, and reviews or redacts it. Messages are signed as in [Standard Webhooks](https://www.standardwebhooks.com) 1.0 with a secret of the operator. Responses may gain fields: ignore unknown fields.',
    },
    servers: [{ url: origin || '/' }],
    tags: [
      { name: 'Calls', description: 'What the PSA sends.' },
      { name: 'Push', description: 'What the PSA receives.' },
      { name: 'Alerts', description: 'Optional. Answer 2xx to ignore.' },
    ],
    paths: {
      '/psa': {
        post: {
          operationId: 'call',
          tags: ['Calls'],
          summary: 'Send a message',
          description:
            'Runs the call that `type` names. Every call is safe to repeat. A directory message with an older time than the last one applied to its organization gets `superseded`.',
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
                'WWW-Authenticate': psaHeader('WWWAuthenticate', z.string()),
                Date: psaHeader('Date', z.string()),
              }),
              content: { 'application/problem+json': { schema: unauthorizedProblem } },
            },
            ...refusals(problems, (codes) => ({ 'application/problem+json': { schema: problemShape(codes) } })),
            ...refusals(CALL_ERROR_TEXTS, () => ({ 'application/json': { schema: failure } })),
          },
        },
      },
    },
    webhooks: {
      'work.changes': changesWebhook,
      ...Object.fromEntries(FACT_TYPES.map((type) => [messageType(type), alertWebhook(type)])),
    },
  });
}
