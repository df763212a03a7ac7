import { Command } from '@commander-js/extra-typings';
import { instant } from '../../domain/change.ts';
import { databaseCommand } from '../../ops/command.ts';
import { count, print } from '../../ops/output.ts';
import { printable } from '../../ops/printable.ts';
import { query } from '../../services/call-d1.ts';
import { findPushStatus, type PushStatusRow } from './push-statements.ts';

export const pushStatus = databaseCommand(
  new Command('push:status')
    .summary('show pushed and pending changes')
    .description(
      'Shows for each organization how many changes wait to be pushed and since when, and what failed. The numbers are those that the push last wrote to the database: while it delivers many pages, it may be further on. Nothing is written.',
    ),
  async (withDatabase) => {
    const pushes = await withDatabase(({ context }) => query(context(), 'nothing_written', findPushStatus));
    await print(pushes.map(describe).join(''));
  },
);

/** The organization in one line, and a line for each thing that is wrong. */
function describe(push: PushStatusRow): string {
  const { organizationId, confirmedSeq, newestSeq, waitingSince, failingSince, attempts, failure } = push;
  const { nextAttemptAt, stoppedAt } = push;
  const waiting = Math.max(0, newestSeq - (confirmedSeq ?? 0));
  const progress = confirmedSeq === null ? 'never pushed' : `confirmed ${confirmedSeq} of ${newestSeq}`;
  const oldest = waitingSince === null ? '' : `, the oldest from ${instant(waitingSince)}`;
  const lines = [`${printable(organizationId)}: ${progress}; ${count(waiting, 'change')} waiting${oldest}`];
  if (failingSince !== null) {
    const last = `the last failure: ${printable(failure ?? 'unknown')}`;
    lines.push(`  failing since ${instant(failingSince)}: ${count(attempts ?? 0, 'attempt')}; ${last}`);
  }
  if (stoppedAt !== null)
    lines.push(`  STOPPED at ${instant(stoppedAt)}, because the receiver returned 410; push:resume continues it`);
  else if (nextAttemptAt !== null) lines.push(`  next attempt at ${instant(nextAttemptAt)}`);
  return `${lines.join('\n')}\n`;
}
