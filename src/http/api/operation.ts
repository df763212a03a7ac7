import * as z from 'zod';
import type { ZodOpenApiOperationObject } from 'zod-openapi';
import { DIRECTORY_ID } from '../../domain/directory-id.ts';
import { idempotencyKeyHeader } from '../../domain/idempotency-key.ts';
import type { ProblemCode } from '../problems.ts';
import { problemResponses, replayHeaders, successHeaders, unauthorizedResponse } from './responses.ts';

/** The problems of every request with a key. */
export const KEY_PROBLEMS = [
  'https_required',
  'psa_not_included',
  'rate_limited',
  'internal_error',
  'unavailable',
] as const satisfies ProblemCode[];
/** The problems of every write. */
const WRITE_PROBLEMS = [
  ...KEY_PROBLEMS,
  'malformed_json',
  'invalid_encoding',
  'invalid_idempotency_key',
  'daily_limit_reached',
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
    ticketId: z.string().regex(DIRECTORY_ID).meta({ description: 'The id of the ticket in the PSA.', example: '1001' }),
  }),
  header: z.object({
    'Idempotency-Key': idempotencyKeyHeader.optional().meta({
      description:
        'Makes the request safe to retry: the same value never creates a second record. Use `<workflow>:<event id>`, and append `:2` for an intended second entry; never use a ticket number, an execution id or a value that changes with each attempt. A value is refused if the event id in it came out empty: nothing, `undefined`, `null`, `NaN` or `None` (in any case) or `[object …` after the last `:` or `/`, or `{{`, `}}` or `${` anywhere. It never expires; `"abc"` and `abc` are the same value.',
      example: 'triage:evt-20418',
    }),
  }),
};

/** The parts of the OpenAPI document that differ between writes. */
interface WriteDescription {
  /** Its name, and that of its schemas: `<Name>Request`, `<Name>Result`. */
  operationId: string;
  schemaName: string;
  summary: string;
  description: string;
  request: z.ZodType;
  requestExamples: Record<string, { summary: string; value: unknown }>;
  /** The response body, of a new record and of a replay. */
  result: z.ZodType;
  example: Record<string, unknown>;
  meaning: { created: string; replayed: string };
  /** The problems of this write only. */
  problems?: readonly ProblemCode[];
}

/** The OpenAPI operation of a write. */
export function writeOperation(write: WriteDescription): ZodOpenApiOperationObject {
  const { operationId, schemaName, summary, description, meaning, example } = write;
  const result = write.result.meta({ id: `${schemaName}Result` });
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
            schema: result,
            example: { ...example, idempotentReplay: true },
          },
        },
      },
      201: {
        description: meaning.created,
        headers: successHeaders,
        content: { 'application/json': { schema: result, example } },
      },
      401: unauthorizedResponse,
      ...problemResponses([...WRITE_PROBLEMS, ...(write.problems ?? [])]),
    },
  };
}
