import * as z from 'zod';
import { createDocument, type ZodOpenApiObject } from 'zod-openapi';
import { UNAUTHORIZED_PROBLEM } from '../http/problems.ts';

// The parts that both OpenAPI documents share.

/** The version of both contracts, not of the code. */
const CONTRACT_VERSION = '1.0.0';
/** The request id in all examples. */
export const REQUEST_ID = '01a3b2c4-5d6e-7f80-9a1b-2c3d4e5f6071';

/** An OpenAPI 3.1 document. Responses may gain fields, so it does not rule out additional ones. */
export function openapi({
  info,
  ...document
}: Omit<ZodOpenApiObject, 'openapi' | 'info'> & { info: Omit<ZodOpenApiObject['info'], 'version'> }) {
  return createDocument(
    {
      openapi: '3.1.0',
      info: {
        version: CONTRACT_VERSION,
        license: { name: 'Proprietary', identifier: 'LicenseRef-Proprietary' },
        ...info,
      },
      ...document,
    },
    {
      override: ({ jsonSchema, io }) => {
        if (io === 'output' && jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
      },
    },
  );
}

/** Describes a header as a component of the document. */
export const header = <Shape extends z.ZodType>(shape: Shape, id: string, description: string, example: string) =>
  shape.meta({ description, example, header: { id } });

/** `subject`: a request, or a message. */
export const requestIdOf = (subject: string) => ({
  'X-Request-Id': header(
    z.uuid(),
    'RequestId',
    `Generated for each ${subject}. Include it when you ask for help.`,
    REQUEST_ID,
  ),
});

export const seconds = z.string().regex(/^[1-9]\d*$/);

export const unauthorizedProblem = z.object({
  type: z.literal(UNAUTHORIZED_PROBLEM.type),
  title: z.literal(UNAUTHORIZED_PROBLEM.title),
  status: z.literal(UNAUTHORIZED_PROBLEM.status),
});
