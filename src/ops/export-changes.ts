import { type FileHandle, open, rm } from 'node:fs/promises';
import { listChanges, MAX_CHANGES } from '../services/work/list-changes.ts';
import type { Database } from './command.ts';
import { UsageError } from './failures.ts';

/** Writes all changes after a cursor as lines of JSON, and returns the cursor after the last of them. */
export async function exportChanges(
  context: Database['context'],
  organization: string,
  from: string | null,
  write: (lines: string) => Promise<unknown>,
): Promise<{ cursor: string | null; count: number }> {
  let cursor = from;
  let count = 0;
  for (;;) {
    const page = await listChanges(context(), { organization, cursor, limit: MAX_CHANGES });
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
