import { eq, sql } from 'drizzle-orm';
import { isBeingErased } from '../../db/directory/erasure.ts';
import { type Database, excluded, valuesFor } from '../../db/query.ts';
import { auditLog } from '../../db/schema/audit.ts';
import { erasures, organizations } from '../../db/schema/directory.ts';
import { pushes } from '../../db/schema/modules.ts';

// A copy of the state of each object, for the push job, the commands and the settings area.

type StoredPush = typeof pushes.$inferSelect;

/** The state of an organization's push, as its object reports it. Times are UTC milliseconds. */
export type PushRow = Omit<StoredPush, 'organizationId'>;

/** The changes of the organization of the outer query. */
const ofOrganization = sql`${auditLog.organizationId} = ${organizations.id}`;

/** Writes the state. Does nothing if the organization was or is being erased. */
export const savePush = (db: Database, push: StoredPush) =>
  db
    .insert(pushes)
    .select(
      sql`select ${valuesFor(pushes, push)} from ${organizations}
        where ${organizations.id} = ${push.organizationId} and not ${isBeingErased(push.organizationId)}`,
    )
    .onConflictDoUpdate({
      target: pushes.organizationId,
      set: {
        confirmedSeq: excluded(pushes.confirmedSeq),
        failingSince: excluded(pushes.failingSince),
        attempts: excluded(pushes.attempts),
        failure: excluded(pushes.failure),
        nextAttemptAt: excluded(pushes.nextAttemptAt),
        stoppedAt: excluded(pushes.stoppedAt),
      },
    });

interface DueAt {
  now: number;
  erasedSince: number;
  limit: number;
}

/**
 * Organizations with an unconfirmed change whose push is not stopped and does not wait, and those
 * erased since `erasedSince`, whose objects delete their storage. More than `limit`: a random choice.
 */
export const findDuePushes = (db: Database, { now, erasedSince, limit }: DueAt) =>
  db
    .select({
      organizationId: sql<string>`organizationId`,
      /** Whether it was erased: 1 or 0. */
      isErased: sql<number>`isErased`,
    })
    .from(
      sql`(select ${organizations.id} as organizationId, 0 as isErased
        from ${organizations} left join ${pushes} on ${pushes.organizationId} = ${organizations.id}
        where ${pushes.stoppedAt} is null and coalesce(${pushes.nextAttemptAt}, 0) <= ${now}
          and coalesce(${pushes.confirmedSeq}, 0) < (select max(${auditLog.seq}) from ${auditLog} where ${ofOrganization})
        union all
        select ${erasures.organizationId}, 1 from ${erasures}
        where ${erasures.open} = 0 and ${erasures.erasedAt} > ${erasedSince}
          and not exists (select 1 from ${organizations} where ${organizations.id} = ${erasures.organizationId}))`,
    )
    .orderBy(sql`random()`)
    .limit(limit);

/** All organizations, in the order of their ids. Null fields: it was never pushed. */
export const findPushStatus = (db: Database) =>
  db
    .select({
      organizationId: organizations.id,
      confirmedSeq: pushes.confirmedSeq,
      failingSince: pushes.failingSince,
      attempts: pushes.attempts,
      failure: pushes.failure,
      nextAttemptAt: pushes.nextAttemptAt,
      stoppedAt: pushes.stoppedAt,
      /** The `seq` of its latest change; 0 for none. */
      newestSeq: sql<number>`coalesce((select max(${auditLog.seq}) from ${auditLog} where ${ofOrganization}), 0)`,
      /** When the oldest change was made that is not confirmed. */
      waitingSince: sql<number | null>`(
        select ${auditLog.at} from ${auditLog} where ${ofOrganization} and ${auditLog.seq} > coalesce(${pushes.confirmedSeq}, 0)
        order by ${auditLog.seq} limit 1)`,
    })
    .from(organizations)
    .leftJoin(pushes, eq(pushes.organizationId, organizations.id))
    .orderBy(organizations.id);

export type PushStatusRow = Awaited<ReturnType<typeof findPushStatus>>[number];

/** Changes no value, and the row once for each request: so each order to resume gets its audit row. */
export const touchPush = (db: Database, organizationId: string, requestId: string) =>
  db
    .insert(pushes)
    .select(
      sql`select ${valuesFor(pushes, {
        organizationId: organizations.id,
        confirmedSeq: 0,
        failingSince: null,
        attempts: 0,
        failure: null,
        nextAttemptAt: null,
        stoppedAt: null,
      })}
      from ${organizations} where ${organizations.id} = ${organizationId} and ${requestId} is not (
        select ${auditLog.requestId} from ${auditLog} where ${auditLog.organizationId} = ${organizationId}
        order by ${auditLog.seq} desc limit 1)`,
    )
    .onConflictDoUpdate({ target: pushes.organizationId, set: { confirmedSeq: sql`${pushes.confirmedSeq}` } });
