import type { Handler } from 'hono';
import * as z from 'zod';
import { createDocument, type ZodOpenApiOperationObject } from 'zod-openapi';
import { KEY_LENGTH } from '../../domain/api-key.ts';
import { DIRECTORY_ID } from '../../domain/directory-id.ts';
import { idempotencyKeyHeader } from '../../domain/idempotency-key.ts';
import { noteCreated, noteReplayed, noteRequest } from '../../domain/note.ts';
import { pingAnswer } from '../../domain/principal.ts';
import type { RateLimitPolicy } from '../../domain/rate-limit.ts';
import { timeEntryCreated, timeEntryReplayed, timeEntryRequest } from '../../domain/time-entry.ts';
import type { AppEnv, Settings } from '../../env.ts';
import type { ProblemCode } from '../problem.ts';
import {
  keylessHeaders,
  keylessProblemResponses,
  problemResponses,
  replayHeaders,
  successHeaders,
  unauthorizedResponse,
} from './responses.ts';

/** The version of the contract, not of the code: the path carries its first number. */
const CONTRACT_VERSION = '1.0.0';

/** What any request with a key may be answered. */
const guarded = ['psa_not_included', 'rate_limited', 'internal_error', 'unavailable'] as const satisfies ProblemCode[];
/** What a write may be answered besides. */
const written = [
  ...guarded,
  'malformed_json',
  'invalid_encoding',
  'invalid_idempotency_key',
  'not_found',
  'ticket_not_found',
  'method_not_allowed',
  'body_too_large',
  'unsupported_media_type',
  'validation_failed',
  'outcome_unknown',
] as const satisfies ProblemCode[];

const writeParameters = {
  path: z.object({
    ticketId: z.string().regex(DIRECTORY_ID).meta({ description: 'The ticket, by its id in the PSA.', example: '1001' }),
  }),
  header: z.object({
    'Idempotency-Key': idempotencyKeyHeader.optional().meta({
      description:
        'Makes the request safe to repeat: the same key never makes a second record. Use `<workflow>:<event id>`, and `:2` behind it for a deliberate second entry; never a ticket number, an execution id or a value made anew on each try. Kept for ever; `"abc"` and `abc` are the same key.',
      example: 'triage:evt-20418',
    }),
  }),
};

const ping: ZodOpenApiOperationObject = {
  operationId: 'ping',
  tags: ['Check'],
  summary: 'Check that the key works',
  description: 'Needs no scope and changes nothing.',
  responses: {
    200: {
      description: 'The key works; this is whose it is.',
      headers: successHeaders,
      content: {
        'application/json': {
          schema: pingAnswer.meta({ id: 'Ping' }),
          example: { ok: true, organizationId: 'northwind', keyName: 'n8n: triage', scopes: ['tickets:note:write', 'tickets:time:write'] },
        },
      },
    },
    401: unauthorizedResponse,
    ...problemResponses([...guarded, 'method_not_allowed']),
  },
};

const exampleNote = { note: { id: '01a3b2c4-5d6e-7f80-9a1b-2c3d4e5f6072', createdAt: '2026-11-21T09:30:00.000Z' } };

const createNote: ZodOpenApiOperationObject = {
  operationId: 'createNote',
  tags: ['Write'],
  summary: 'Add an internal note to a ticket',
  description: 'Scope: `tickets:note:write`. The note is for the team only: the customer never sees it and no email is sent.',
  requestParams: writeParameters,
  requestBody: {
    required: true,
    content: {
      'application/json': {
        schema: noteRequest.meta({ id: 'NoteRequest' }),
        example: { message: 'Print queue cleared by the overnight check.' },
      },
    },
  },
  responses: {
    200: {
      description: 'A replay: this Idempotency-Key had written the note before.',
      headers: replayHeaders,
      content: {
        'application/json': { schema: noteReplayed.meta({ id: 'NoteReplayed' }), example: { ...exampleNote, idempotentReplay: true } },
      },
    },
    201: {
      description: 'The note was written now.',
      headers: successHeaders,
      content: { 'application/json': { schema: noteCreated.meta({ id: 'NoteCreated' }), example: exampleNote } },
    },
    401: unauthorizedResponse,
    ...problemResponses(written),
  },
};

const exampleEntry = {
  entry: {
    id: '01a3b2c4-5d6e-7f80-9a1b-2c3d4e5f6073',
    minutes: 30,
    workDate: '2026-11-21T00:00:00.000Z',
    status: 'SUBMITTED',
    billable: true,
    hourlyRate: 150,
    userId: 'automation',
  },
  agreementSource: 'company_default',
};

const createTimeEntry: ZodOpenApiOperationObject = {
  operationId: 'createTimeEntry',
  tags: ['Write'],
  summary: 'Log time on a ticket',
  description:
    "Scope: `tickets:time:write`. The entry is dated today in the organization's time zone (a retry after midnight lands on the next day), is SUBMITTED for approval, and takes its rate from the company's agreement or the organization's default.",
  requestParams: writeParameters,
  requestBody: {
    required: true,
    content: {
      'application/json': {
        schema: timeEntryRequest.meta({ id: 'TimeEntryRequest' }),
        examples: {
          serviceAccount: {
            summary: 'Credited to the automation service account',
            value: { minutes: 30, description: 'Cleared the print queue', billable: true },
          },
          technician: {
            summary: 'Credited to a technician',
            value: { minutes: 30, description: 'Cleared the print queue', billable: true, userEmail: 'tess@northwind.example' },
          },
        },
      },
    },
  },
  responses: {
    200: {
      description: 'A replay: this Idempotency-Key had logged the entry before.',
      headers: replayHeaders,
      content: {
        'application/json': {
          schema: timeEntryReplayed.meta({ id: 'TimeEntryReplayed' }),
          example: { ...exampleEntry, idempotentReplay: true },
        },
      },
    },
    201: {
      description: 'The entry was logged now.',
      headers: successHeaders,
      content: { 'application/json': { schema: timeEntryCreated.meta({ id: 'TimeEntryCreated' }), example: exampleEntry } },
    },
    401: unauthorizedResponse,
    ...problemResponses([...written, 'technician_not_eligible']),
  },
};

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
      content: { 'application/json': { schema: z.looseObject({ openapi: z.literal('3.1.0') }), example: { openapi: '3.1.0' } } },
    },
    ...keylessProblemResponses(['rate_limited']),
  },
};

const inWords = ({ quota, windowMs }: RateLimitPolicy) => `${quota} requests in any ${windowMs / 1000} seconds`;

/** The contract of a deployment as an OpenAPI 3.1 document, made from the very shapes that validate and answer. `origin` is where it is reached. */
export function describeApi({ keyPrefix, ipLimit, keyLimit }: Pick<Settings, 'keyPrefix' | 'ipLimit' | 'keyLimit'>, origin: string) {
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
        '/ping': { get: ping },
        '/tickets/{ticketId}/notes': { post: createNote },
        '/tickets/{ticketId}/time-entries': { post: createTimeEntry },
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
export function openapi(settings: Settings): Handler<AppEnv> {
  // Made when it is asked for, not when the worker starts: writes should not wait for it. One deployment has one address, or few.
  let latest = { origin: '', text: '' };
  return (c) => {
    const { origin } = new URL(c.req.url);
    if (latest.origin !== origin) latest = { origin, text: JSON.stringify(describeApi(settings, origin)) };
    return c.body(latest.text, 200, { 'Content-Type': 'application/json' });
  };
}
