// npm run record:redact: takes the text out of a note or time entry.
import { parseArgs } from 'node:util';
import { RECORD_KIND_NAMES } from '../../domain/record-kinds.ts';
import { redactRecord } from '../../services/work/redact-record.ts';
import { databaseOptions, operatorContext, runCommand, UsageError, withDatabase } from '../command.ts';

const usage = `npm run record:redact -- ORGANIZATION ${RECORD_KIND_NAMES.join('|')} ID --by NAME [--remote | --persist-to DIRECTORY]`;

await runCommand(usage, async () => {
  const { values: options, positionals } = parseArgs({
    allowPositionals: true,
    options: { ...databaseOptions, by: { type: 'string' } },
  });
  const [organization, given, id, ...rest] = positionals;
  const kind = RECORD_KIND_NAMES.find((kind) => kind === given);
  if (organization === undefined || kind === undefined || id === undefined || rest.length > 0) {
    throw new UsageError('Name the organization, the kind of record and its id.');
  }
  const { by } = options;
  if (by === undefined) throw new UsageError('Say with --by who asked for it; it stands in the audit log.');
  const { status } = await withDatabase(options, (db) =>
    redactRecord(operatorContext(db), { organization, kind, id, by }),
  );
  console.log(
    status === 'redacted'
      ? `The text of ${kind} ${id} is gone.`
      : `The text of ${kind} ${id} had been redacted before.`,
  );
});
