import { Argument, Command } from '@commander-js/extra-typings';
import { RECORD_KIND_NAMES } from '../../domain/record-kinds.ts';
import { redactRecord } from '../../services/work/record-services.ts';
import { byOption, databaseCommand } from '../command.ts';

export const recordRedact = databaseCommand(
  new Command('record:redact')
    .summary('remove the text of a note or time entry')
    .description(
      'Replaces the text of a note or time entry with [redacted], permanently. The record stays, and the audit log says who asked for it.',
    )
    .argument('<ORGANIZATION>', 'The id of the organization.')
    .addArgument(new Argument('<KIND>', 'The kind of record.').choices(RECORD_KIND_NAMES))
    .argument('<ID>', 'The id of the record.')
    .addOption(byOption),
  async (withDatabase, organization, kind, id, { by }) => {
    const { status } = await withDatabase(({ context }) => redactRecord(context(), { organization, kind, id, by }));
    console.log(
      status === 'redacted'
        ? `The text of ${kind} ${id} is removed.`
        : `The text of ${kind} ${id} was already removed. Nothing was changed.`,
    );
  },
);
