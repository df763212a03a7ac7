import { findCursorPosition } from '../../db/work/changes.ts';
import { instant } from '../../domain/change.ts';
import { databaseCommand } from '../../ops/command.ts';
import { count, print } from '../../ops/output.ts';
import { printable } from '../../ops/printable.ts';
import { readAll, readOne } from '../../services/call-d1.ts';
import type { ServiceContext } from '../../services/service-context.ts';
import { requireValidCursor } from '../../services/work/require-cursor.ts';
import { type AlertChannel, messageType } from './alert.ts';
import { findWaitingAlerts, type WaitingAlert } from './alert-statements.ts';

const MAX_LISTED = 500;

export const alertsStatus = databaseCommand(
  {
    name: 'alerts:status',
    summary: 'show the alerts that wait to be sent, and what failed',
    purpose: `Lists the alerts that wait for WEBHOOK_URL or ALERT_URL, oldest first, at most ${MAX_LISTED}: how often each was tried, and why the last attempt failed. An alert that was sent is not listed. Nothing is written.`,
    usage: '[--organization ORGANIZATION] [--json]',
    example: 'alerts:status --remote',
    failure: 'failure: there is no such organization, or the database failed',
  },
  (command) =>
    command
      .option('--organization <ORGANIZATION>', 'Only the alerts of the organization with this id.')
      .option('--json', 'Print one line of JSON for each alert.'),
  async (withDatabase, options) => {
    const alerts = await withDatabase(({ context }) => listWaitingAlerts(context(), options.organization));
    if (options.json) return print(alerts.map((alert) => `${JSON.stringify(toJson(alert))}\n`).join(''));
    if (alerts.length === 0) return print('No alert waits to be sent.\n');
    const rest = alerts.length === MAX_LISTED ? 'There may be more.\n' : '';
    await print(`${alerts.map(describe).join('')}${rest}`);
  },
);

/** @throws ServiceError `organization_not_found`, `being_erased` */
async function listWaitingAlerts(ctx: ServiceContext, organization?: string): Promise<WaitingAlert[]> {
  const alerts = await readAll(ctx, findWaitingAlerts.bind({ only: organization ?? null, limit: MAX_LISTED }));
  // A misspelled id must not look like good news.
  if (alerts.length === 0 && organization !== undefined) {
    const found = await readOne(ctx, findCursorPosition.bind({ organizationId: organization, seq: 0 }));
    requireValidCursor(found ?? undefined, organization, null);
  }
  return alerts;
}

const ADDRESSES: Record<AlertChannel, string | null> = { push: 'WEBHOOK_URL', chat: 'ALERT_URL', log: null };

const toJson = ({ organizationId, id, channel, type, foundAt, attempts, nextAttemptAt, failure }: WaitingAlert) => ({
  organization: organizationId === '' ? null : organizationId,
  id,
  type: messageType(type),
  address: ADDRESSES[channel],
  foundAt: instant(foundAt),
  attempts,
  nextAttemptAt: instant(nextAttemptAt),
  failure,
});

/** The alert in one line, and another one if an attempt failed. */
function describe({ organizationId, type, foundAt, channel, attempts, nextAttemptAt, failure }: WaitingAlert): string {
  const whose = organizationId === '' ? 'the deployment' : printable(organizationId);
  const line = `${whose}: ${messageType(type)} of ${instant(foundAt)} waits for ${ADDRESSES[channel] ?? 'the log'}\n`;
  if (attempts === 0) return line;
  const last = failure === null ? '' : `; the last failure: ${printable(failure)}`;
  return `${line}  ${count(attempts, 'attempt')}${last}; next attempt at ${instant(nextAttemptAt)}\n`;
}
