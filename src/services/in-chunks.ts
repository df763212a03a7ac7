import type { BoundStatement } from '../db/statement.ts';
import { log } from '../lib/log.ts';
import { write } from './call-d1.ts';
import { forNextChunk, type ServiceContext } from './service-context.ts';

/** How much one run of a job does: at most `chunks` transactions of at most `rows` rows each. */
export interface RunLimits {
  rows: number;
  chunks: number;
}

/** The limits of each job of the daily run, which all together may make 1,000 queries. */
export const DAILY_LIMITS: RunLimits = { rows: 1_000, chunks: 200 };

/** Changes at most `rows` rows at a time, up to the limits. Returns whether nothing is left. */
export async function runInChunks(
  ctx: ServiceContext,
  { rows, chunks }: RunLimits,
  change: (limit: number) => BoundStatement<never>,
): Promise<boolean> {
  const statement = change(rows);
  for (let chunk = 0; chunk < chunks; chunk++) {
    const changes = await write(forNextChunk(ctx), 'safe_to_repeat', statement);
    if (changes < rows) return true;
  }
  return false;
}

/** Logs if a job of the daily run has left something to the next run. */
export async function logUnfinished(part: string, isDone: Promise<boolean>): Promise<void> {
  if (!(await isDone)) log('warn', 'daily_job_unfinished', { part });
}
