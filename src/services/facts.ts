import { FACT_SOURCES, type FactSource, type FactValues } from '../db/fact-statements.ts';
import type { Database } from '../db/query.ts';
import { addDays, DAY_MS, dateIn } from '../domain/calendar.ts';
import type { DayLimits } from '../domain/day-limit.ts';
import { FACTS, type Fact, type FactKind, type FoundFact } from '../domain/facts.ts';
import { latestSize, queryAll } from './call-d1.ts';
import type { ServiceContext } from './service-context.ts';

export type { FactSource } from '../db/fact-statements.ts';

/** The configuration that facts depend on. */
export interface FactOptions {
  isPushed: boolean;
  dayLimits: DayLimits;
  /** How many days records are kept; undefined for always. */
  keepDays: number | undefined;
  /** The sources that modules contribute. */
  ofModules: readonly FactSource[];
}

export const factSources = ({ ofModules }: Pick<FactOptions, 'ofModules'>): readonly FactSource[] => [
  ...FACT_SOURCES,
  ...ofModules,
];

/** How many facts of an organization a page examines of each statement. */
const MAX_PAGE_FACTS = 500;

/** The statement of the facts of all organizations, at most `limit`, and `each` of one organization. */
export const findFacts = (
  ctx: ServiceContext,
  db: Database,
  { ofAll }: FactSource,
  options: FactOptions,
  { each, limit }: { each: number; limit: number },
) => ofAll(db, factValues(ctx, options, limit), each);

/** The statements of the facts of these organizations that pages show. */
export function findPageFacts(
  ctx: ServiceContext,
  db: Database,
  options: FactOptions,
  organizationIds: readonly string[],
) {
  const values = factValues(ctx, options, MAX_PAGE_FACTS * organizationIds.length);
  return factSources(options).flatMap(({ ofPage }) => ofPage?.(db, values, organizationIds) ?? []);
}

function factValues(
  ctx: ServiceContext,
  { isPushed, keepDays, dayLimits: { key, organization } }: FactOptions,
  limit: number,
): FactValues {
  const now = ctx.now();
  return {
    now,
    limit,
    isPushed: isPushed ? 1 : 0,
    // The two days that have ended last in every time zone, and the present ones.
    firstDay: addDays(dateIn('UTC', now), -2),
    keptSince: keepDays === undefined ? 0 : now - keepDays * DAY_MS,
    keyRecords: key?.records ?? Number.MAX_SAFE_INTEGER,
    keyBytes: key?.bytes ?? Number.MAX_SAFE_INTEGER,
    organizationRecords: organization?.records ?? Number.MAX_SAFE_INTEGER,
    organizationBytes: organization?.bytes ?? Number.MAX_SAFE_INTEGER,
    databaseBytes: latestSize(ctx.db) ?? 0,
    databaseLimit: ctx.databaseLimit ?? Number.MAX_SAFE_INTEGER,
  };
}

/** The facts of the rows that these statements return, the most urgent type first and those of modules last. */
export function toPageFacts(rows: readonly Fact[], { ofModules }: FactOptions): FoundFact[] {
  const kinds = { ...FACTS, ...Object.fromEntries(ofModules.flatMap((source) => Object.entries(source.kinds))) };
  const order = Object.keys(kinds);
  return rows.map((row) => toFact(row, kinds)).sort((a, b) => order.indexOf(a.type) - order.indexOf(b.type));
}

/** The facts of these organizations that pages show. */
export async function readFacts(ctx: ServiceContext, options: FactOptions, organizationIds: readonly string[]) {
  const rows = await queryAll(ctx, 'nothing_written', (db) => findPageFacts(ctx, db, options, organizationIds));
  return toPageFacts(rows.flat(), options);
}

export function toFact(row: Fact, kinds: Readonly<Record<string, FactKind>>): FoundFact {
  const kind = kinds[row.type];
  if (!kind) throw new Error(`there is no kind of facts for the type ${row.type}`);
  return { ...row, kind };
}
