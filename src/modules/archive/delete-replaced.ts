import { callD1 } from '../../services/call-d1.ts';
import type { ServiceContext } from '../../services/context.ts';
import { findReplaced, forgetReplaced, type ReplacedRow } from './archive-statements.ts';
import { callBucket } from './bucket.ts';

/**
 * Deletes an object that a redaction replaced. The database names it until then, so that the next
 * call deletes it if this one ends early.
 * @throws ServiceError `unavailable`
 */
export async function deleteReplaced(ctx: ServiceContext, replaced: ReplacedRow): Promise<void> {
  await callBucket(ctx, (bucket) => bucket.delete([replaced.replacedObject]));
  await callD1(ctx, 'safe_to_repeat', (db) => forgetReplaced.bind(replaced).all(db));
}

/**
 * At most `limit` objects that calls which ended early have not deleted.
 * @throws ServiceError `unavailable`
 */
export async function listReplaced(ctx: ServiceContext, limit: number): Promise<ReplacedRow[]> {
  return (await callD1(ctx, 'nothing_written', (db) => findReplaced.bind({ limit }).all(db))).results;
}
