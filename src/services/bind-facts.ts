import { ALL_ORGANIZATIONS, type FactStatement, PAGE_FACT_STATEMENTS } from '../db/fact-statements.ts';
import type { BoundStatement } from '../db/statement.ts';
import { addDays, dateIn } from '../domain/calendar.ts';
import type { DayLimits } from '../domain/day-limit.ts';
import { FACTS, type Fact } from '../domain/facts.ts';
import type { ServiceContext } from './service-context.ts';
import { latestDatabaseSize } from './size-warning.ts';

/** What of the configuration decides about facts. */
export interface FactOptions {
  isPushed: boolean;
  dayLimits: DayLimits;
}

/** How many facts of an organization a page examines of each statement. */
const MAX_PAGE_FACTS = 500;

/** Binds a statement to all organizations. */
export const bindFacts = (
  ctx: ServiceContext,
  { statement }: FactStatement,
  options: FactOptions,
  limit: number,
): BoundStatement<Fact> => statement.bind({ ...ALL_ORGANIZATIONS, ...factValues(ctx, options, limit) });

/** The statements of the facts that pages show, bound to these organizations. */
export function bindPageFacts(ctx: ServiceContext, options: FactOptions, organizationIds: readonly string[]) {
  const limit = MAX_PAGE_FACTS * organizationIds.length;
  const values = { ...factValues(ctx, options, limit), organizationIds: JSON.stringify(organizationIds) };
  return Object.values(PAGE_FACT_STATEMENTS).map((statement) => statement.bind(values));
}

function factValues(ctx: ServiceContext, { isPushed, dayLimits: { key, organization } }: FactOptions, limit: number) {
  const now = ctx.now();
  return {
    now,
    limit,
    isPushed: isPushed ? 1 : 0,
    // The two days that have ended last in every time zone, and the present ones.
    firstDay: addDays(dateIn('UTC', now), -2),
    keyRecords: key?.records ?? Number.MAX_SAFE_INTEGER,
    keyBytes: key?.bytes ?? Number.MAX_SAFE_INTEGER,
    organizationRecords: organization?.records ?? Number.MAX_SAFE_INTEGER,
    organizationBytes: organization?.bytes ?? Number.MAX_SAFE_INTEGER,
    databaseBytes: latestDatabaseSize(ctx)?.bytes ?? 0,
    databaseLimit: ctx.databaseLimit ?? Number.MAX_SAFE_INTEGER,
  };
}

/** The fact of a row, or undefined if what SQL cannot decide excludes it. */
export function toFact(row: Fact, now: number): Fact | undefined {
  const { judge } = FACTS[row.type];
  return judge ? judge(row, now) : row;
}
