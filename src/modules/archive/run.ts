import { DAY_MS } from '../../domain/calendar.ts';
import { log } from '../../lib/log.ts';
import type { ObjectStore } from '../../lib/object-store.ts';
import { readAll } from '../../services/call-d1.ts';
import type { ServiceContext } from '../../services/service-context.ts';
import { type ArchiveRule, archiveStep, STEP_CHANGES, WAIT_MS } from './archive-step.ts';
import { archivedOrganizations, checkArchives } from './check-archive.ts';
import { findDueArchives } from './step-statements.ts';

const DEADLINE_MS = 60_000;
/** The largest number of steps in one run. Each calls D1 and the bucket about 20 times: 1,000 are allowed. */
const MAX_STEPS = 40;
/**
 * The largest number of organizations whose sizes are compared in one run, chosen at random, and of segments that it
 * reads or cleans up: three calls and up to ten. The other daily jobs make half of the 1,000 calls.
 */
const MAX_CHECKED = { organizations: 100, segments: 20 };
/** If this number of organizations failed, the bucket or the database does. */
const MAX_FAILED = 5;

/**
 * One step of each organization that is due, again and again, until none is or the run has made its steps. A
 * failing organization does not stop the others, unless five fail. The first error is thrown at the end.
 */
export async function archiveDue(
  ctx: ServiceContext,
  bucket: ObjectStore,
  { keepDays, isPushed }: { keepDays: number; isPushed: boolean },
): Promise<void> {
  const context = contextOf(ctx, bucket);
  const rule: ArchiveRule = { before: ctx.now() - keepDays * DAY_MS, isPushed };
  const waiting = rule.before - WAIT_MS;
  const isDue = { ...rule, waiting, full: STEP_CHANGES, isPushed: Number(isPushed) };
  const failures = new Map<string, unknown>();
  let [steps, changes] = [0, 0];
  while (steps < MAX_STEPS && failures.size < MAX_FAILED) {
    const due = await readAll(context(), findDueArchives.bind({ ...isDue, limit: MAX_STEPS }));
    const organizations = due.map(({ organizationId }) => organizationId).filter((id) => !failures.has(id));
    if (organizations.length === 0) break;
    await forEachOf(organizations.slice(0, MAX_STEPS - steps), failures, async (organization) => {
      steps += 1;
      const step = await archiveStep(context(), organization, rule);
      if (step.status === 'archived') changes += step.toSeq - step.fromSeq + 1;
    });
  }
  if (steps > 0) log('log', 'archived', { changes, steps, failed: failures.size });
  for (const failure of failures.values()) throw failure;
}

/** Adds the errors to `failures`: a failing organization does not stop the others, unless five fail. */
async function forEachOf(
  organizations: readonly string[],
  failures: Map<string, unknown>,
  run: (organization: string) => Promise<unknown>,
): Promise<void> {
  for (const organization of organizations) {
    if (failures.size === MAX_FAILED) return;
    await run(organization).catch((err: unknown) => {
      failures.set(organization, err);
      log('error', 'archive_failed', { organization, cause: err });
    });
  }
}

/** Makes a context for each step: with the bucket, and a separate deadline. */
const contextOf = (ctx: ServiceContext, archive: ObjectStore) => () => ({
  ...ctx,
  archive,
  deadlineAt: Date.now() + DEADLINE_MS,
});

/** The first error is thrown at the end. */
export async function checkSizes(ctx: ServiceContext, bucket: ObjectStore): Promise<void> {
  const context = contextOf(ctx, bucket);
  const organizations = (await archivedOrganizations(context)).sort(() => Math.random() - 0.5);
  const options = { read: false, remove: true, repair: false, budget: { segments: MAX_CHECKED.segments } };
  const failures = new Map<string, unknown>();
  await forEachOf(organizations.slice(0, MAX_CHECKED.organizations), failures, (organization) =>
    checkArchives(context, organization, options),
  );
  for (const failure of failures.values()) throw failure;
}
