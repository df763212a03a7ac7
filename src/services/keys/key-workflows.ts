import { findKeyWorkflows } from '../../db/audit/audit-log-statements.ts';
import { isLive } from '../../domain/api-key.ts';
import { query, queryAll } from '../call-d1.ts';
import type { AdminContext } from '../service-context.ts';
import { findOwnKey, type KeyDetails } from './read-keys.ts';

/** How many of the latest writes of a key are read. */
export const EXAMINED_WRITES = 1_000;

/** The writes of a key with the same beginning of the Idempotency-Key, sent by the same program. */
export type Workflow = Awaited<ReturnType<typeof findKeyWorkflows>>[number];

/** What a key of a rotation has written since: all its writes, and the workflows whose latest write used it. */
interface KeyUse {
  subject: KeyDetails;
  writes: number;
  workflows: Workflow[];
}

/** The use of both keys of a rotation, while the old one still works. */
export interface Rotation {
  since: number;
  old: KeyUse;
  new: KeyUse;
  /** The workflows of the old key whose latest write used the new one. Writes without a prefix can be of several. */
  moved: Workflow[];
  /** The workflows that wrote with the old key before, and with neither key since. */
  unseen: Workflow[];
  /** Whether the old key has more writes than were examined, and so may have more workflows. */
  isMinimum: boolean;
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
  const [byOld = [], byNew = [], everOfOld = []] = await queryAll(ctx, 'nothing_written', (db) =>
    [
      { keyId: oldKey.id, since },
      { keyId: newKey.id, since },
      { keyId: oldKey.id, since: 0 },
    ].map((of) => findKeyWorkflows(db, { organizationId, ...of, limit: EXAMINED_WRITES })),
  );
  const moved = byNew.filter((one) => everOfOld.some((other) => isSame(one, other) && other.lastAt <= one.lastAt));
  const stayed = byOld.filter((one) => !moved.some((other) => isSame(one, other)));
  const rotation = {
    since,
    old: { subject: oldKey, writes: writesOf(byOld), workflows: stayed },
    new: {
      subject: newKey,
      writes: writesOf(byNew),
      workflows: byNew.filter((one) => !stayed.some((other) => isSame(one, other))),
    },
    moved,
    unseen: everOfOld.filter((one) => one.lastAt < since && !moved.some((other) => isSame(one, other))),
    isMinimum: writesOf(everOfOld) === EXAMINED_WRITES,
  };
  return { workflows, rotation };
}

/** The workflows of several keys, without their rotations. */
export async function readWorkflowsOf(ctx: AdminContext, keys: readonly KeyDetails[]) {
  const { organizationId } = ctx.actor;
  const found = await queryAll(ctx, 'nothing_written', (db) =>
    keys.map(({ id: keyId }) => findKeyWorkflows(db, { organizationId, keyId, since: 0, limit: EXAMINED_WRITES })),
  );
  return new Map(keys.map(({ id }, index) => [id, { workflows: found[index] ?? [], rotation: undefined }]));
}

const isSame = (a: Workflow, b: Workflow) => a.prefix !== null && a.prefix === b.prefix && a.program === b.program;
const writesOf = (workflows: readonly Workflow[]) => workflows.reduce((sum, { writes }) => sum + writes, 0);
