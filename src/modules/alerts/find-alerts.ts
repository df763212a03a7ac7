import type { Statement } from '../../db/query.ts';
import type { Fact } from '../../domain/facts.ts';
import { log } from '../../lib/log.ts';
import { readBatch, sendBatch } from '../../services/call-d1.ts';
import { type FactOptions, type FactSource, findFacts, toFact } from '../../services/facts.ts';
import type { ServiceContext } from '../../services/service-context.ts';
import { alertText } from './alert.ts';
import { findStoredAlerts, type NewAlert, type StoredAlert, saveAlerts, withdrawAlerts } from './alert-statements.ts';
import type { AlertConfig } from './outlets.ts';

/** How many facts of one statement a run compares: of one organization, and of all. */
const MAX_FACTS = { each: 200, limit: 2_000 };
/** How many alerts one statement stores. */
const SAVED_AT_ONCE = 500;

/**
 * Stores an alert for each new or more urgent fact, and withdraws alerts whose facts are gone. Each
 * source is one call to D1, and one more after a change. The first error is thrown at the end.
 */
export async function findAlerts(
  ctx: ServiceContext,
  sources: readonly FactSource[],
  config: AlertConfig,
  options: FactOptions,
): Promise<void> {
  const errors: unknown[] = [];
  for (const source of sources) {
    try {
      await compare(ctx, source, config, options);
    } catch (err) {
      log('error', 'alerts_not_found', { types: Object.keys(source.kinds), cause: err });
      errors.push(err);
    }
  }
  if (errors.length > 0) throw errors[0];
}

const identityOf = ({ organizationId, type, subject }: Pick<Fact, 'organizationId' | 'type' | 'subject'>) =>
  JSON.stringify([organizationId, type, subject]);

async function compare(
  ctx: ServiceContext,
  source: FactSource,
  config: AlertConfig,
  options: FactOptions,
): Promise<void> {
  const now = ctx.now();
  const types = Object.keys(source.kinds);
  const [rows, stored] = await readBatch(ctx, (db) => [
    findFacts(ctx, db, source, options, MAX_FACTS),
    findStoredAlerts(db, { types: JSON.stringify(types), ...MAX_FACTS }),
  ]);
  const levels = new Map(stored.map((alert) => [identityOf(alert), alert.level]));
  const present = new Set<string>();
  const found: NewAlert[] = [];
  for (const row of rows) {
    const identity = identityOf(row);
    try {
      const fact = toFact(row, source.kinds);
      if ((levels.get(identity) ?? 0) < fact.level) {
        const { organizationId, type, subject, level } = fact;
        const text = alertText(fact, config.serviceUrl);
        found.push({ organizationId, type, subject, level, id: `alert_${crypto.randomUUID()}`, text });
      }
    } catch (err) {
      // A bad fact of one organization keeps no other organization from its alerts.
      log('error', 'alert_not_made', { organization: row.organizationId, type: row.type, cause: err });
    }
    present.add(identity);
  }
  const isFull = rows.length === MAX_FACTS.limit;
  const ofEach = Map.groupBy(rows, ({ organizationId }) => organizationId);
  const full = [...ofEach].flatMap(([id, facts]) => (facts.length === MAX_FACTS.each ? id : []));
  if (isFull || full.length > 0) log('warn', 'alert_limit_met', { types, facts: rows.length, organizations: full });
  // With more facts than were read, an alert whose fact was not found may still be true. The first fact of each
  // organization was read before the second of any.
  const isCut = (id: string) => (isFull && (ofEach.has(id) || ofEach.size === rows.length)) || full.includes(id);
  const mayBeTrue = (alert: StoredAlert) => isCut(alert.organizationId) || present.has(identityOf(alert));
  const gone = stored.filter((alert) => !mayBeTrue(alert));
  const unsent = { toReceiver: Number(config.receiver !== undefined), toChat: Number(config.alertUrl !== undefined) };
  if (found.length === 0 && gone.length === 0) return;
  await sendBatch(ctx, 'safe_to_repeat', (db) => {
    const statements: Statement[] = [];
    for (let start = 0; start < found.length; start += SAVED_AT_ONCE)
      statements.push(saveAlerts(db, found.slice(start, start + SAVED_AT_ONCE), unsent, now));
    if (gone.length > 0) statements.push(withdrawAlerts(db, gone));
    return statements;
  });
}
