import * as z from 'zod';

/**
 * Additional response fields if the Idempotency-Key already created the record. A 201 has none of them, but both
 * responses share one schema: several client generators use the schema of the first 2xx for all of them.
 */
export const replayFields = {
  idempotentReplay: z
    .literal(true)
    .optional()
    .meta({ description: 'Present in a 200: the record already existed; this request wrote nothing.' }),
  idempotencyMismatch: z.literal(true).optional().meta({
    description:
      'Present if this request differs from the one that created the record: the Idempotency-Key was already used for a different request.',
  }),
  ticketId: z.string().optional().meta({ description: 'Present with a mismatch: the ticket of the existing record.' }),
};

export type ReplayFields = z.output<z.ZodObject<typeof replayFields>>;
