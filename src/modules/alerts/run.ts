import { FACT_STATEMENTS, type FactStatement } from '../../db/fact-statements.ts';
import { FACTS } from '../../domain/facts.ts';
import { timeOrderedId } from '../../domain/record-id.ts';
import { findAlerts } from './find-alerts.ts';
import { type AlertConfig, outletsOf } from './outlets.ts';
import { sendAlerts } from './send-alerts.ts';

/** The deadline of a run. It is shorter than the time for which alerts are claimed. */
const DEADLINE_MS = 180_000;

const isUrgent = ({ types: [type] }: FactStatement) => FACTS[type].isUrgent;

/** Every five minutes: finds the urgent alerts, and sends all that are due. */
export async function sendUrgentAlerts(
  db: D1Database,
  config: AlertConfig,
  now: () => number = Date.now,
): Promise<void> {
  const { receiver, dayLimits } = config;
  const ctx = contextOf(db, config, now);
  const outlets = outletsOf(config);
  const channels = outlets.map(({ channel }) => channel);
  const options = { isPushed: receiver !== undefined, dayLimits };
  const found = findAlerts(ctx, Object.values(FACT_STATEMENTS).filter(isUrgent), channels, options);
  // Facts that were found earlier are sent although a statement fails.
  const [finding] = await Promise.allSettled([found]);
  const sending = await Promise.allSettled(outlets.map((outlet) => sendAlerts(ctx, outlet)));
  for (const part of [finding, ...sending]) if (part.status === 'rejected') throw part.reason;
}

/** Once a day: finds all other alerts. The next run of `sendUrgentAlerts` sends them. */
export async function findDailyAlerts(
  db: D1Database,
  config: AlertConfig,
  now: () => number = Date.now,
): Promise<void> {
  const { receiver, alertUrl, dayLimits } = config;
  // Without an address, only urgent alerts are written to the log.
  if (!receiver && alertUrl === undefined) return;
  const channels = outletsOf(config).map(({ channel }) => channel);
  const statements = Object.values(FACT_STATEMENTS).filter((statement) => !isUrgent(statement));
  await findAlerts(contextOf(db, config, now), statements, channels, { isPushed: receiver !== undefined, dayLimits });
}

const contextOf = (db: D1Database, { databaseLimit }: AlertConfig, now: () => number) => ({
  db,
  now,
  databaseLimit,
  deadlineAt: Date.now() + DEADLINE_MS,
  requestId: timeOrderedId(now()),
});
