import { createReadStream } from 'node:fs';
import * as z from 'zod';
import { recordId } from '../domain/record-id.ts';
import { CommandFailure } from './command.ts';
import { readLines } from './lines.ts';

/** Longest line that is read; a change with the longest text is far below. */
const MAX_LINE_BYTES = 1024 * 1024;

/** What is read of a change (domain/change.ts). */
const changeShape = z.object({
  cursor: z.string(),
  action: z.string(),
  targetId: z.string(),
  actor: z.object({ id: z.string() }),
  idempotencyKey: z.string().nullish(),
  key: z.object({ id: recordId('a key'), hint: z.string(), revokedAt: z.string().nullable() }).nullable(),
});
/** In the place of an object that was left out. */
const notExportedShape = z.strictObject({ notExported: z.looseObject({ object: z.string() }) });

export type ExportedChange = z.output<typeof changeShape>;

/**
 * The changes in a file of `changes:export`, in their order. `undone` says what did not happen if the
 * file is wrong, such as "Nothing was revoked".
 * @throws CommandFailure naming the first line that is not a change
 */
export async function* readExportedChanges(path: string, undone: string): AsyncGenerator<ExportedChange> {
  let lines = 0;
  for await (const line of readLines(createReadStream(path), MAX_LINE_BYTES)) {
    const where = `Line ${line.line} of ${path}`;
    if ('fault' in line) {
      const fault = line.fault === 'too_long' ? `is longer than ${MAX_LINE_BYTES} bytes` : 'is not UTF-8';
      throw new CommandFailure(`${where} ${fault}. ${undone}.`);
    }
    lines += 1;
    const value = parseJson(line.text);
    if (notExportedShape.safeParse(value).success) continue;
    const change = changeShape.safeParse(value);
    if (!change.success)
      throw new CommandFailure(`${where} is not a change of changes:export; it may be cut off. ${undone}.`);
    yield change.data;
  }
  if (lines === 0) throw new CommandFailure(`${path} has no changes. ${undone}; did the export fail?`);
}

export interface RevokedKey {
  id: string;
  hint: string;
}

/**
 * The keys that are revoked in a file of `changes:export`, in the order of the file. Each change
 * has its key as it was when the change was exported, so a key counts if any line says that it is
 * revoked.
 * @throws CommandFailure naming the first line that is not a change
 */
export async function readRevokedKeys(path: string): Promise<RevokedKey[]> {
  const revoked = new Map<string, RevokedKey>();
  for await (const { key } of readExportedChanges(path, 'Nothing was revoked'))
    if (key && key.revokedAt !== null) revoked.set(key.id, { id: key.id, hint: key.hint });
  return [...revoked.values()];
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (err) {
    if (!(err instanceof SyntaxError)) throw err;
    return undefined;
  }
}
