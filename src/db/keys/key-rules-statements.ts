import { eq, type SQL, sql } from 'drizzle-orm';
import { DEFAULT_LONG_MINUTES } from '../../domain/time-marks.ts';
import { administrator } from '../aliases.ts';
import { type AdministratorValues, isActiveAdministrator } from '../directory/administrator-statements.ts';
import { type Database, excluded, valuesFor } from '../query.ts';
import { organizations, users } from '../schema/directory.ts';
import { keyRules } from '../schema/keys.ts';

/** The key rules and the time zone, with the default values without rules, if the user is an active administrator there. */
export const findKeyRules = (db: Database, values: AdministratorValues) =>
  db
    .select({
      maxLifetimeDays: keyRules.maxLifetimeDays,
      expiryRequired: sql<number>`coalesce(${keyRules.expiryRequired}, 0)`.as('expiryRequired'),
      longMinutes: sql<number>`coalesce(${keyRules.longMinutes}, ${DEFAULT_LONG_MINUTES})`.as('longMinutes'),
      /** 0 if the organization has not set key rules. */
      revision: sql<number>`coalesce(${keyRules.revision}, 0)`.as('rulesRevision'),
      timeZone: organizations.timeZone,
    })
    .from(administrator)
    .innerJoin(organizations, eq(organizations.id, administrator.organizationId))
    .leftJoin(keyRules, eq(keyRules.organizationId, organizations.id))
    .where(isActiveAdministrator(values));

type KeyRulesRow = Awaited<ReturnType<typeof findKeyRules>>[number];

const rulesOf = (organizationId: string, what: SQL) =>
  sql`select ${what} from ${keyRules} where ${keyRules.organizationId} = ${organizationId}`;

/** Condition: the key rules admit a new key with a lifetime in days; null for one that never expires. */
export const admittedByRules = (organizationId: string, lifetimeDays: number | null) =>
  sql`not exists (${rulesOf(organizationId, sql`1`)} and (${keyRules.maxLifetimeDays} < ${lifetimeDays}
    or (${keyRules.expiryRequired} = 1 and ${lifetimeDays} is null)))`;

/** The expiry under the key rules at this moment, in a statement without their table. */
export const expiryRules = (organizationId: string) => ({
  maxLifetimeDays: sql<number | null>`(${rulesOf(organizationId, sql`${keyRules.maxLifetimeDays}`)})`.as(
    'maxLifetimeDays',
  ),
  expiryRequired: sql<number>`exists (${rulesOf(organizationId, sql`1`)} and ${keyRules.expiryRequired} = 1)`.as(
    'expiryRequired',
  ),
});

export type ExpiryRulesRow = Pick<KeyRulesRow, 'maxLifetimeDays' | 'expiryRequired'>;

/** From how many minutes on an entry of time is marked. */
export const longMinutesOf = (organizationId: string) =>
  sql<number>`coalesce((${rulesOf(organizationId, sql`${keyRules.longMinutes}`)}), ${DEFAULT_LONG_MINUTES})`;

type ChangeValues = AdministratorValues & ExpiryRulesRow & { longMinutes: number; oldRevision: number };

/** Changes the key rules if they still have the old revision. */
export const changeRules = (db: Database, values: ChangeValues) => {
  const { organizationId, userId, maxLifetimeDays, expiryRequired, longMinutes, oldRevision } = values;
  const revision = sql`coalesce((${rulesOf(organizationId, sql`${keyRules.revision}`)}), 0)`;
  return db
    .insert(keyRules)
    .select(
      sql`select ${valuesFor(keyRules, {
        organizationId,
        maxLifetimeDays,
        expiryRequired,
        longMinutes,
        revision: oldRevision + 1,
      })} from ${users} ${administrator} where ${isActiveAdministrator({ organizationId, userId })} and ${revision} = ${oldRevision}`,
    )
    .onConflictDoUpdate({
      target: keyRules.organizationId,
      set: {
        maxLifetimeDays: excluded(keyRules.maxLifetimeDays),
        expiryRequired: excluded(keyRules.expiryRequired),
        longMinutes: excluded(keyRules.longMinutes),
        revision: excluded(keyRules.revision),
      },
    });
};
