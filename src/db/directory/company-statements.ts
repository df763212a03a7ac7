import { and, eq, sql } from 'drizzle-orm';
import type { Database } from '../query.ts';
import { companies } from '../schema/directory.ts';

/** A company of the directory. `active` is 0 or 1. */
const COMPANY = { id: companies.id, name: companies.name, active: companies.active };

/** The organization's companies among these ids. */
export const findCompanies = (db: Database, organizationId: string, ids: readonly string[]) =>
  db
    .select(COMPANY)
    .from(companies)
    .where(
      and(
        eq(companies.organizationId, organizationId),
        // One value, because D1 binds at most 100.
        sql`${companies.id} in (select value from json_each(${JSON.stringify(ids)}))`,
      ),
    );

export type CompanyRow = Awaited<ReturnType<typeof findCompanies>>[number];

export const findFirstCompanies = (db: Database, organizationId: string, limit: number) =>
  db
    .select(COMPANY)
    .from(companies)
    .where(eq(companies.organizationId, organizationId))
    .orderBy(companies.id)
    .limit(limit);
