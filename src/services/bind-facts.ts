import { ALL_ORGANIZATIONS, FACT_STATEMENTS, type FactStatement } from '../db/fact-statements.ts';
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

/** How many facts a page examines of each statement. */
const MAX_PAGE_FACTS = 500;

/** The statements of the facts that a page of the settings area shows. */
const PAGE_STATEMENTS = Object.values(FACT_STATEMENTS).filter(({ types: [type] }) => FACTS[type].tile);

/** Binds a statement to all organizations, or to the one with this id. */
export function bindFacts(
  ctx: ServiceContext,
  { statement }: FactStatement,
  { isPushed, dayLimits: { key, organization } }: FactOptions,
  limit: number,
  only?: string,
): BoundStatement<Fact> {
  const now = ctx.now();
  return statement.bind({
    ...(only === undefined ? ALL_ORGANIZATIONS : { from: only, to: only }),
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
  });
}

/** The statements of the facts that a page shows of one organization. */
export const bindPageFacts = (ctx: ServiceContext, options: FactOptions, organizationId: string) =>
  PAGE_STATEMENTS.map((each) => bindFacts(ctx, each, options, MAX_PAGE_FACTS, organizationId));

/** The fact of a row, or undefined if what SQL cannot decide excludes it. */
export function toFact(row: Fact, now: number): Fact | undefined {
  const { judge } = FACTS[row.type];
  return judge ? judge(row, now) : row;
}
