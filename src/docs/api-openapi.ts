import type { Handler } from 'hono';
import * as z from 'zod';
import { createDocument, type ZodOpenApiOperationObject } from 'zod-openapi';
import type { Config } from '../config.ts';
import { KEY_LENGTH } from '../domain/api-key.ts';
import { dayLimitsSentence } from '../domain/day-limit.ts';
import { RECORD_KIND_NAMES, RECORD_KINDS } from '../domain/record-kinds.ts';
import { requestLimitInWords } from '../domain/request-limit.ts';
import { pingOperation } from '../http/api/ping.ts';
import { RECORD_ENDPOINTS } from '../http/api/record-endpoints.ts';
import { keylessHeaders, keylessProblemResponses } from '../http/api/responses.ts';
import type { AppEnv } from '../http/context.ts';
import { forLatestOrigin } from '../http/for-latest-origin.ts';

/** The version of the contract, not of the code. The path contains its major version. */
const CONTRACT_VERSION = '1.0.0';

const readContract: ZodOpenApiOperationObject = {
  operationId: 'readContract',
  tags: ['Check'],
  summary: 'Read the OpenAPI document of this API',
  description: 'Requires no key.',
  security: [],
  responses: {
    200: {
      description: 'The contract of the API as an OpenAPI 3.1 document.',
      headers: keylessHeaders,
      content: {
        'application/json': { schema: z.looseObject({ openapi: z.literal('3.1.0') }), example: { openapi: '3.1.0' } },
      },
    },
    ...keylessProblemResponses(['https_required', 'rate_limited']),
  },
};

const writes = Object.fromEntries(
  RECORD_KIND_NAMES.map((kind) => [
    `/tickets/{ticketId}/${RECORD_KINDS[kind].path}`,
    { post: RECORD_ENDPOINTS[kind].operation },
  ]),
);

/**
 * The contract of a deployment as an OpenAPI 3.1 document, from the same schemas that validate
 * requests and type responses. `origin` is the base URL of the deployment.
 */
export function describeApi(
  { keyPrefix, ipLimit, keyLimit, dayLimits }: Pick<Config, 'keyPrefix' | 'ipLimit' | 'keyLimit' | 'dayLimits'>,
  origin: string,
) {
  return createDocument(
    {
      openapi: '3.1.0',
      info: {
        title: 'Ticket Write-Back API',
        version: CONTRACT_VERSION,
        contact: { name: 'Reference, problems and recipes', url: `${origin}/docs` },
        license: { name: 'Proprietary', identifier: 'LicenseRef-Proprietary' },
        description: [
          'Automations write the result of their work back to the ticketing system: internal notes and time entries, and nothing else.',
          'A POST with an Idempotency-Key is always safe to retry.',
          `Limits: ${requestLimitInWords(keyLimit)} per key, unless the key has its own limit, and ${requestLimitInWords(ipLimit)} per source address. ${dayLimitsSentence(dayLimits)}`.trim(),
          'Responses may gain fields: ignore unknown fields. [Problems](/docs/problems) explains every error, [recipes](/docs/recipes) the setup of each tool.',
        ].join('\n\n'),
      },
      servers: [{ url: `${origin}/api/v1` }],
      security: [{ key: [] }],
      tags: [
        { name: 'Check', description: 'Check that the automation is set up correctly.' },
        { name: 'Write', description: 'Write the result of work to a ticket.' },
      ],
      paths: {
        '/ping': { get: pingOperation },
        ...writes,
        '/openapi.json': { get: readContract },
      },
      components: {
        securitySchemes: {
          key: {
            type: 'http',
            scheme: 'bearer',
            bearerFormat: `${keyPrefix}_ followed by ${KEY_LENGTH} letters and digits`,
            description:
              'An API key that an administrator created in the settings area. Send `Authorization: Bearer <key>`.',
          },
        },
      },
    },
    {
      // Responses may gain fields, so the document must not rule out additional ones.
      override: ({ jsonSchema, io }) => {
        if (io === 'output' && jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
      },
    },
  );
}

/**
 * GET /api/v1/openapi.json: the contract with the origin of the request, because many tools require
 * an absolute URL.
 */
export function openapi(config: Config): Handler<AppEnv> {
  const document = forLatestOrigin((origin) => JSON.stringify(describeApi(config, origin)));
  return (c) => c.body(document(new URL(c.req.url).origin), 200, { 'Content-Type': 'application/json' });
}
