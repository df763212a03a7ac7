import type { Context } from 'hono';
import type { ReplayFields } from '../../domain/response-shapes.ts';
import type { WriteOutcome, WriteTarget } from '../../services/work/write-once.ts';
import type { ApiEnv } from '../hono-env.ts';

/** 201 for a new record; 200 for a replay, with whether the requests were the same. */
export function respondToWrite<Body extends object>(
  c: Context<ApiEnv>,
  target: WriteTarget,
  outcome: WriteOutcome<{ ticketId: string }>,
  body: Body,
): Response {
  if (!outcome.replayed) return c.json(body, 201);
  const { mismatch, row } = outcome;
  if (mismatch) c.set('lostWrite', target);
  const headers = { 'Idempotency-Replayed': 'true', ...(mismatch ? { 'Idempotency-Mismatch': 'true' } : {}) };
  const replay: ReplayFields = {
    idempotentReplay: true,
    ...(mismatch ? { idempotencyMismatch: true, ticketId: row.ticketId } : {}),
  };
  return c.json({ ...body, ...replay }, 200, headers);
}
