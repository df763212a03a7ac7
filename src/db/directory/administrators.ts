import { and, asc, eq, exists, sql } from 'drizzle-orm';
import { builder, statement } from '../client.ts';
import { organizations, users } from '../schema.ts';
import { named, type RowOf } from '../statements.ts';

/** Whether a user may manage keys and review time entries. */
const isActiveAdministrator = sql`${users.isAdmin} = 1 and ${users.active} = 1`;

/** Whoever changes something. */
export interface ActorValues {
  organizationId: string;
  actorId: string;
}

/** The actor's row in `users`, if the actor is an active administrator of the organization. */
export const activeAdministrator = and(
  eq(users.organizationId, sql.placeholder('organizationId')),
  eq(users.id, sql.placeholder('actorId')),
  isActiveAdministrator,
);

/** The condition of a write that only an active administrator may make. */
export const byActiveAdministrator = exists(builder.select({ one: sql`1` }).from(users).where(activeAdministrator));

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
    .where(and(eq(users.email, sql.placeholder('email')), isActiveAdministrator))
    .orderBy(asc(organizations.name), asc(organizations.id))
    .limit(MAX_ORGANIZATIONS),
);
