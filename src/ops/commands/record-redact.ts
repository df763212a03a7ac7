import { Argument } from '@commander-js/extra-typings';
import { RECORD_KIND_NAMES, type RecordKind } from '../../domain/record-kinds.ts';
import type { Redaction } from '../../services/service-context.ts';
import { redactRecord } from '../../services/work/record-services.ts';
import { listReleases } from '../../services/work/release-changes.ts';
import { byOption, type Database, databaseCommand, onCode } from '../command.ts';
import { readExportedChanges } from '../exported-changes.ts';
import { UsageError } from '../failures.ts';
import { count } from '../output.ts';

export const recordRedact = databaseCommand(
  {
    name: 'record:redact',
    summary: 'remove the text of a note or time entry',
    purpose:
      'Replaces the text of a note or time entry with [redacted], permanently, including in the archive. The record stays, and the audit log says who asked for it. With --from, repeats every redaction that an export of changes:export shows; use it after a restore.',
    example: 'record:redact northwind note 0198c0de-0000-7000-8000-000000000000 --by "Ada, ticket 77"',
    failure: 'failure: there is no such record, a wrong file, or the database failed; a second call does no harm',
  },
  (command) =>
    command
      .argument('<ORGANIZATION>', 'The id of the organization.')
      .addArgument(new Argument('[KIND]', 'The kind of record.').choices(RECORD_KIND_NAMES))
      .argument('[ID]', 'The id of the record.')
      .option('--from <FILE>', 'A file that changes:export wrote for the organization.')
      .addOption(byOption),
  async (withDatabase, organization, kind, id, { from, by }) => {
    if ((from === undefined) === (kind === undefined || id === undefined))
      throw new UsageError('Name the record with its kind and id, or a file with --from.');
    await withDatabase(async ({ context }) => {
      if (from !== undefined) return redactAll(context, organization, from, by);
      if (kind === undefined || id === undefined) return;
      const { status, archive } = await redactRecord(context(), { organization, kind, id, by });
      console.log(
        status === 'redacted'
          ? `The text of ${kind} ${id} is removed.`
          : `The text of ${kind} ${id} was already removed. Nothing was changed.`,
      );
      if (archive) console.log(archiveNote(archive));
    });
  },
);

const archiveNote = (damage: Redaction['archive']) =>
  `Its archived object is ${damage}, and was not changed: the text is removed whenever the object is read. See the runbook.`;

async function redactAll(context: Database['context'], organization: string, from: string, by: string): Promise<void> {
  // Otherwise every record of a misspelled organization would be reported as missing.
  await listReleases(context(), organization);
  const records = new Map<string, RecordKind>();
  for await (const { action, targetId } of readExportedChanges(from, 'Nothing was redacted'))
    for (const kind of RECORD_KIND_NAMES) if (action === `${kind}.redacted`) records.set(targetId, kind);
  const found = { redacted: 0, unchanged: 0, missing: 0 };
  for (const [id, kind] of records) {
    const request = { organization, kind, id, by };
    const redaction = await redactRecord(context(), request).catch(
      onCode('record_not_found', () => ({ status: 'missing' as const, archive: undefined })),
    );
    found[redaction.status] += 1;
    if (redaction.archive) console.log(`${kind} ${id}: ${archiveNote(redaction.archive)}`);
  }
  console.log(
    `${count(records.size, 'redaction')} in the file: ${found.redacted} redacted now, ${found.unchanged} already redacted, ${found.missing} not found.`,
  );
}
