import { Command } from '@commander-js/extra-typings';
import type { OpenErasure } from '../../db/directory/erasure.ts';
import { hasCode } from '../../domain/errors.ts';
import { deactivateRecords } from '../../services/directory/change-records.ts';
import { beginErasure, eraseRequest, eraseRows, findErasure } from '../../services/directory/erase-organization.ts';
import { parseInput } from '../../services/parse-input.ts';
import { byOption, type Database, databaseCommand, explain } from '../command.ts';
import { exportChanges, withNewFile } from '../export-changes.ts';
import { CommandFailure, UsageError } from '../failures.ts';
import { count } from '../output.ts';
import { printable } from '../printable.ts';

/** How often there may be a change between the export and the erasure before the command gives up. */
const MAX_ROUNDS = 5;

export const organizationErase = databaseCommand(
  new Command('organization:erase')
    .summary('export an organization, then remove it permanently')
    .description(
      'Exports all changes of an organization into a new file, makes it inactive, then removes it and everything that it has, at most 1,000 rows at a time. This cannot be undone. Two rows stay: who asked for it, and when, so that no older message about its directory applies. Once the erasure has begun, the same call continues it, without another export.',
    )
    .argument('<ORGANIZATION>', 'The id of the organization.')
    .requiredOption('--export <FILE>', 'The new file for the changes.')
    .addOption(byOption)
    .option('--confirm <ORGANIZATION>', 'The id again: without it, nothing is removed.'),
  async (withDatabase, organization, options) => {
    if (options.confirm !== organization)
      throw new UsageError(`Nothing was removed. To confirm, add --confirm ${organization}.`);
    await withDatabase(async ({ context }) => {
      const begun = await findErasure(context(), { organization });
      const erasure = begun ?? (await exportAndBegin(context, organization, options));
      if (begun) {
        const at = new Date(begun.erasedAt).toISOString();
        console.log(
          printable(
            `The erasure of organization ${organization} was begun at ${at} by ${begun.erasedBy}, after an export. It continues.`,
          ),
        );
      }
      await removeRows(context, erasure);
    });
  },
);

/** Exports until nothing is left to export. If keys have written meanwhile, the organization is made inactive. */
async function exportAndBegin(
  context: Database['context'],
  organization: string,
  { export: path, by }: { export: string; by: string },
): Promise<OpenErasure> {
  // What would be refused after the export is refused before it.
  parseInput(eraseRequest, { organization, cursor: null, by });

  return withNewFile(path, async (file) => {
    const write = (lines: string) => file.appendFile(lines);
    let cursor: string | null = null;
    let exported = 0;
    for (let round = 1; ; round++) {
      const done = await exportChanges(context, organization, cursor, write);
      await file.sync();
      cursor = done.cursor;
      exported += done.count;
      try {
        const erasure = await beginErasure(context(), { organization, cursor, by });
        console.log(`Exported ${count(exported, 'change')} to ${path}. Organization ${organization} is inactive now.`);
        return erasure;
      } catch (err) {
        if (!hasCode(err, 'not_exported') || round === MAX_ROUNDS) throw err;
        // Otherwise the keys of a busy organization would write in every round.
        const records = [{ type: 'organization' as const, id: organization }];
        await deactivateRecords(context(), { organization, records });
      }
    }
  });
}

async function removeRows(context: Database['context'], erasure: OpenErasure): Promise<void> {
  const { organizationId } = erasure;
  const removed = new Map<string, number>();
  try {
    for await (const { table, rows } of eraseRows(context(), erasure))
      removed.set(table, (removed.get(table) ?? 0) + rows);
  } catch (err) {
    throw new CommandFailure(
      `${explain(err)}\nOrganization ${organizationId} is inactive and partly removed. Make the same call again to go on, without another export.`,
    );
  }
  const lines = Array.from(removed, ([table, rows]) => `  ${rows} ${table}`);
  console.log(
    `Organization ${organizationId} is erased. Rows removed, as the database confirmed them:\n${lines.join('\n')}`,
  );
}
