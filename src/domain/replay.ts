import * as z from 'zod';

/** Additional response fields if the Idempotency-Key already created the record. */
export const replayFields = {
  idempotentReplay: z.literal(true).meta({ description: 'The record already existed; this request wrote nothing.' }),
  idempotencyMismatch: z.literal(true).optional().meta({
    description:
      'Present if this request differs from the one that created the record: the key was reused for something else.',
  }),
  ticketId: z.string().optional().meta({ description: 'Present with a mismatch: the ticket of the existing record.' }),
};

export type ReplayFields = z.output<z.ZodObject<typeof replayFields>>;
