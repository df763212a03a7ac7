import { reader } from '../../config.ts';
import { type ObjectStore, objectStore } from '../../lib/object-store.ts';
import type { Job, Module } from '../../module.ts';
import { archivedRecordsIn } from './archived-records.ts';
import { downloads } from './downloads.ts';
import { parseKeepDays } from './object-names.ts';
import { archiveDue, checkSizes } from './run.ts';
import { archiveSection } from './section.tsx';

/** Moves changes that the PSA has released to R2, when they are older than KEEP_DAYS. */
export const archive: Module = {
  name: 'archive',
  start: (bindings, { mode, receiver }) => {
    const keepDays = reader(bindings)('KEEP_DAYS', parseKeepDays);
    const bucket = bindings.ARCHIVE && objectStore(bindings.ARCHIVE);
    const isPushed = receiver !== undefined;
    if (keepDays !== undefined && !bucket)
      throw new Error(
        'KEEP_DAYS is set, but there is no bucket with the binding ARCHIVE; set archive = true, or empty KEEP_DAYS',
      );
    const auditSection = archiveSection(keepDays !== undefined);
    if (!bucket) return { auditSection };
    return {
      auditSection,
      // Even without KEEP_DAYS: earlier archives can be read, redacted and erased.
      ports: () => ({ archivedRecords: archivedRecordsIn(bucket) }),
      settings: downloads(bucket),
      // Not while paused: the operator may be about to undo a restore of the database.
      jobs: mode === 'open' ? jobs(bucket, keepDays, isPushed) : [],
    };
  },
};

function jobs(bucket: ObjectStore, keepDays: number | undefined, isPushed: boolean): Job[] {
  const check: Job = { name: 'archive_sizes', cron: 'daily', run: (ctx) => checkSizes(ctx, bucket) };
  if (keepDays === undefined) return [check];
  const run: Job['run'] = (ctx) => archiveDue(ctx, bucket, { keepDays, isPushed });
  return [{ name: 'archive', cron: 'hourly', run }, check];
}
