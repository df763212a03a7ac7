import { instant } from '../../domain/change.ts';
import { databaseCommand } from '../../ops/command.ts';
import { count, print } from '../../ops/output.ts';
import { printable } from '../../ops/printable.ts';
import { readAll } from '../../services/call-d1.ts';
import { type AlertChannel, messageType } from './alert.ts';
import { findWaitingAlerts, type WaitingAlert } from './alert-statements.ts';

const MAX_LISTED = 500;

export const alertsStatus = databaseCommand(
  {
    name: 'alerts:status',
    summary: 'show the alerts that wait to be sent, and what failed',
    purpose: `Lists the alerts that wait for WEBHOOK_URL or ALERT_URL, oldest first, at most ${MAX_LISTED}: how often each was tried, and why the last attempt failed. An alert that was sent is not listed. Nothing is written.`,
    example: 'alerts:status --remote',
    failure: 'failure: the database failed',
  },
  (command) => command,
  async (withDatabase) => {
    const alerts = await withDatabase(({ context }) =>
      readAll(context(), findWaitingAlerts.bind({ limit: MAX_LISTED })),
    );
    if (alerts.length === 0) return print('No alert waits to be sent.\n');
    const rest = alerts.length === MAX_LISTED ? 'There may be more.\n' : '';
    await print(`${alerts.map(describe).join('')}${rest}`);
  },
);

const ADDRESSES: Record<AlertChannel, string | null> = { push: 'WEBHOOK_URL', chat: 'ALERT_URL', log: null };

/** The alert in one line, and another one if an attempt failed. */
function describe({ organizationId, type, foundAt, channel, attempts, nextAttemptAt, failure }: WaitingAlert): string {
  const whose = organizationId === '' ? 'the deployment' : printable(organizationId);
  const line = `${whose}: ${messageType(type)} of ${instant(foundAt)} waits for ${ADDRESSES[channel] ?? 'the log'}\n`;
  if (attempts === 0) return line;
  const last = failure === null ? '' : `; the last failure: ${printable(failure)}`;
  return `${line}  ${count(attempts, 'attempt')}${last}; next attempt at ${instant(nextAttemptAt)}\n`;
}
