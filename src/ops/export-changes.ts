import { type FileHandle, open, rm } from 'node:fs/promises';
import { Option } from '@commander-js/extra-typings';
import { seqOf } from '../domain/change.ts';
import { noArchive } from '../domain/errors.ts';
import { ALL_LOST } from '../services/directory/erase-organization.ts';
import { listChanges, MAX_CHANGES } from '../services/work/list-changes.ts';
import type { Database } from './command.ts';
import { CommandFailure, UsageError } from './failures.ts';

export const withoutOption = new Option(
  '--without <OBJECT>',
  'Leave out an object of the archive that is missing or damaged, or with "lost" all that a check or a redaction has marked. The file then names them.',
).argParser((object: string, before: string[] | undefined) => [...(before ?? []), object]);

/**
 * Writes all changes after a cursor as lines of JSON, and returns the cursor after the last of them.
 * Archived changes come from their objects. A line names each missing or damaged object in `without`.
 * @throws CommandFailure if another object is missing or damaged
 */
export async function exportChanges(
  context: Database['context'],
  organization: string,
  from: string | null,
  write: (lines: string) => Promise<unknown>,
  without: readonly string[] = [],
): Promise<{ cursor: string | null; count: number }> {
  let cursor = from;
  let count = 0;
  for (;;) {
    const page = await listChanges(context(), { organization, cursor, limit: MAX_CHANGES });
    for (const archived of page.archives) {
      const ctx = context();
      if (!ctx.archivedRecords) throw noArchive();
      const read = await ctx.archivedRecords.read(ctx, organization, archived);
      if ('lines' in read) {
        // An archive has one line for each of its changes, and the cursor may be within it.
        const exported = Math.max(0, seqOf(cursor) + 1 - archived.fromSeq);
        await write(read.lines.split('\n').slice(exported).join('\n'));
        count += archived.toSeq - archived.fromSeq + 1 - exported;
      } else {
        const { object, fromSeq, toSeq } = archived;
        const isLeftOut = without.includes(object) || (read.isKnown && without.includes(ALL_LOST));
        if (!isLeftOut)
          throw new CommandFailure(
            `The object ${object} of the archive, with the changes ${fromSeq} to ${toSeq}, is ${read.damage}. See the runbook. If it cannot be repaired, add --without ${object}, or run archive:check and add --without ${ALL_LOST} for all that it finds.`,
          );
        await write(`${JSON.stringify({ notExported: { object, fromSeq, toSeq, damage: read.damage } })}\n`);
      }
    }
    if (page.changes.length > 0) await write(page.changes.map((change) => `${JSON.stringify(change)}\n`).join(''));
    cursor = page.cursor;
    count += page.changes.length;
    if (!page.more) return { cursor, count };
  }
}

/** Makes a file that only its owner can read. It is removed again if it is still empty when `use` fails. @throws UsageError */
export async function withNewFile<T>(path: string, use: (file: FileHandle) => Promise<T>): Promise<T> {
  const file = await open(path, 'ax', 0o600).catch((err: Error) => {
    if (!('code' in err && err.code === 'EEXIST')) throw err;
    throw new UsageError(`The file ${path} exists already. Name a new one with --export, or remove that one.`);
  });
  try {
    return await use(file);
  } catch (err) {
    if ((await file.stat()).size === 0) await rm(path);
    throw err;
  } finally {
    await file.close();
  }
}
