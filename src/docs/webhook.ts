import * as z from 'zod';
import type { ZodOpenApiPathItemObject } from 'zod-openapi';
import { TOLERANCE_SECONDS } from '../domain/webhook.ts';

/** The headers of a signed message, in both directions. */
export const signature = z.object({
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

/** A message to the PSA, with the meaning of a 204 and a 410. */
export function webhook(
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
