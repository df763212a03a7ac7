import { DAY_MS } from '../../domain/calendar.ts';
import { timeOrderedId } from '../../domain/record-id.ts';
import { log } from '../../lib/log.ts';
import type { ObjectStore } from '../../lib/object-store.ts';
import { type ArchiveRule, archiveStep, listDueArchives } from './archive-step.ts';
import { deleteReplaced, listReplaced } from './delete-replaced.ts';

/** The deadline of one step. */
const DEADLINE_MS = 60_000;
/** One run makes at most so many steps. Each calls D1 and the bucket about 20 times: 1,000 are allowed. */
export const MAX_STEPS = 40;
/** After so many organizations failed, the bucket or the database does. */
const MAX_FAILED = 5;

/**
 * Archives what is older than `keepDays`, one step of each organization after the other, until nothing
 * is due or the run has made its steps; the next run continues. Before that, deletes objects that a
 * redaction replaced and could not delete. An organization whose step fails does not stop the others,
 * unless five do. The first error is thrown at the end, so that the platform shows it.
 */
export async function archiveDue(
  { db, bucket }: { db: D1Database; bucket: ObjectStore },
  { keepDays, isPushed }: { keepDays: number; isPushed: boolean },
  now: () => number = Date.now,
): Promise<void> {
  const context = () => ({
    db,
    archive: bucket,
    now,
    deadlineAt: Date.now() + DEADLINE_MS,
    requestId: timeOrderedId(now()),
  });
  const rule: ArchiveRule = { before: now() - keepDays * DAY_MS, isPushed };
  for (const replaced of await listReplaced(context(), MAX_STEPS)) await deleteReplaced(context(), replaced);
  const failures = new Map<string, unknown>();
  let [steps, changes] = [0, 0];
  while (steps < MAX_STEPS && failures.size < MAX_FAILED) {
    const due = await listDueArchives(context(), rule, MAX_STEPS);
    const organizations = due.filter((organization) => !failures.has(organization)).slice(0, MAX_STEPS - steps);
    if (organizations.length === 0) break;
    for (const organization of organizations) {
      if (failures.size === MAX_FAILED) break;
      steps += 1;
      try {
        const step = await archiveStep(context(), organization, rule);
        if (step.status === 'archived') changes += step.toSeq - step.fromSeq + 1;
      } catch (err) {
        failures.set(organization, err);
        log('error', 'archive_failed', { organization, cause: err });
      }
    }
  }
  if (steps > 0) log('log', 'archived', { changes, steps, failed: failures.size });
  for (const failure of failures.values()) throw failure;
}
