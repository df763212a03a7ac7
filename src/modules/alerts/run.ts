import type { JobContext } from '../../module.ts';
import { type FactOptions, type FactSource, factSources } from '../../services/facts.ts';
import { findAlerts } from './find-alerts.ts';
import { type AlertConfig, outletsOf } from './outlets.ts';
import { sendAlerts } from './send-alerts.ts';

/** The deadline of a run. It is shorter than the time for which alerts are claimed. */
const DEADLINE_MS = 180_000;

const isUrgent = ({ kinds }: FactSource) => Object.values(kinds).some((kind) => kind.isUrgent);

/** Every five minutes: finds the urgent alerts, and sends all that are due. */
export async function sendUrgentAlerts(config: AlertConfig, job: JobContext): Promise<void> {
  const outlets = outletsOf(config);
  if (outlets.length === 0) return;
  const options = optionsOf(config, job.facts);
  const ctx = { ...job, deadlineAt: Date.now() + DEADLINE_MS };
  // Facts that were found earlier are sent although a statement fails.
  const [finding] = await Promise.allSettled([findAlerts(ctx, factSources(options).filter(isUrgent), config, options)]);
  await sendAlerts(ctx, outlets);
  if (finding.status === 'rejected') throw finding.reason;
}

/** Once a day: finds all other alerts. The next run of `sendUrgentAlerts` sends them. */
export async function findDailyAlerts(config: AlertConfig, job: JobContext): Promise<void> {
  if (outletsOf(config).length === 0) return;
  const options = optionsOf(config, job.facts);
  const sources = factSources(options).filter((source) => !isUrgent(source));
  await findAlerts({ ...job, deadlineAt: Date.now() + DEADLINE_MS }, sources, config, options);
}

const optionsOf = ({ receiver, dayLimits, keepDays }: AlertConfig, ofModules: readonly FactSource[]): FactOptions => ({
  isPushed: receiver !== undefined,
  dayLimits,
  keepDays,
  ofModules,
});
