// npm run organization:erase: exports an organization's changes into a file, then removes the organization for good.
import { parseArgs } from 'node:util';
import { hasCode } from '../../domain/errors.ts';
import { eraseOrganization, eraseRequest } from '../../services/directory/erase-organization.ts';
import { parseInput } from '../../services/parse-input.ts';
import { databaseOptions, operatorContext, runCommand, UsageError, withDatabase } from '../command.ts';
import { exportChanges, intoFile, withFile } from '../export-changes.ts';

/** How often keys may write between the export and the erasure before it is given up. */
const MAX_ROUNDS = 5;
const usage = 'npm run organization:erase -- ORGANIZATION --export FILE --by NAME [--remote | --persist-to DIRECTORY]';

await runCommand(usage, async () => {
  const { values: options, positionals } = parseArgs({
    allowPositionals: true,
    options: { ...databaseOptions, export: { type: 'string' }, by: { type: 'string' } },
  });
  const [organization, ...rest] = positionals;
  if (organization === undefined || rest.length > 0) throw new UsageError('Name one organization.');
  const { export: path, by } = options;
  if (path === undefined)
    throw new UsageError('Say with --export into which new file the changes go before they are erased.');
  if (by === undefined) throw new UsageError('Say with --by who asked for it; it is kept for ever.');

  // What would be refused after the export is refused before it.
  parseInput(eraseRequest, { organization, cursor: null, by });

  const taken = () => {
    throw new UsageError(
      `The file that --export names is there already: ${path}. Name a new one, or remove that one if nobody needs it.`,
    );
  };
  await withFile(path, taken, async (file) => {
    const { exported, auditRows } = await withDatabase(options, async (db) => {
      let cursor: string | null = null;
      let exported = 0;
      for (let round = 1; ; round++) {
        const done = await exportChanges(db, organization, cursor, intoFile(file));
        await file.sync();
        cursor = done.cursor;
        exported += done.count;
        try {
          const { auditRows } = await eraseOrganization(operatorContext(db), { organization, cursor, by });
          return { exported, auditRows };
        } catch (err) {
          if (!hasCode(err, 'not_exported') || round === MAX_ROUNDS) throw err;
        }
      }
    });
    console.log(
      `${exported} changes are in ${path}. Organization ${organization} is erased, its ${auditRows} audit rows included.`,
    );
  });
});
