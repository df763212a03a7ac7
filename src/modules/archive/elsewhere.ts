import type { ObjectStore } from '../../lib/object-store.ts';
import type { Elsewhere } from '../../services/service-context.ts';
import { readArchive } from './archive-file.ts';
import { eraseObjects, requireErasableArchive } from './erase-archive.ts';
import { redactArchived } from './redact-archived.ts';

/** The port of the archive in a bucket. Without one, it refuses what is archived. */
export const elsewhereIn = (archive: ObjectStore | undefined): Elsewhere => ({
  read: (ctx, object) => readArchive({ ...ctx, archive }, object),
  redact: (ctx, record) => redactArchived({ ...ctx, archive }, record),
  requireErasable: (ctx, organizationId) => requireErasableArchive({ ...ctx, archive }, organizationId),
  erase: (ctx, organizationId, limit) => eraseObjects({ ...ctx, archive }, organizationId, limit),
});
