import * as z from 'zod';
import { pascalCase } from '../../../docs/openapi.ts';
import { describedRecord } from '../../../domain/directory.ts';
import { callErrorFields, changesPage, deactivated, listed, psaStatus, upserted } from '../../../domain/psa-shapes.ts';
import { APPROVAL_DECISIONS } from '../../../domain/record-kinds.ts';
import { fieldErrorShape } from '../../../domain/response-shapes.ts';
import { CALL_ERROR_CODES, type CallError } from '../../../services/call-result.ts';
import { PSA_CALL_TYPES, PSA_CALLS, type PsaCallType } from '../psa-calls.ts';
import { callText } from './call-texts.ts';

// The shapes of the PSA's messages and answers.

export const VALUES: Record<PsaCallType, z.ZodType> = {
  'directory.upsert': upserted,
  'directory.deactivate': deactivated,
  'directory.list': listed,
  'work.changes': changesPage,
  'work.review': z.object({ status: z.enum(APPROVAL_DECISIONS) }).meta({ id: 'Reviewed' }),
  'work.report': z.object({ status: z.enum(['recorded', 'unchanged']) }).meta({ id: 'Reported' }),
  'work.status': psaStatus,
  'push.resume': z.object({ status: z.enum(['resumed', 'unchanged']) }).meta({ id: 'Resumed' }),
  'work.redact': z.object({ status: z.enum(['redacted', 'unchanged']) }).meta({ id: 'Redacted' }),
};

/** `directory.upsert` accepts its records one by one, so its own shape does not describe them. */
const describedUpsert = z.strictObject({
  organization: z.string().meta({ description: 'The organization of all records.' }),
  records: z.array(describedRecord()).max(1_000),
  allOrNothing: z
    .boolean()
    .default(false)
    .meta({ description: 'Whether nothing is written if a record breaks a rule.' }),
  recreate: z
    .boolean()
    .default(false)
    .meta({ description: 'Whether an organization that was erased is created again, without its earlier records.' }),
});

export const dataOf = (type: PsaCallType): z.core.$ZodType =>
  type === 'directory.upsert' ? describedUpsert : PSA_CALLS[type].request;

export const messages = PSA_CALL_TYPES.map((type) =>
  z
    .strictObject({
      type: z.literal(type),
      data: dataOf(type),
      timestamp: z.string().optional().meta({ description: 'Ignored: the time in the header counts.' }),
    })
    .meta({ id: `${pascalCase(type)}Message`, description: callText(type).summary }),
);

/** The answer to a call that succeeded. Its values are in the order of the messages. */
export const success = z
  .object({ ok: z.literal(true), value: z.union(PSA_CALL_TYPES.map((type) => VALUES[type])) })
  .meta({ id: 'Success' });

const callError: z.ZodType<CallError> = z
  .object({
    code: z.enum(CALL_ERROR_CODES),
    detail: z.string().meta({ description: 'The cause and the remedy. For people: compare `code` instead.' }),
    errors: z.array(fieldErrorShape).meta({ description: 'For `invalid`: the wrong fields, at most 20.' }),
    ...callErrorFields.shape,
  })
  .meta({ id: 'CallError' });

export const failure = z.object({ ok: z.literal(false), error: callError }).meta({ id: 'Failure' });
