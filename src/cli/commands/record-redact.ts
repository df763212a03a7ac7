// npm run record:redact: takes the text out of a note or time entry.
import { parseArgs } from 'node:util';
import { RECORD_KINDS } from '../../domain/record-id.ts';
import { redactRecord } from '../../services/work/redact-record.ts';
import { databaseOptions, operatorContext, runCommand, UsageError, withDatabase } from '../command.ts';

const usage = 'npm run record:redact -- ORGANIZATION note|time_entry ID --by NAME [--remote | --persist-to DIRECTORY]';

await runCommand(usage, async () => {
  const { values: options, positionals } = parseArgs({ allowPositionals: true, options: { ...databaseOptions, by: { type: 'string' } } });
  const [organization, given, id, ...rest] = positionals;
  const kind = RECORD_KINDS.find((kind) => kind === given);
  if (organization === undefined || kind === undefined || id === undefined || rest.length > 0) {
    throw new UsageError('Name the organization, the kind of record and its id.');
  }
  const { by } = options;
  if (by === undefined) throw new UsageError('Say with --by who asked for it; it stands in the audit log.');
  const { status } = await withDatabase(options, (db) => redactRecord(operatorContext(db), { organization, kind, id, by }));
  console.log(status === 'redacted' ? `The text of ${kind} ${id} is gone.` : `The text of ${kind} ${id} had been redacted before.`);
});
