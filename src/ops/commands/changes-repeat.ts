import { createReadStream } from 'node:fs';
import { Command } from '@commander-js/extra-typings';
import * as z from 'zod';
import { hasCode } from '../../domain/errors.ts';
import { RECORD_KIND_NAMES } from '../../domain/record-kinds.ts';
import { revokeAsOperator } from '../../services/keys/revoke-key.ts';
import { listChanges } from '../../services/work/list-changes.ts';
import { redactRecord } from '../../services/work/record-services.ts';
import { byOption, type Database, databaseCommand } from '../command.ts';
import { CommandFailure } from '../failures.ts';
import { readLines } from '../lines.ts';
import { count } from '../output.ts';
import { printable } from '../printable.ts';
import { jsonOf } from '../probe.ts';

/** Longest line that is read; a change with the longest text is far below. */
const MAX_LINE_BYTES = 1024 * 1024;

const changeShape = z.object({
  cursor: z.string(),
  action: z.string(),
  targetId: z.string(),
  actor: z.object({ id: z.string() }),
  idempotencyKey: z.string().nullish(),
});

type ExportedChange = z.output<typeof changeShape>;

export const changesRepeat = databaseCommand(
  new Command('changes:repeat')
    .summary('repeat what a restore has undone')
    .description(
      'Compares a file that changes:export wrote before a restore with the database after it. Revokes keys and redacts records again, prints every other change of the file that the restore has undone, and counts the records that were written.',
    )
    .argument('<ORGANIZATION>', 'The id of the organization.')
    .argument('<FILE>', 'A file that changes:export wrote for the organization before the restore.')
    .addOption(byOption),
  async (withDatabase, organization, file, { by }) => {
    const changes = await readExportedChanges(file);
    await withDatabase(async ({ context }) => {
      const undone = await undoneOf(context, organization, changes);
      const written = undone.filter(isWrite);
      for (const change of undone) {
        if (isWrite(change)) continue;
        const outcome = await repeat(context, organization, change, by);
        console.log(printable(`${outcome}: ${change.action} ${change.targetId}, by ${change.actor.id}`));
      }
      const lost = written.filter(({ idempotencyKey }) => idempotencyKey == null);
      if (written.length > 0)
        console.log(
          `${count(written.length, 'record')} written: a retry with the Idempotency-Key writes it again with the same id. ${lost.length} of them had no Idempotency-Key, and have to be entered again.`,
        );
      console.error(`${count(undone.length, 'change')} undone, of ${changes.length} in the file.`);
    });
  },
);

const isWrite = ({ action }: ExportedChange) => RECORD_KIND_NAMES.some((kind) => action === `${kind}.created`);

/** Repeats a revocation or redaction, and returns the result in words. */
async function repeat(
  context: Database['context'],
  organization: string,
  { action, targetId: id }: ExportedChange,
  by: string,
): Promise<string> {
  const kind = RECORD_KIND_NAMES.find((name) => action === `${name}.redacted`);
  if (kind === undefined && action !== 'api_key.revoked') return 'not repeated';
  try {
    if (kind === undefined) {
      const { status } = await revokeAsOperator(context(), { organization, key: id, by });
      return status === 'revoked' ? 'repeated' : 'already repeated';
    }
    const { status } = await redactRecord(context(), { organization, kind, id, by });
    return status === 'redacted' ? 'repeated' : 'already repeated';
  } catch (err) {
    // The key or record was created after the restored point, too.
    if (hasCode(err, 'key_not_found') || hasCode(err, 'record_not_found')) return 'not in the database';
    throw err;
  }
}

/** The changes whose cursors are not in the database. They are the last ones: a binary search finds the first. */
async function undoneOf(
  context: Database['context'],
  organization: string,
  changes: readonly ExportedChange[],
): Promise<readonly ExportedChange[]> {
  let [low, high] = [0, changes.length];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const cursor = changes[middle]?.cursor ?? null;
    const isUndone = await listChanges(context(), { organization, cursor, limit: 1 }).then(
      () => false,
      (err: unknown) => {
        if (!hasCode(err, 'cursor_reset')) throw err;
        return true;
      },
    );
    if (isUndone) high = middle;
    else low = middle + 1;
  }
  return changes.slice(low);
}

/** @throws CommandFailure for a line that is not a change, and for a file without changes */
async function readExportedChanges(path: string): Promise<ExportedChange[]> {
  const changes: ExportedChange[] = [];
  for await (const line of readLines(createReadStream(path), MAX_LINE_BYTES)) {
    const value = 'text' in line ? jsonOf(line.text) : undefined;
    const change = changeShape.safeParse(value);
    if (!change.success)
      throw new CommandFailure(
        `Line ${line.line} of ${path} is not a change of changes:export; it may be cut off. Nothing was repeated.`,
      );
    changes.push(change.data);
  }
  if (changes.length === 0) throw new CommandFailure(`${path} has no changes; did the export fail?`);
  return changes;
}
