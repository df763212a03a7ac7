import * as z from 'zod';

/**
 * What an answer says besides the record when the Idempotency-Key had made that record before. The 201 has none of it, but both
 * answers share one schema: several generators of clients take the schema of the first 2xx for all of them.
 */
export const replayFields = {
  idempotentReplay: z
    .literal(true)
    .optional()
    .meta({ description: 'Present in a 200: the record existed already; nothing was written now.' }),
  idempotencyMismatch: z.literal(true).optional().meta({
    description:
      'Present if this request differs from the one that made the record. The key was reused for something else.',
  }),
  ticketId: z.string().optional().meta({ description: 'With a mismatch: the ticket the record is on.' }),
};

export type ReplayFields = z.output<z.ZodObject<typeof replayFields>>;
