import { readAll, write } from '../../services/call-d1.ts';
import { findReplaced, forgetReplaced, type ReplacedRow } from './archive-statements.ts';
import { type ArchiveContext, callBucket } from './bucket.ts';

/**
 * Deletes an object that a redaction replaced. The database names it until then, so that the next
 * call deletes it if this one ends early.
 */
export async function deleteReplaced(ctx: ArchiveContext, replaced: ReplacedRow): Promise<void> {
  await callBucket(ctx, (bucket) => bucket.delete([replaced.replacedObject]));
  await write(ctx, 'safe_to_repeat', forgetReplaced.bind(replaced));
}

/** At most `limit` objects that calls which ended early have not deleted. */
export async function listReplaced(ctx: ArchiveContext, limit: number): Promise<ReplacedRow[]> {
  return readAll(ctx, findReplaced.bind({ limit }));
}
