import { createReadStream } from 'node:fs';
import * as z from 'zod';
import { recordId } from '../domain/record-id.ts';
import { CommandFailure } from './failures.ts';
import { readLines } from './lines.ts';
import { jsonOf } from './probe.ts';

/** Longest line that is read; a change with the longest text is far below. */
const MAX_LINE_BYTES = 1024 * 1024;

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

/** `undone` tells the result of a wrong file, such as "Nothing was revoked". @throws CommandFailure */
export async function* readExportedChanges(path: string, undone: string): AsyncGenerator<ExportedChange> {
  let lines = 0;
  for await (const line of readLines(createReadStream(path), MAX_LINE_BYTES)) {
    lines += 1;
    const value = 'text' in line ? jsonOf(line.text) : undefined;
    if (notExportedShape.safeParse(value).success) continue;
    const change = changeShape.safeParse(value);
    if (!change.success)
      throw new CommandFailure(
        `Line ${line.line} of ${path} is not a change of changes:export; it may be cut off. ${undone}.`,
      );
    yield change.data;
  }
  if (lines === 0) throw new CommandFailure(`${path} has no changes. ${undone}; did the export fail?`);
}
