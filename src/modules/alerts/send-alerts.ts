import { log } from '../../lib/log.ts';
import { readAll } from '../../services/call-d1.ts';
import type { ServiceContext } from '../../services/service-context.ts';
import { claimAlerts, type DueAlert, endAlerts, postponeAlerts } from './alert-statements.ts';
import type { Outlet } from './outlets.ts';

/** How many alerts of a channel one run sends, and how many of them of one organization. */
export const MAX_SENT = 100;
const MAX_SENT_EACH = 20;
/** A run leaves a channel alone after this number of failures in a row. */
const MAX_FAILURES = 3;
/** How long alerts are claimed: longer than a run takes, and shorter than the time between two. */
const CLAIM_MS = 4 * 60_000;
/** No attempt begins later than this before the deadline of the run. */
const LAST_ATTEMPT_MS = 60_000;

/**
 * Sends the alerts that are due on a channel, one after another. They are claimed first, so that simultaneous
 * runs do not both send them, and marked after each message. If the mark is lost, they are sent again under
 * the same id. Alerts that a run leaves are sent by the next one.
 */
export async function sendAlerts(ctx: ServiceContext, outlet: Outlet): Promise<void> {
  const now = ctx.now();
  const limits = { each: MAX_SENT_EACH, limit: MAX_SENT };
  const claim = claimAlerts.bind({ channel: outlet.channel, now, claimedUntil: now + CLAIM_MS, ...limits });
  const due = await readAll(ctx, claim, 'safe_to_repeat');
  let failures = 0;
  for (const [organizationId, alerts] of Map.groupBy(due.toSorted(inOrder), (alert) => alert.organizationId))
    for (let start = 0; start < alerts.length; start += outlet.size) {
      if (failures >= MAX_FAILURES || Date.now() > ctx.deadlineAt - LAST_ATTEMPT_MS) return;
      const isEnded = await sendMessage(ctx, outlet, organizationId, alerts.slice(start, start + outlet.size));
      failures = isEnded ? 0 : failures + 1;
      // The others of the organization wait for the next run.
      if (!isEnded) break;
    }
}

const inOrder = (a: DueAlert, b: DueAlert) => a.attempts - b.attempts || a.foundAt - b.foundAt;

/** Sends one message and records what became of it. Returns false if it is to be repeated. */
async function sendMessage(
  ctx: ServiceContext,
  outlet: Outlet,
  organizationId: string,
  alerts: readonly DueAlert[],
): Promise<boolean> {
  const { channel } = outlet;
  const outcome = await outlet.send(alerts);
  const failure = outcome.result === 'confirmed' ? null : outcome.failure;
  const attempts = 1 + Math.max(...alerts.map((alert) => alert.attempts));
  if (failure !== null)
    log('warn', 'alert_failed', { organization: organizationId || undefined, channel, failure, attempts });
  const now = ctx.now();
  const ids = alerts.map(({ type, subject, id }) => ({ type, subject, id }));
  const values = { organizationId, channel, alerts: JSON.stringify(ids), now };
  // A receiver that returns 410 to an alert does not want this one. That does not stop the changes.
  const isEnded = failure === null || (outcome.result === 'gone' && channel === 'push');
  const retryAt = now + (outcome.result === 'failed' ? outcome.retryAfterMs : 0);
  await readAll(ctx, isEnded ? endAlerts.bind(values) : postponeAlerts.bind({ ...values, retryAt }), 'safe_to_repeat');
  return isEnded;
}
