import { log } from '../../lib/log.ts';
import { readAll } from '../../services/call-d1.ts';
import type { ServiceContext } from '../../services/service-context.ts';
import { claimAlerts, type DueAlert, endAlerts, postponeAlerts } from './alert-statements.ts';
import type { Outlet } from './outlets.ts';

/** How many alerts of a channel one run sends, and how many of them of one organization. */
export const MAX_SENT = 100;
const MAX_SENT_EACH = 20;
/** How many messages of a channel are under way at a time. */
const AT_ONCE = 4;
/** A run leaves a channel alone after this number of failures in a row. */
const MAX_FAILURES = 3;
/** How long alerts are claimed: longer than a run takes, and shorter than the time between two. */
const CLAIM_MS = 4 * 60_000;
/** No attempt begins later than this before the deadline of the run. */
const LAST_ATTEMPT_MS = 60_000;

/**
 * Sends the alerts that are due on a channel. They are claimed first, so that simultaneous runs do
 * not both send them, and marked after each message. If the mark is lost, they are sent again under
 * the same id. Alerts that a run leaves are sent by the next one.
 */
export async function sendAlerts(ctx: ServiceContext, outlet: Outlet): Promise<void> {
  const now = ctx.now();
  const limits = { each: MAX_SENT_EACH, limit: MAX_SENT };
  const claim = claimAlerts.bind({ channel: outlet.channel, now, claimedUntil: now + CLAIM_MS, ...limits });
  const due = await readAll(ctx, claim, 'safe_to_repeat');
  const organizations = Map.groupBy(due.toSorted(inOrder), ({ organizationId }) => organizationId).values();
  const run = { failures: 0 };
  const sendOneAfterAnother = async () => {
    for (const alerts of organizations) await sendToOrganization(ctx, outlet, run, alerts);
  };
  // All of them end before an error is thrown: sent alerts are marked.
  const ends = await Promise.allSettled(Array.from({ length: AT_ONCE }, sendOneAfterAnother));
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
}

const inOrder = (a: DueAlert, b: DueAlert) => a.attempts - b.attempts || a.foundAt - b.foundAt;

/** Sends alerts of one organization, until an attempt fails. */
async function sendToOrganization(
  ctx: ServiceContext,
  outlet: Outlet,
  run: { failures: number },
  due: readonly DueAlert[],
): Promise<void> {
  for (let start = 0; start < due.length; start += outlet.size) {
    if (run.failures >= MAX_FAILURES || Date.now() > ctx.deadlineAt - LAST_ATTEMPT_MS) return;
    const isEnded = await sendMessage(ctx, outlet, due.slice(start, start + outlet.size));
    run.failures = isEnded ? 0 : run.failures + 1;
    if (!isEnded) return;
  }
}

/** Sends one message and records what became of it. Returns false if it is to be repeated. */
async function sendMessage(ctx: ServiceContext, outlet: Outlet, alerts: readonly DueAlert[]): Promise<boolean> {
  const { channel } = outlet;
  const organizationId = alerts[0]?.organizationId ?? '';
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
