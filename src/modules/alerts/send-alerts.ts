import { log } from '../../lib/log.ts';
import { query } from '../../services/call-d1.ts';
import type { ServiceContext } from '../../services/service-context.ts';
import { claimAlerts, type DueAlert, recordAttempt } from './alert-statements.ts';
import type { Outlet } from './outlets.ts';

/** How many alerts one run sends, and how many of them of one organization. */
export const MAX_SENT = 100;
const MAX_SENT_EACH = 20;
/** A run leaves an outlet alone after this number of failures in a row. */
const MAX_FAILURES = 3;
/** How long alerts are claimed: longer than a run takes, and shorter than the time between two. */
const CLAIM_MS = 4 * 60_000;
/** How long an alert is tried. */
const TRIED_MS = 24 * 60 * 60_000;
/** No attempt begins later than this before the deadline of the run. */
const LAST_ATTEMPT_MS = 60_000;

/**
 * Sends the unsent alerts, one after another. They are claimed first, so that simultaneous runs do not both send them,
 * and marked after each one. If the mark is lost, an alert is sent again under the same id. The next run tries the
 * others again.
 */
export async function sendAlerts(ctx: ServiceContext, outlets: readonly Outlet[]): Promise<void> {
  const now = ctx.now();
  const times = { now, givenUpUntil: now - TRIED_MS, claimedUntil: now - CLAIM_MS };
  const due = await query(ctx, 'safe_to_repeat', (db) =>
    claimAlerts(db, { ...times, each: MAX_SENT_EACH, limit: MAX_SENT }),
  );
  const runs = outlets.map((outlet) => ({ outlet, failures: 0, failedFor: new Set<string>() }));
  // Alerts that failed for hours come last.
  for (const alert of due.toSorted((a, b) => b.foundAt - a.foundAt)) {
    if (Date.now() > ctx.deadlineAt - LAST_ATTEMPT_MS) return;
    const ended = new Set(await Promise.all(runs.map((run) => sendTo(run, alert))));
    if (!ended.has('toReceiver') && !ended.has('toChat')) continue;
    const left = (field: Outlet['unsent']) => (ended.has(field) ? 0 : alert[field]);
    const unsent = { toReceiver: left('toReceiver'), toChat: left('toChat') };
    await query(ctx, 'safe_to_repeat', (db) => recordAttempt(db, { ...alert, ...unsent }));
  }
}

interface OutletRun {
  outlet: Outlet;
  /** How many alerts failed in a row, and the organizations of all that failed. */
  failures: number;
  failedFor: Set<string>;
}

/** Sends an alert to an outlet, if it is unsent there. Returns its field if it is not to be sent there again. */
async function sendTo(run: OutletRun, alert: DueAlert): Promise<Outlet['unsent'] | undefined> {
  const { name, unsent, send } = run.outlet;
  const organization = alert.organizationId;
  // After a failure, the other alerts of the organization wait for the next run.
  if (alert[unsent] === 0 || run.failures >= MAX_FAILURES || run.failedFor.has(organization)) return undefined;
  const outcome = await send(alert);
  if (outcome.result !== 'confirmed')
    log('warn', 'alert_failed', { organization: organization || undefined, outlet: name, failure: outcome.failure });
  if (outcome.result !== 'failed') {
    run.failures = 0;
    return unsent;
  }
  run.failures += 1;
  run.failedFor.add(organization);
  return undefined;
}
