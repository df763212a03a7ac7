import type { JobContext } from '../../module.ts';
import { type FactOptions, type FactSource, factSources } from '../../services/bind-facts.ts';
import { findAlerts } from './find-alerts.ts';
import { type AlertConfig, outletsOf } from './outlets.ts';
import { sendAlerts } from './send-alerts.ts';

/** The deadline of a run. It is shorter than the time for which alerts are claimed. */
const DEADLINE_MS = 180_000;

const isUrgent = ({ kinds }: FactSource) => Object.values(kinds).some((kind) => kind.isUrgent);

/** Every five minutes: finds the urgent alerts, and sends all that are due. */
export async function sendUrgentAlerts(config: AlertConfig, job: JobContext): Promise<void> {
  const options = optionsOf(config, job.facts);
  const ctx = { ...job, deadlineAt: Date.now() + DEADLINE_MS };
  const outlets = outletsOf(config);
  const found = findAlerts(ctx, factSources(options).filter(isUrgent), outlets, options);
  // Facts that were found earlier are sent although a statement fails.
  const [finding] = await Promise.allSettled([found]);
  const sending = await Promise.allSettled(outlets.map((outlet) => sendAlerts(ctx, outlet)));
  for (const part of [finding, ...sending]) if (part.status === 'rejected') throw part.reason;
}

/** Once a day: finds all other alerts. The next run of `sendUrgentAlerts` sends them. */
export async function findDailyAlerts(config: AlertConfig, job: JobContext): Promise<void> {
  // Without WEBHOOK_URL and ALERT_URL, only urgent alerts are written to the log.
  if (!config.receiver && config.alertUrl === undefined) return;
  const options = optionsOf(config, job.facts);
  const sources = factSources(options).filter((source) => !isUrgent(source));
  await findAlerts({ ...job, deadlineAt: Date.now() + DEADLINE_MS }, sources, outletsOf(config), options);
}

const optionsOf = ({ receiver, dayLimits }: AlertConfig, ofModules: readonly FactSource[]): FactOptions => ({
  isPushed: receiver !== undefined,
  dayLimits,
  ofModules,
});
