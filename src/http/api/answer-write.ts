import type { Context } from 'hono';
import type { NoteCreated } from '../../domain/note.ts';
import type { ReplayFields } from '../../domain/replay.ts';
import type { TimeEntryCreated } from '../../domain/time-entry.ts';
import type { ApiEnv } from '../../env.ts';
import type { Written } from '../../services/work/write-once.ts';

/** 201 for what was made now; 200 for what the Idempotency-Key had made before, which says whether it was asked for in the same words. */
export function answerWritten(c: Context<ApiEnv>, written: Written<{ ticketId: string }>, body: NoteCreated | TimeEntryCreated): Response {
  if (!written.replayed) return c.json(body, 201);
  const { mismatch, row } = written;
  const headers = { 'Idempotency-Replayed': 'true', ...(mismatch ? { 'Idempotency-Mismatch': 'true' } : {}) };
  const replay: ReplayFields = { idempotentReplay: true, ...(mismatch ? { idempotencyMismatch: true, ticketId: row.ticketId } : {}) };
  return c.json({ ...body, ...replay }, 200, headers);
}
