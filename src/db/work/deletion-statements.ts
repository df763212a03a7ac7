import { and, eq, isNull, lt, or, sql } from 'drizzle-orm';
import { RECORD_KIND_NAMES, type RecordKind } from '../../domain/record-kinds.ts';
import { anyDay, oldest } from '../aliases.ts';
import { nextSeq } from '../audit/audit-log-statements.ts';
import { isBeingErased } from '../directory/erasure.ts';
import { type Database, excluded, type Statement, valuesFor } from '../query.ts';
import { auditLog } from '../schema/audit.ts';
import { organizations } from '../schema/directory.ts';
import { apiKeys } from '../schema/keys.ts';
import { connections, pushes } from '../schema/modules.ts';
import { deletions, keyDays, psaRefusals, timeEntries } from '../schema/work.ts';
import { RECORD_TABLES } from './record-tables.ts';

// The deletion of old audit rows with the records that they created, up to a position of each organization. Triggers guard the
// position, and admit deletes of rows up to there only.

/**
 * The organizations with audit rows from before `before`, the oldest first, whose adapter, if there is one, has reported
 * without a failure since `reportedSince`.
 */
export const findDeletable = (db: Database, before: number, reportedSince: number) =>
  db
    .select({
      organizationId: organizations.id,
      /** The present position; 0 if nothing was deleted. */
      toSeq: sql<number>`coalesce(${deletions.toSeq}, 0)`.as('deletedTo'),
      /** The oldest row that is left. */
      oldestSeq: auditLog.seq,
      /** The last change that the push has confirmed; 0 for none. */
      confirmedSeq: sql<number>`coalesce(${pushes.confirmedSeq}, 0)`.as('confirmedSeq'),
      /** The newest change; 0 for none. */
      newestSeq: sql<number>`${nextSeq(organizations.id)} - 1`.as('newestSeq'),
    })
    .from(organizations)
    .innerJoin(
      auditLog,
      sql`${auditLog.organizationId} = ${organizations.id} and ${auditLog.seq} = (
        select min(${oldest.seq}) from ${auditLog} ${oldest} where ${oldest.organizationId} = ${organizations.id})`,
    )
    .leftJoin(deletions, eq(deletions.organizationId, organizations.id))
    .leftJoin(pushes, eq(pushes.organizationId, organizations.id))
    .leftJoin(connections, eq(connections.organizationId, organizations.id))
    .where(
      and(
        lt(auditLog.at, before),
        // Of a single row nothing is deleted: the newest row stays.
        sql`${auditLog.seq} < ${nextSeq(organizations.id)} - 1`,
        or(
          isNull(connections.organizationId),
          and(isNull(connections.failingSince), sql`${connections.reportedAt} > ${reportedSince}`),
        ),
      ),
    )
    .orderBy(auditLog.at);

/**
 * The first time entry of the range (`from` is excluded) that waits for the settings area, or may be handed to it because the
 * PSA decides no longer, or was decided after `to`.
 */
export const findFirstUndecided = (db: Database, organizationId: string, from: number, to: number) =>
  db
    .select({ seq: timeEntries.auditSeq })
    .from(timeEntries)
    .where(
      and(
        eq(timeEntries.organizationId, organizationId),
        sql`${timeEntries.auditSeq} > ${from} and ${timeEntries.auditSeq} <= ${to}`,
        or(
          sql`${timeEntries.status} = 'SUBMITTED' and (${timeEntries.approvals} = 'settings' or exists (
            select 1 from ${organizations} where ${organizations.id} = ${organizationId} and ${organizations.approvals} = 'settings'))`,
          sql`${timeEntries.status} <> 'SUBMITTED' and ${timeEntries.approvalSeq} > ${to}`,
        ),
      ),
    )
    .orderBy(timeEntries.auditSeq)
    .limit(1);

/** The first record of the range (`from` is excluded) that was redacted after `to`. */
export function findFirstRedactedLater(db: Database, organizationId: string, from: number, to: number) {
  const ofKind = (kind: RecordKind) => {
    const record = RECORD_TABLES[kind];
    return sql`select ${record.auditSeq} as seq from ${auditLog} join ${record} on ${record.organizationId} = ${organizationId}
        and ${record.id} = ${auditLog.targetId} and ${record.auditSeq} > ${from} and ${record.auditSeq} <= ${to}
      where ${auditLog.organizationId} = ${organizationId} and ${auditLog.actorType} = 'system' and ${auditLog.seq} > ${to}
        and ${auditLog.action} = ${`${kind}.redacted`}`;
  };
  const redacted = sql.join(RECORD_KIND_NAMES.map(ofKind), sql` union all `);
  return db.select({ seq: sql<number | null>`min(seq)`.as('seq') }).from(sql`(${redacted})`);
}

/** Moves an organization's position forward, unless it is being erased. Triggers refuse a position that would lose something. */
export const moveDeletion = (db: Database, organizationId: string, toSeq: number) =>
  db
    .insert(deletions)
    .select(sql`select ${valuesFor(deletions, { organizationId, toSeq })} where not ${isBeingErased(organizationId)}`)
    .onConflictDoUpdate({
      target: deletions.organizationId,
      set: { toSeq: excluded(deletions.toSeq) },
      setWhere: sql`${excluded(deletions.toSeq)} > ${deletions.toSeq}`,
    });

/** Deletes the oldest audit rows up to the position, at most `limit`, after the records that they created. */
export function deleteOldest(db: Database, organizationId: string, limit: number): Statement[] {
  const rows = sql`${auditLog.organizationId} = ${organizationId}
    and ${auditLog.seq} <= (select ${deletions.toSeq} from ${deletions} where ${deletions.organizationId} = ${organizationId})
    and ${auditLog.seq} < ${limit} + (select min(${oldest.seq}) from ${auditLog} ${oldest} where ${oldest.organizationId} = ${organizationId})`;
  const created = (kind: RecordKind) =>
    sql`(select ${auditLog.targetId} from ${auditLog} where ${rows} and ${auditLog.action} = ${`${kind}.created`})`;
  return [
    ...RECORD_KIND_NAMES.flatMap((kind) => {
      const record = RECORD_TABLES[kind];
      return [
        db
          .delete(psaRefusals)
          .where(
            sql`${psaRefusals.organizationId} = ${organizationId} and ${psaRefusals.recordId} in ${created(kind)}`,
          ),
        db.delete(record).where(sql`${record.organizationId} = ${organizationId} and ${record.id} in ${created(kind)}`),
      ];
    }),
    db.delete(auditLog).where(rows),
  ];
}

/**
 * Deletes at most `limit` days of the ledger before `before`, of all organizations, of which no audit row is left. The latest
 * row of each key stays, which has its last write.
 */
export const deleteDays = (db: Database, before: string, limit: number): Statement => {
  const key = sql`${keyDays.organizationId}, ${keyDays.chainId}, ${keyDays.day}, ${keyDays.keyId}`;
  return db.delete(keyDays).where(
    sql`(${key}) in (
      select ${key}
      from ${deletions}
      join ${auditLog} on ${auditLog.organizationId} = ${deletions.organizationId} and ${auditLog.seq} = (
        select min(${oldest.seq}) from ${auditLog} ${oldest} where ${oldest.organizationId} = ${deletions.organizationId})
      cross join ${apiKeys} on ${apiKeys.organizationId} = ${deletions.organizationId} and ${apiKeys.id} = ${apiKeys.chainId}
      cross join ${keyDays} on ${keyDays.organizationId} = ${apiKeys.organizationId} and ${keyDays.chainId} = ${apiKeys.chainId}
        and ${keyDays.day} < ${before} and ${keyDays.day} < date(${auditLog.at} / 1000, 'unixepoch', '-1 day')
      where exists (select 1 from ${keyDays} ${anyDay} where ${anyDay.organizationId} = ${keyDays.organizationId}
        and ${anyDay.chainId} = ${keyDays.chainId} and ${anyDay.keyId} = ${keyDays.keyId} and ${anyDay.day} > ${keyDays.day})
      limit ${limit})`,
  );
};
