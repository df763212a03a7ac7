import * as z from 'zod';
import type { ZodOpenApiOperationObject } from 'zod-openapi';
import type { Config } from '../config.ts';
import { KEY_LENGTH } from '../domain/api-key.ts';
import { type DeploymentLimits, limitsInWords } from '../domain/day-limit.ts';
import { DIRECTORY_ID } from '../domain/directory-id.ts';
import { idempotencyKeyHeader } from '../domain/idempotency-key.ts';
import {
  noteRequest,
  RECORD_KIND_NAMES,
  RECORD_KINDS,
  type RecordKind,
  SCOPE_IDS,
  timeEntryRequest,
} from '../domain/record-kinds.ts';
import { dryRunResult, noteResult, pingResponse, timeEntryResult } from '../domain/response-shapes.ts';
import { PROBLEMS, type ProblemCode } from '../http/problems.ts';
import { keysOf } from '../lib/objects.ts';
import { openapi, pascalCase } from './openapi.ts';
import { createdHeaders, problemResponses, replayHeaders, successHeaders, unauthorizedResponse } from './responses.ts';

const KEY_PROBLEMS = [
  'invalid_host',
  'https_required',
  'psa_not_included',
  'rate_limited',
  'internal_error',
  'unavailable',
] as const satisfies ProblemCode[];
/** A write can have every problem; only time is credited to a technician. */
const writeProblems = (kind: RecordKind) =>
  keysOf(PROBLEMS).filter((code) => kind === 'time_entry' || code !== 'technician_not_eligible');

const writeParameters = {
  path: z.object({
    ticketId: z.string().regex(DIRECTORY_ID).meta({ description: 'The id of the ticket in the PSA.', example: '1001' }),
  }),
  header: z.object({
    'Idempotency-Key': z.optional(idempotencyKeyHeader()).meta({
      description:
        'Makes the request safe to retry: the same value never creates a second record of the same kind. Use `<workflow>:<event id>`, and append `:2` for an intended second entry; never use a ticket number, an execution id or a value that changes with each attempt. A value whose event id is empty or a placeholder is refused, such as `triage:`, `triage:undefined:2` or `triage:$EVENT_ID`, and so is a value sent twice. It never expires; `"abc"` and `abc` are the same value.',
      example: 'triage:evt-20418',
    }),
    Prefer: z.string().optional().meta({
      description:
        'With `handling=strict` (RFC 7240), a different request with a used Idempotency-Key gets 409 instead of the record, unless that was redacted.',
      example: 'handling=strict',
    }),
  }),
};

function writeOperation(kind: RecordKind): ZodOpenApiOperationObject {
  const { noun, summary, description, request, requestExamples, result, example } = WRITES[kind];
  return {
    operationId: `create${pascalCase(kind)}`,
    tags: ['Write'],
    summary,
    description,
    requestParams: writeParameters,
    requestBody: {
      required: true,
      content: { 'application/json': { schema: request, examples: requestExamples } },
    },
    responses: {
      200: {
        description: `A replay: this Idempotency-Key already created the ${noun}.`,
        headers: replayHeaders,
        content: { 'application/json': { schema: result, example: { ...example, idempotentReplay: true } } },
      },
      201: {
        description: `The ${noun} was created.`,
        headers: createdHeaders,
        content: { 'application/json': { schema: result, example } },
      },
      401: unauthorizedResponse,
      ...problemResponses(writeProblems(kind)),
    },
  };
}

/** The dry run of a write: the same request, and one response if it is accepted. */
function dryRunOperation(kind: RecordKind, write: ZodOpenApiOperationObject): ZodOpenApiOperationObject {
  const { noun, example } = WRITES[kind];
  const workDate = 'entry' in example ? { workDate: '2026-11-21T00:00:00.000Z' } : {};
  return {
    ...write,
    operationId: `dryRun${pascalCase(kind)}`,
    tags: ['Check'],
    summary: `Check a request for ${noun === 'entry' ? 'an entry' : 'a note'}, and write nothing`,
    description: `Takes the request that would create the ${noun}, with the same scope, limits and checks. An error is the one that this request would get now, except a fault of the database; its Idempotency-Key stays unused.`,
    responses: {
      200: {
        description: `The request passed all checks, or its Idempotency-Key already created the ${noun}.`,
        headers: createdHeaders,
        content: {
          'application/json': { schema: dryRunSchema, example: { dryRun: true, ticketId: '1001', ...workDate } },
        },
      },
      401: unauthorizedResponse,
      // The outcome of a request that writes nothing is always known.
      ...problemResponses(writeProblems(kind).filter((code) => code !== 'outcome_unknown')),
    },
  };
}

const dryRunSchema = dryRunResult.meta({ id: 'DryRunResult' });

const pingOperation: ZodOpenApiOperationObject = {
  operationId: 'ping',
  tags: ['Check'],
  summary: 'Check that the key works',
  description: 'Requires no scope and changes nothing.',
  responses: {
    200: {
      description: 'The key works. The body shows whose key it is.',
      headers: successHeaders,
      content: {
        'application/json': {
          schema: pingResponse.meta({ id: 'Ping' }),
          example: { ok: true, organizationId: 'northwind', keyName: 'n8n: triage', scopes: SCOPE_IDS },
        },
      },
    },
    401: unauthorizedResponse,
    ...problemResponses([...KEY_PROBLEMS, 'method_not_allowed']),
  },
};

const work = { minutes: 30, description: 'Cleared the print queue', billable: true };

const WRITES = {
  note: {
    noun: 'note',
    summary: 'Add an internal note to a ticket',
    description: `Requires the scope \`${RECORD_KINDS.note.scope}\`. This service sends no email. Your PSA stores the note as an internal note; whether it notifies the team is its setting.`,
    request: noteRequest.check(z.meta({ id: 'NoteRequest' })),
    requestExamples: { note: { summary: 'A note', value: { message: 'Print queue cleared by the overnight check.' } } },
    result: noteResult.meta({ id: 'NoteResult' }),
    example: { note: { id: '01a3b2c4-5d6e-7f80-9a1b-2c3d4e5f6072', createdAt: '2026-11-21T09:30:00.000Z' } },
  },
  time_entry: {
    noun: 'entry',
    summary: 'Log time on a ticket',
    description: `Requires the scope \`${RECORD_KINDS.time_entry.scope}\`. The entry is dated the day on which it is written, in the organization's time zone, is SUBMITTED for approval, and takes its rate from the company's agreement or the organization's default.`,
    request: timeEntryRequest.check(z.meta({ id: 'TimeEntryRequest' })),
    requestExamples: {
      serviceAccount: { summary: 'Credited to the automation service account', value: work },
      technician: { summary: 'Credited to a technician', value: { ...work, userEmail: 'tess@northwind.example' } },
    },
    result: timeEntryResult.meta({ id: 'TimeEntryResult' }),
    example: {
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
    },
  },
} satisfies Record<RecordKind, object>;

const writes = Object.fromEntries(
  RECORD_KIND_NAMES.flatMap((kind) => {
    const path = `/tickets/{ticketId}/${RECORD_KINDS[kind].path}`;
    const post = writeOperation(kind);
    return [
      [path, { post }],
      [`${path}/dry-run`, { post: dryRunOperation(kind, post) }],
    ];
  }),
);

/**
 * The contract, from the same schemas that validate requests and type responses. If `origin` is empty,
 * the addresses are relative to the document's (OpenAPI 3.1.0 §4.8.5).
 */
export function describeApi({ keyPrefix, ...limits }: Pick<Config, 'keyPrefix'> & DeploymentLimits, origin: string) {
  return openapi({
    info: {
      title: 'Ticket Write-Back API',
      contact: { name: 'Reference, errors and recipes', ...(origin !== '' && { url: `${origin}/docs` }) },
      description: [
        'Automations write the result of their work back to the ticketing system: internal notes and time entries, and nothing else.',
        'A POST with an Idempotency-Key is always safe to retry.',
        `Limits: ${limitsInWords(limits)}`,
        'Responses may gain fields: ignore unknown fields. [Errors](/docs/errors) explains every error, [recipes](/docs/recipes) the setup of each tool.',
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
  });
}
