import * as z from 'zod';

/** What an answer says besides the record when the Idempotency-Key had made that record before. */
export const replayFields = {
  idempotentReplay: z.literal(true).meta({ description: 'The record existed already; nothing was written now.' }),
  idempotencyMismatch: z.literal(true).optional().meta({
    description:
      'Present if this request differs from the one that made the record. The key was reused for something else.',
  }),
  ticketId: z.string().optional().meta({ description: 'With a mismatch: the ticket the record is on.' }),
};

export type ReplayFields = z.output<z.ZodObject<typeof replayFields>>;
