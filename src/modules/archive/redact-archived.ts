import { type ArchivedRecordRow, findArchivedRecord, markArchivedRedacted } from '../../db/work/archived-records.ts';
import { type Change, plain, REDACTED } from '../../domain/change.ts';
import type { RecordKind } from '../../domain/record-kinds.ts';
import { bySystem, hasChanged, writeWithAudit } from '../../services/audit/write-with-audit.ts';
import { readOne } from '../../services/call-d1.ts';
import type { ActorContext, SystemActor } from '../../services/service-context.ts';
import { archiveFile, parseArchive, readArchive, storeFile } from './archive-file.ts';
import { switchObject } from './archive-statements.ts';
import { type ArchiveContext, deleteObjects, listObjects } from './bucket.ts';
import { deleteReplaced } from './delete-replaced.ts';
import { objectsFrom } from './object-names.ts';

/** Another redaction may put another object in the place of the one that was read; then read again. */
const MAX_ROUNDS = 5;

/**
 * Removes the text of an archived record: stores the object again without it, names that one in the
 * database together with the audit row, and deletes the other. Undefined if there is no such record.
 * A call that ends before its last step is completed by the next one.
 * @throws ServiceError `unavailable`: the same call can be repeated
 */
export async function redactArchived(
  ctx: ActorContext<SystemActor> & ArchiveContext,
  record: { organization: string; kind: RecordKind; id: string; by: string },
): Promise<'redacted' | 'unchanged' | undefined> {
  const { organization: organizationId, kind, id } = record;
  let stored: string | undefined;
  for (let round = 1; round <= MAX_ROUNDS; round++) {
    const found = await readOne(ctx, findArchivedRecord[kind].bind({ organizationId, id }), 'safe_to_repeat');
    if (!found) {
      // The organization was erased meanwhile, and its objects may have been deleted before we stored ours.
      if (stored !== undefined) await deleteObjects(ctx, [{ name: stored }]);
      return undefined;
    }
    const { fromSeq, toSeq, object, replacedObject } = found;
    if (replacedObject !== null) await deleteReplaced(ctx, { organizationId, toSeq, replacedObject });
    // Our own batch was committed, if its object is the one that is named now.
    if (found.isRedacted === 1) return object === stored ? 'redacted' : 'unchanged';
    // Before the other object is stored: once that is named, nothing can name these.
    const leftovers = await listObjects(ctx, objectsFrom(organizationId, fromSeq));
    const file = await redactObject(ctx, record, found);
    if (file.isRedacted) {
      await deleteObjects(ctx, leftovers, file.name);
      // After a restore, the object may be without the text already.
      if (object !== file.name) await deleteReplaced(ctx, { organizationId, toSeq, replacedObject: object });
      return 'redacted';
    }
    stored = file.name;
  }
  throw new Error(`the archive of ${kind} ${id} changed ${MAX_ROUNDS} times while it was redacted`);
}

async function redactObject(
  ctx: ActorContext<SystemActor> & ArchiveContext,
  { organization: organizationId, kind, id, by }: { organization: string; kind: RecordKind; id: string; by: string },
  found: ArchivedRecordRow,
): Promise<{ name: string; isRedacted: boolean }> {
  const changes = parseArchive(await readArchive(ctx, found)).map((change) => withoutText(change, id));
  const file = await archiveFile(organizationId, found, changes);
  await storeFile(ctx, file);
  const { toSeq, object: from, ticketId } = found;
  const { name, digest, bytes } = file;
  const [redacted] = await writeWithAudit(ctx, bySystem(ctx, organizationId, by), 'safe_to_repeat', () => [
    {
      statement: markArchivedRedacted[kind].bind({ organizationId, id, toSeq, from }),
      action: `${kind}.redacted`,
      targetId: id,
      ticket: { id: ticketId },
      completion: switchObject.bind({ organizationId, toSeq, from, object: name, digest, bytes: bytes.length }),
    },
  ]);
  return { name, isRedacted: hasChanged(redacted) };
}

/** A change without the text of a record. */
function withoutText(change: Change, id: string): Change {
  const { note, timeEntry } = change;
  return {
    ...change,
    note: note?.id === id ? { ...note, message: plain(REDACTED) } : note,
    timeEntry: timeEntry?.id === id ? { ...timeEntry, description: plain(REDACTED) } : timeEntry,
  };
}
