import { and, eq, sql } from 'drizzle-orm';
import { REFUSED_ATTENTION_MS } from '../../domain/refused-use.ts';
import { administrator } from '../aliases.ts';
import { needsAttention } from '../keys/refused-use-statements.ts';
import type { Database } from '../query.ts';
import { auditLog } from '../schema/audit.ts';
import { organizations, users } from '../schema/directory.ts';
import { apiKeys, refusedUses } from '../schema/keys.ts';
import { connections } from '../schema/modules.ts';

export interface AdministratorValues {
  organizationId: string;
  userId: string;
}

/** Condition: the user with the alias `administrator` is an active administrator of the organization. */
export const isActiveAdministrator = ({ organizationId, userId }: AdministratorValues) =>
  sql`${administrator.organizationId} = ${organizationId} and ${administrator.id} = ${userId}
    and ${administrator.isAdmin} = 1 and ${administrator.active} = 1`;

/** Condition: the user is an active administrator of the organization. */
export const byActiveAdministrator = (values: AdministratorValues) =>
  sql`exists (select 1 from ${users} ${administrator} where ${isActiveAdministrator(values)})`;

const MAX_REFUSED = 100;

interface AdministratorSearch {
  email: string;
  /** The organization that has to be among those found, if the person administers it. */
  organizationId: string;
  limit: number;
  now: number;
}

/** How many refused uses of the organization need attention, of the latest `MAX_REFUSED`. */
const countRefused = (now: number) => sql`(
  select count(*) from (
    select * from ${refusedUses}
    where ${refusedUses.organizationId} = ${organizations.id} and ${refusedUses.lastAt} >= ${now - REFUSED_ATTENTION_MS}
    order by ${refusedUses.lastAt} desc limit ${MAX_REFUSED}) ${refusedUses}
  cross join ${apiKeys} on ${apiKeys.organizationId} = ${refusedUses.organizationId} and ${apiKeys.id} = ${refusedUses.keyId}
  where ${needsAttention(now)})`;

/** The first `limit` active organizations, by name, that the person is an active administrator of. */
export const findAdministered = (db: Database, { email, organizationId, limit, now }: AdministratorSearch) =>
  db
    .select({
      userId: sql<string>`${users.id}`.as('userId'),
      userName: sql<string>`${users.name}`.as('userName'),
      organizationId: sql<string>`${organizations.id}`.as('organizationId'),
      organizationName: sql<string>`${organizations.name}`.as('organizationName'),
      timeZone: organizations.timeZone,
      hasPsa: organizations.hasPsa,
      approvals: organizations.approvals,
      psaName: connections.psaName,
      /** Refused uses that need attention, only of the organization that was asked for. */
      refused: sql<number>`iif(${organizations.id} = ${organizationId}, ${countRefused(now)}, 0)`.as('refused'),
    })
    .from(users)
    .innerJoin(organizations, and(eq(organizations.id, users.organizationId), eq(organizations.active, 1)))
    .leftJoin(connections, eq(connections.organizationId, organizations.id))
    // Constants, because SQLite uses a partial index only if it sees its condition.
    .where(sql`${users.email} = ${email} and ${users.isAdmin} = 1 and ${users.active} = 1`)
    .orderBy(sql`${organizations.id} = ${organizationId} desc`, organizations.name, organizations.id)
    .limit(limit);

/** The time zone of the organization, if the user is an active administrator there. */
export const findTimeZone = (db: Database, values: AdministratorValues) =>
  db
    .select({ timeZone: organizations.timeZone })
    .from(administrator)
    .innerJoin(organizations, eq(organizations.id, administrator.organizationId))
    .where(isActiveAdministrator(values));

const firstUsers = (db: Database, organizationId: string) =>
  db.select().from(users).where(eq(users.organizationId, organizationId)).limit(1_000).as('first_users');

/** The names of the active administrators among the organization's first 1,000 users. */
export const findAdministratorNames = (db: Database, organizationId: string) => {
  const first = firstUsers(db, organizationId);
  return db
    .select({ name: first.name })
    .from(first)
    .where(and(eq(first.active, 1), eq(first.isAdmin, 1)))
    .orderBy(first.name);
};

/** The same administrators, each with the time (UTC milliseconds) of the last entry in the audit log; null for none. */
export const findAdministrators = (db: Database, organizationId: string) => {
  const first = firstUsers(db, organizationId);
  return db
    .select({
      name: first.name,
      email: first.email,
      lastChangeAt: sql<number | null>`(select ${auditLog.at} from ${auditLog} indexed by audit_log_actor
        where ${auditLog.organizationId} = ${organizationId} and ${auditLog.actorType} = 'user' and ${auditLog.actorId} = ${first.id}
        order by ${auditLog.seq} desc limit 1)`.as('lastChangeAt'),
    })
    .from(first)
    .where(and(eq(first.active, 1), eq(first.isAdmin, 1)))
    .orderBy(first.name);
};
