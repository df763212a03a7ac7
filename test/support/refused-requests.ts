import type { NewRefusedRequest } from '../../src/services/keys/record-refusal.ts';

/** A refused request for the log: one with an invalid field, except for `changes`. */
export const refusedRequest = (requestId: string, changes: Partial<NewRefusedRequest> = {}): NewRefusedRequest => ({
  requestId,
  at: Date.now(),
  status: 422,
  reason: 'validation_failed',
  pointers: ['/minutes'],
  ticketId: '1001',
  userEmail: null,
  dayLimit: null,
  sourceAddress: '192.0.2.1',
  userAgent: 'n8n',
  ...changes,
});
