import * as z from 'zod';
import type { ZodOpenApiOperationObject } from 'zod-openapi';
import { DIRECTORY_ID } from '../../domain/directory-id.ts';
import { idempotencyKeyHeader } from '../../domain/idempotency-key.ts';
import type { ProblemCode } from '../problems.ts';
import { problemResponses, replayHeaders, successHeaders, unauthorizedResponse } from './responses.ts';

/** The problems that any request with a key can meet. */
export const KEY_PROBLEMS = [
  'https_required',
  'psa_not_included',
  'rate_limited',
  'internal_error',
  'unavailable',
] as const satisfies ProblemCode[];
/** The problems that any write can meet. */
const WRITE_PROBLEMS = [
  ...KEY_PROBLEMS,
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
    ticketId: z
      .string()
      .regex(DIRECTORY_ID)
      .meta({ description: 'The ticket, by its id in the PSA.', example: '1001' }),
  }),
  header: z.object({
    'Idempotency-Key': idempotencyKeyHeader.optional().meta({
      description:
        'Makes the request safe to repeat: the same key never makes a second record. Use `<workflow>:<event id>`, and append `:2` for a deliberate second entry; never a ticket number, an execution id or a value that differs on each attempt. It never expires; `"abc"` and `abc` are the same key.',
      example: 'triage:evt-20418',
    }),
  }),
};

/** What differs from one write to another in the OpenAPI document. */
interface WriteDescription {
  /** The name of the operation, and of its schemas: `<Name>Request`, `<Name>Created`, `<Name>Replayed`. */
  operationId: string;
  schemaName: string;
  summary: string;
  description: string;
  request: z.ZodType;
  requestExamples: Record<string, { summary: string; value: unknown }>;
  /** The response body: of a new record, and of a replay. */
  created: z.ZodType;
  replayed: z.ZodType;
  example: Record<string, unknown>;
  meaning: { created: string; replayed: string };
  /** Problems that only this write can meet. */
  problems?: readonly ProblemCode[];
}

/** The OpenAPI operation of a write. */
export function writeOperation(write: WriteDescription): ZodOpenApiOperationObject {
  const { operationId, schemaName, summary, description, meaning, example } = write;
  return {
    operationId,
    tags: ['Write'],
    summary,
    description,
    requestParams: writeParameters,
    requestBody: {
      required: true,
      content: {
        'application/json': {
          schema: write.request.meta({ id: `${schemaName}Request` }),
          examples: write.requestExamples,
        },
      },
    },
    responses: {
      200: {
        description: meaning.replayed,
        headers: replayHeaders,
        content: {
          'application/json': {
            schema: write.replayed.meta({ id: `${schemaName}Replayed` }),
            example: { ...example, idempotentReplay: true },
          },
        },
      },
      201: {
        description: meaning.created,
        headers: successHeaders,
        content: { 'application/json': { schema: write.created.meta({ id: `${schemaName}Created` }), example } },
      },
      401: unauthorizedResponse,
      ...problemResponses([...WRITE_PROBLEMS, ...(write.problems ?? [])]),
    },
  };
}
