import { listChanges } from '../../services/work/list-changes.ts';
import { type Database, databaseCommand, onCode } from '../command.ts';
import { type ExportedChange, readExportedChanges } from '../exported-changes.ts';
import { count, print } from '../output.ts';
import { printable } from '../printable.ts';

export const changesUndone = databaseCommand(
  {
    name: 'changes:undone',
    summary: 'print the changes that a restore has undone',
    purpose:
      'Compares a file that changes:export wrote before a restore with the database after it. Prints every change that the restore has undone and that must be repeated, and the commands that repeat most of them. Changes nothing.',
    example: 'changes:undone northwind before-northwind.ndjson --remote',
    failure: 'failure: a wrong file, or the database failed',
  },
  (command) =>
    command
      .argument('<ORGANIZATION>', 'The id of the organization.')
      .argument('<FILE>', 'A file that changes:export wrote for the organization before the restore.'),
  async (withDatabase, organization, file) => {
    const changes: ExportedChange[] = [];
    for await (const change of readExportedChanges(file, 'Nothing was compared')) changes.push(change);
    const undone = await withDatabase(({ context }) => undoneOf(context, organization, changes));
    const ofAction = (...actions: string[]) => undone.filter(({ action }) => actions.includes(action));
    const commands = [
      [ofAction('api_key.revoked'), `key:revoke --organization ${organization} --from ${file} --by NAME`],
      [ofAction('note.redacted', 'time_entry.redacted'), `record:redact ${organization} --from ${file} --by NAME`],
    ] as const;
    for (const [{ length }, command] of commands)
      if (length > 0) await print(`${count(length, 'change')}: npm run ops -- ${printable(command)}\n`);
    const written = ofAction('note.created', 'time_entry.created');
    const lost = written.filter(({ idempotencyKey }) => idempotencyKey == null);
    if (written.length > 0)
      await print(
        `${count(written.length, 'record')} written: a retry with the Idempotency-Key writes it again with the same id. ${lost.length} of them had no Idempotency-Key, and have to be entered again.\n`,
      );
    const done = new Set([...commands.flatMap(([of]) => of), ...written]);
    for (const { action, targetId, actor } of undone.filter((change) => !done.has(change)))
      await print(`${printable(`${action} ${targetId}, by ${actor.id}`)}\n`);
    console.error(`${count(undone.length, 'change')} undone, of ${changes.length} in the file.`);
  },
);

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
    const page = await listChanges(context(), { organization, cursor, limit: 1 }).catch(
      onCode('cursor_reset', () => undefined),
    );
    if (page) low = middle + 1;
    else high = middle;
  }
  return changes.slice(low);
}
