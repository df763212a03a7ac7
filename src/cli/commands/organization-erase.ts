import { hasCode } from '../../domain/errors.ts';
import type { ArchiveBucket } from '../../services/archive/bucket.ts';
import { countErasable, eraseOrganization, eraseRequest } from '../../services/directory/erase-organization.ts';
import { parseInput } from '../../services/parse-input.ts';
import {
  byOption,
  DATABASE_USAGE,
  operatorCommand,
  operatorContext,
  persistToOption,
  remoteOption,
  requireBy,
  UsageError,
  withDatabase,
} from '../command.ts';
import { exportChanges, intoFile, withFile } from '../export-changes.ts';
import { count, progress } from '../output.ts';
import { prompt } from '../prompt.ts';

/** How often keys may write between the export and the erasure before the command gives up. */
const MAX_ROUNDS = 5;

export const organizationErase = operatorCommand({
  name: 'organization:erase',
  summary: 'export an organization, then remove it permanently',
  purpose:
    'Exports all changes of an organization into a new file, then removes the organization and everything that it has, in one transaction, and the objects of its archive. This cannot be undone. One row stays that says who asked for it.',
  usage: `ORGANIZATION (--dry-run | --export FILE --by NAME --confirm ORGANIZATION) ${DATABASE_USAGE}`,
  example: 'organization:erase northwind --export northwind.ndjson --by "Ada, by letter" --confirm northwind',
  failure: 'failure: nothing was removed, unless the message says so; the export may be incomplete',
})
  .argument('<ORGANIZATION>', 'The id of the organization.')
  .option('--export <FILE>', 'The new file for the changes.')
  .addOption(byOption)
  .option('--confirm <ORGANIZATION>', 'The id again. At a terminal, the command asks for it if it is missing.')
  .option('--dry-run', 'Remove nothing; print how many rows of each table would be removed.')
  .addOption(remoteOption)
  .addOption(persistToOption)
  .action(run);

interface Options {
  export?: string | undefined;
  by?: string | undefined;
  confirm?: string | undefined;
  dryRun?: true | undefined;
  remote?: true | undefined;
  persistTo?: string | undefined;
}

async function run(organization: string, options: Options): Promise<void> {
  if (options.dryRun) {
    const rows = await withDatabase(options, (db) => countErasable(operatorContext(db), { organization }));
    console.log(`Organization ${organization} would lose these rows; nothing was removed:\n${table(rows)}`);
    return;
  }
  const { export: path } = options;
  if (path === undefined)
    throw new UsageError('Add --export FILE: the new file for the changes, before they are removed.');
  const by = requireBy(options.by);
  await requireConfirmation(organization, options.confirm);
  // What would be refused after the export is refused before it.
  parseInput(eraseRequest, { organization, cursor: null, by });

  const taken = () => {
    throw new UsageError(`The file ${path} exists already. Name a new one with --export, or remove that one.`);
  };
  await withFile(path, taken, async (file) => {
    const exportTo = intoFile(file);
    const sync = () => file.sync();
    const { exported, removed } = await withDatabase(options, (db, archive) =>
      exportAndErase({ db, archive }, { organization, by }, exportTo, sync),
    );
    progress.clear();
    console.log(`Exported ${count(exported, 'change')} to ${path}. Organization ${organization} is erased.`);
    console.log(
      removed
        ? `Rows removed:\n${table(removed)}`
        : 'The response of the database was lost and the call repeated, so the number of rows removed is not known.',
    );
  });
}

/** @throws UsageError unless the id was given again, as an option or at the terminal */
async function requireConfirmation(organization: string, given: string | undefined): Promise<void> {
  const atTerminal = process.stdin.isTTY && process.stderr.isTTY;
  const question = `This removes organization ${organization} permanently. Type its id to confirm: `;
  const typed = given ?? (atTerminal ? (await prompt(question)).trim() : undefined);
  if (typed === organization) return;
  throw new UsageError(
    `Nothing was removed. To confirm, add --confirm ${organization}. To see what would be removed, use --dry-run.`,
  );
}

/** Exports until the erasure finds no change after the last exported one. */
async function exportAndErase(
  { db, archive }: { db: D1Database; archive: ArchiveBucket | undefined },
  { organization, by }: { organization: string; by: string },
  write: (lines: string) => Promise<unknown>,
  sync: () => Promise<void>,
) {
  let cursor: string | null = null;
  let exported = 0;
  for (let round = 1; ; round++) {
    const before = exported;
    const done = await exportChanges({ db, archive }, organization, cursor, write, (changes) =>
      progress.show(`${count(before + changes, 'change')} exported`),
    );
    await sync();
    cursor = done.cursor;
    exported += done.count;
    progress.show(`${count(exported, 'change')} exported; removing the organization`);
    try {
      return { exported, ...(await eraseOrganization(operatorContext(db, archive), { organization, cursor, by })) };
    } catch (err) {
      if (!hasCode(err, 'not_exported') || round === MAX_ROUNDS) throw err;
    }
  }
}

/** The number of rows in front of each table's name. */
function table(rows: Record<string, number>): string {
  const width = Math.max(...Object.values(rows).map((number) => String(number).length));
  return Object.entries(rows)
    .map(([name, number]) => `  ${String(number).padStart(width)}  ${name}`)
    .join('\n');
}
