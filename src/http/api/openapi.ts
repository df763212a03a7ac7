import type { Handler } from 'hono';
import * as z from 'zod';
import { createDocument, type ZodOpenApiOperationObject } from 'zod-openapi';
import type { Config } from '../../config.ts';
import { KEY_LENGTH } from '../../domain/api-key.ts';
import type { RateLimitPolicy } from '../../domain/rate-limit.ts';
import { RECORD_KIND_NAMES, RECORD_KINDS } from '../../domain/record-kinds.ts';
import type { AppEnv } from '../context.ts';
import { pingOperation } from './ping.ts';
import { RECORD_ENDPOINTS } from './record-endpoints.ts';
import { keylessHeaders, keylessProblemResponses } from './responses.ts';

/** The version of the contract, not of the code: the path carries its first number. */
const CONTRACT_VERSION = '1.0.0';

const readContract: ZodOpenApiOperationObject = {
  operationId: 'readContract',
  tags: ['Check'],
  summary: 'This document',
  description: 'Needs no key.',
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

const inWords = ({ quota, windowMs }: RateLimitPolicy) => `${quota} requests in any ${windowMs / 1000} seconds`;

/** The contract of a deployment as an OpenAPI 3.1 document, made from the very shapes that validate and answer. `origin` is where it is reached. */
export function describeApi(
  { keyPrefix, ipLimit, keyLimit }: Pick<Config, 'keyPrefix' | 'ipLimit' | 'keyLimit'>,
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
          'An automation writes the result of its work back into the ticketing system: an internal note or a time entry, and nothing else.',
          'A POST with an Idempotency-Key is always safe to send again.',
          `A key may send ${inWords(keyLimit)} unless it has a limit of its own, an address ${inWords(ipLimit)}.`,
          'Answers may gain fields: ignore those you do not know. Every error is explained under [problems](/docs/problems), every tool under [recipes](/docs/recipes).',
        ].join('\n\n'),
      },
      servers: [{ url: `${origin}/api/v1` }],
      security: [{ key: [] }],
      tags: [
        { name: 'Check', description: 'Is the automation wired correctly?' },
        { name: 'Write', description: 'Write the result of work into a ticket.' },
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
            bearerFormat: `${keyPrefix}_ and ${KEY_LENGTH} letters and digits`,
            description: 'An API key that an administrator made in the settings. Send `Authorization: Bearer <key>`.',
          },
        },
      },
    },
    {
      // Answers may gain fields, so a client must not be told that they never do.
      override: ({ jsonSchema, io }) => {
        if (io === 'output' && jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
      },
    },
  );
}

/** GET /api/v1/openapi.json: the contract for the address it was asked at, since many tools want a whole one. */
export function openapi(config: Config): Handler<AppEnv> {
  // Made when it is asked for, not when the worker starts: writes should not wait for it. One deployment has one address, or few.
  let latest = { origin: '', text: '' };
  return (c) => {
    const { origin } = new URL(c.req.url);
    if (latest.origin !== origin) latest = { origin, text: JSON.stringify(describeApi(config, origin)) };
    return c.body(latest.text, 200, { 'Content-Type': 'application/json' });
  };
}
