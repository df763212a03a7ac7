import { and, asc, eq, sql } from 'drizzle-orm';
import { builder, statement } from './client.ts';
import { organizations, users } from './schema.ts';
import { named, type RowOf } from './statements.ts';

const administratorColumns = {
  userId: users.id,
  userName: users.name,
  organizationId: organizations.id,
  organizationName: organizations.name,
  timeZone: organizations.timeZone,
  hasPsa: organizations.hasPsa,
};

export type AdministratorRow = RowOf<typeof administratorColumns>;

/** Nobody administers more organizations than this; the query has to end somewhere. */
const MAX_ORGANIZATIONS = 100;

/** The active organizations that the person with this e-mail address (lower case) is an active administrator of, by name. */
export const findAdministrator = statement<{ email: string }>(
  builder
    .select(named(administratorColumns))
    .from(users)
    .innerJoin(organizations, and(eq(organizations.id, users.organizationId), sql`${organizations.active} = 1`))
    .where(and(eq(users.email, sql.placeholder('email')), sql`${users.isAdmin} = 1`, sql`${users.active} = 1`))
    .orderBy(asc(organizations.name), asc(organizations.id))
    .limit(MAX_ORGANIZATIONS),
);
