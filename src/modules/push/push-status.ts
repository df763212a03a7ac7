import { instant, optionalInstant } from '../../domain/change.ts';
import { databaseCommand } from '../../ops/command.ts';
import { count, print } from '../../ops/output.ts';
import { printable } from '../../ops/printable.ts';
import { readAll } from '../../services/call-d1.ts';
import type { ServiceContext } from '../../services/service-context.ts';
import { organizationNotFound } from '../../services/work/require-cursor.ts';
import { findPushStatus, type PushStatusRow } from './push-statements.ts';

const STATUS_PAGE = 500;

export const pushStatus = databaseCommand(
  {
    name: 'push:status',
    summary: 'show pushed and pending changes',
    purpose:
      'Shows for each organization how many changes wait to be pushed and since when, and what failed. The numbers are those that the push last wrote to the database: while it delivers many pages, it may be further on. Nothing is written.',
    usage: '[--organization ORGANIZATION] [--json]',
    example: 'push:status --remote',
    failure: 'failure: there is no such organization, or the database failed',
  },
  (command) =>
    command
      .option('--organization <ORGANIZATION>', 'Only the organization with this id.')
      .option('--json', 'Print one line of JSON for each organization.'),
  async (withDatabase, options) => {
    const pushes = await withDatabase(({ context }) => listPushStatus(context(), options.organization));
    if (options.json) return print(pushes.map((push) => `${JSON.stringify(toJson(push))}\n`).join(''));
    const isUnused = pushes.every(({ confirmedSeq }) => confirmedSeq === null);
    const note = isUnused
      ? '\nThe push has never run here. Set WEBHOOK_URL and WEBHOOK_SECRET, and deploy: src/ops/run.md, "Push".\n'
      : '';
    await print(`${pushes.map(describe).join('')}${note}`);
  },
);

/** @throws ServiceError `organization_not_found` */
async function listPushStatus(ctx: ServiceContext, only?: string): Promise<PushStatusRow[]> {
  const rows: PushStatusRow[] = [];
  for (;;) {
    const after = rows.at(-1)?.organizationId ?? '';
    const results = await readAll(ctx, findPushStatus.bind({ only: only ?? null, after, limit: STATUS_PAGE }));
    rows.push(...results);
    if (only !== undefined && rows.length === 0) throw organizationNotFound(only);
    if (results.length < STATUS_PAGE) return rows;
  }
}

const waitingOf = ({ newestSeq, confirmedSeq }: PushStatusRow) => Math.max(0, newestSeq - (confirmedSeq ?? 0));

function toJson(push: PushStatusRow) {
  return {
    organization: push.organizationId,
    confirmedSeq: push.confirmedSeq,
    confirmedAt: optionalInstant(push.confirmedAt),
    newestSeq: push.newestSeq,
    waiting: waitingOf(push),
    waitingSince: optionalInstant(push.waitingSince),
    failingSince: optionalInstant(push.failingSince),
    attempts: push.attempts ?? 0,
    failure: push.failure,
    nextAttemptAt: optionalInstant(push.nextAttemptAt),
    stoppedAt: optionalInstant(push.stoppedAt),
  };
}

/** The organization in one line, and a line for each thing that is wrong. */
function describe(push: PushStatusRow): string {
  const { organizationId, confirmedSeq, newestSeq, waitingSince, failingSince, attempts, failure } = push;
  const { nextAttemptAt, stoppedAt } = push;
  const waiting = waitingOf(push);
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
