import type { FileHandle } from 'node:fs/promises';
import { changes, MAX_CHANGES } from '../services/changes.ts';
import { operatorContext } from './command.ts';

/** Writes all changes of an organization behind a cursor as lines of JSON, and returns the cursor behind the last of them. */
export async function exportChanges(
  db: D1Database,
  organization: string,
  from: string | null,
  write: (lines: string) => Promise<unknown>,
): Promise<{ cursor: string | null; count: number }> {
  let cursor = from;
  let count = 0;
  for (;;) {
    const page = await changes(operatorContext(db), { organization, cursor, limit: MAX_CHANGES });
    if (page.changes.length > 0) await write(page.changes.map((change) => `${JSON.stringify(change)}\n`).join(''));
    cursor = page.cursor;
    count += page.changes.length;
    if (!page.more) return { cursor, count };
  }
}

/** A sink that writes to the end of a file. */
export const intoFile = (file: FileHandle) => (lines: string) => file.appendFile(lines);
