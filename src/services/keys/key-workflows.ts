import { findKeyWorkflows } from '../../db/audit/audit-log-statements.ts';
import { isLive } from '../../domain/api-key.ts';
import { query, queryAll } from '../call-d1.ts';
import type { AdminContext } from '../service-context.ts';
import { findOwnKey, type KeyDetails } from './read-keys.ts';

/** How many of the latest writes of a key are read. */
export const EXAMINED_WRITES = 1_000;

/** The writes of a key with the same beginning of the Idempotency-Key, sent by the same program. */
export type Workflow = Awaited<ReturnType<typeof findKeyWorkflows>>[number];

/** What each key of a rotation has written since, while the old one still works. */
export interface Rotation {
  since: number;
  old: { subject: KeyDetails; workflows: Workflow[] };
  new: { subject: KeyDetails; workflows: Workflow[] };
}

/** The workflows of a key, the last one that wrote first, and the rotation that it takes part in. */
export async function readWorkflows(
  ctx: AdminContext,
  key: KeyDetails,
): Promise<{ workflows: Workflow[]; rotation: Rotation | undefined }> {
  const { organizationId } = ctx.actor;
  const other = key.successor ?? key.predecessor;
  const [workflows, otherKey] = await Promise.all([
    query(ctx, 'nothing_written', (db) =>
      findKeyWorkflows(db, { organizationId, keyId: key.id, since: 0, limit: EXAMINED_WRITES }),
    ),
    other && findOwnKey(ctx, other.id),
  ]);
  if (!otherKey) return { workflows, rotation: undefined };
  const [oldKey, newKey] = key.successor ? [key, otherKey] : [otherKey, key];
  if (!isLive(oldKey.state)) return { workflows, rotation: undefined };
  const since = newKey.createdAt;
  const [byOld = [], byNew = []] = await queryAll(ctx, 'nothing_written', (db) =>
    [oldKey, newKey].map(({ id }) =>
      findKeyWorkflows(db, { organizationId, keyId: id, since, limit: EXAMINED_WRITES }),
    ),
  );
  const rotation = { since, old: { subject: oldKey, workflows: byOld }, new: { subject: newKey, workflows: byNew } };
  return { workflows, rotation };
}
