import { ServiceError } from '../../domain/errors.ts';
import { withDeadline } from '../../lib/deadline.ts';
import { forNextChunk, type ServiceContext } from '../../services/context.ts';

/** The bucket of the archive: R2 as this service uses it. */
export interface ArchiveBucket {
  /** The bytes of an object; undefined if there is none. */
  get(name: string): Promise<Uint8Array<ArrayBuffer> | undefined>;
  /** Stores an object, or replaces it. `digest` is its SHA-256 in hex. */
  put(name: string, bytes: Uint8Array<ArrayBuffer>, digest: string): Promise<void>;
  /** How many objects one call of `delete` may name. */
  readonly maxDeleted: number;
  /** Deletes objects, those that exist. */
  delete(names: string[]): Promise<void>;
  /** The objects whose names begin with `prefix`, in their order, after the name `after`. */
  list(prefix: string, after?: string): Promise<{ objects: StoredObject[]; more: boolean }>;
}

/** An object in the bucket. */
export interface StoredObject {
  name: string;
  /** UTC milliseconds. */
  storedAt: number;
}

/** The part of R2 that is used, in a Worker and in Miniflare. */
interface R2Objects {
  get(key: string): Promise<{ arrayBuffer(): Promise<ArrayBuffer> } | null>;
  put(
    key: string,
    value: Uint8Array<ArrayBuffer>,
    options: { sha256: string; httpMetadata: { contentType: string } },
  ): Promise<unknown>;
  delete(keys: string[]): Promise<void>;
  list(options: {
    prefix: string;
    startAfter?: string;
  }): Promise<{ objects: { key: string; uploaded: Date }[]; truncated: boolean }>;
}

/** How many objects R2 deletes in one call. */
const MAX_DELETED = 1_000;

/** The bucket behind a binding. */
export function archiveBucket(bucket: R2Objects): ArchiveBucket {
  return {
    maxDeleted: MAX_DELETED,
    get: async (name) => {
      const object = await bucket.get(name);
      return object === null ? undefined : new Uint8Array(await object.arrayBuffer());
    },
    put: async (name, bytes, digest) => {
      await bucket.put(name, bytes, { sha256: digest, httpMetadata: { contentType: 'application/gzip' } });
    },
    delete: (names) => bucket.delete(names),
    list: async (prefix, after) => {
      const { objects, truncated } = await bucket.list({
        prefix,
        ...(after === undefined ? {} : { startAfter: after }),
      });
      return {
        objects: objects.map(({ key, uploaded }) => ({ name: key, storedAt: uploaded.getTime() })),
        more: truncated,
      };
    },
  };
}

/** The bucket of a deployment; undefined if it has none. */
export const archiveOf = ({ ARCHIVE }: { ARCHIVE?: R2Objects | undefined }): ArchiveBucket | undefined =>
  ARCHIVE && archiveBucket(ARCHIVE);

/** All objects whose names begin with `prefix`. */
export async function listObjects(ctx: ServiceContext, prefix: string): Promise<StoredObject[]> {
  const objects: StoredObject[] = [];
  for (;;) {
    const page = await callBucket(ctx, (bucket) => bucket.list(prefix, objects.at(-1)?.name));
    objects.push(...page.objects);
    if (!page.more) return objects;
  }
}

/** Deletes objects, except the one with the name `kept`. Each call to the bucket has its own deadline. */
export async function deleteObjects(
  ctx: ServiceContext,
  objects: readonly Pick<StoredObject, 'name'>[],
  kept?: string,
): Promise<void> {
  const names = objects.map(({ name }) => name).filter((name) => name !== kept);
  const most = ctx.archive?.maxDeleted ?? MAX_DELETED;
  for (let i = 0; i < names.length; i += most)
    await callBucket(forNextChunk(ctx), (bucket) => bucket.delete(names.slice(i, i + most)));
}

const ATTEMPTS = 2;

/**
 * The only way in which a verb calls the bucket: until the deadline, and once more after a failure.
 * @throws ServiceError `unavailable`
 */
export async function callBucket<T>(
  { archive, deadlineAt }: ServiceContext,
  run: (bucket: ArchiveBucket) => Promise<T>,
): Promise<T> {
  if (!archive) throw unavailable('This deployment has no bucket for its archive.');
  for (let attempt = 1; ; attempt++) {
    try {
      return await withDeadline(run(archive), Math.max(0, deadlineAt - Date.now()));
    } catch (err) {
      if (attempt === ATTEMPTS || Date.now() >= deadlineAt)
        throw unavailable('The archive did not respond. Make the same call again; it is safe to repeat.', err);
    }
  }
}

function unavailable(detail: string, cause?: unknown): ServiceError {
  return new ServiceError('unavailable', detail, { database: 'not_run', cause });
}
