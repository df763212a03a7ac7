import { and, eq, isNull, sql } from 'drizzle-orm';
import type { Database } from '../db/query.ts';
import { organizations, users } from '../db/schema/directory.ts';
import { apiKeys } from '../db/schema/keys.ts';
import { connections } from '../db/schema/modules.ts';

// The statements of `npm start`.

/**
 * The people who administer an organization. `administers` are the names of the organizations, and `place` is that of the
 * first one in `organizationIds`: null if none of them is there.
 */
export const findLocalAdministrators = (db: Database, organizationIds: readonly string[]) => {
  const order = JSON.stringify(organizationIds);
  return db
    .select({
      email: users.email,
      name: users.name,
      administers: sql<string>`group_concat(${organizations.name}, ', ' order by ${organizations.name})`.as(
        'administers',
      ),
      place: sql<number | null>`min((select key from json_each(${order}) where value = ${organizations.id}))`.as(
        'place',
      ),
    })
    .from(users)
    .innerJoin(organizations, eq(organizations.id, users.organizationId))
    .where(and(eq(users.isAdmin, 1), eq(users.active, 1)))
    .groupBy(users.email)
    .orderBy(sql`place nulls last, count(*), administers, ${users.name}`)
    .limit(1000);
};

/** The keys of an organization with this name that are not revoked. */
export const findKeysNamed = (db: Database, organizationId: string, name: string) =>
  db
    .select({ id: apiKeys.id })
    .from(apiKeys)
    .where(and(eq(apiKeys.organizationId, organizationId), eq(apiKeys.name, name), isNull(apiKeys.revokedAt)));

/** Forgets the adapters of all organizations. */
export const forgetConnections = (db: Database) => db.delete(connections);
