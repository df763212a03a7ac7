import { ServiceError } from '../../domain/errors.ts';
import { withDeadline } from '../../lib/deadline.ts';
import type { ObjectStore, StoredObject } from '../../lib/object-store.ts';
import { forNextCall, type ServiceContext } from '../../services/service-context.ts';

/** A context with the bucket of the archive. */
export interface ArchiveContext extends ServiceContext {
  archive: ObjectStore;
}

export async function listObjects(ctx: ArchiveContext, prefix: string): Promise<StoredObject[]> {
  const objects: StoredObject[] = [];
  for (;;) {
    const page = await callBucket(ctx, (bucket) => bucket.list(prefix, objects.at(-1)?.name));
    objects.push(...page.objects);
    if (!page.more) return objects;
  }
}

/** Deletes objects, except the one with the name `kept`. Each call to the bucket has its own deadline. */
export async function deleteObjects(
  ctx: ArchiveContext,
  objects: readonly Pick<StoredObject, 'name'>[],
  kept?: string,
): Promise<void> {
  const names = objects.map(({ name }) => name).filter((name) => name !== kept);
  const most = ctx.archive.maxDeleted;
  for (let i = 0; i < names.length; i += most)
    await callBucket(forNextCall(ctx), (bucket) => bucket.delete(names.slice(i, i + most)));
}

const ATTEMPTS = 2;

/** Calls the bucket until the deadline, and once more after a failure. @throws ServiceError `unavailable` */
export async function callBucket<T>(
  { archive, deadlineAt }: ArchiveContext,
  run: (bucket: ObjectStore) => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await withDeadline(run(archive), Math.max(0, deadlineAt - Date.now()));
    } catch (err) {
      if (attempt === ATTEMPTS || Date.now() >= deadlineAt)
        throw new ServiceError(
          'unavailable',
          'The archive did not respond. Make the same call again; it is safe to repeat.',
          { database: 'not_run', cause: err },
        );
    }
  }
}
