import { and, eq, sql } from 'drizzle-orm';
import { examined } from '../aliases.ts';
import { type AdministratorValues, byActiveAdministrator } from '../directory/administrator-statements.ts';
import type { Database } from '../query.ts';
import { auditLog } from '../schema/audit.ts';
import { refusedUses } from '../schema/keys.ts';

interface EndValues {
  organizationId: string;
  keyId: string;
  /** A JSON array of reasons, limits and last times: a use that was refused again is not ended. */
  uses: string;
  now: number;
}

/** Ends refused uses whose cause the statement before it removed. */
export const endRepairedUses = (db: Database, { organizationId, keyId, uses, now }: EndValues) =>
  db
    .update(refusedUses)
    .set({ endsAt: now })
    .where(sql`
    ${refusedUses.organizationId} = ${organizationId} and ${refusedUses.keyId} = ${keyId}
      and coalesce(${refusedUses.endsAt} > ${now}, 1) and (${refusedUses.reason}, ${refusedUses.limitId}, ${refusedUses.lastAt}) in (
        select value ->> 'reason', value ->> 'limitId', value ->> 'lastAt' from json_each(${uses}))
      and changes() = 1`);

interface LostWrites {
  organizationId: string;
  keyId: string;
  /** The count and the last time that the administrator saw. */
  count: number;
  lastAt: number;
}

const areLostWrites = ({ organizationId, keyId, count, lastAt }: LostWrites) =>
  and(
    eq(refusedUses.organizationId, organizationId),
    eq(refusedUses.keyId, keyId),
    eq(refusedUses.reason, 'idempotency_mismatch'),
    eq(refusedUses.count, count),
    eq(refusedUses.lastAt, lastAt),
  );

/** Ends the lost writes of a key that an administrator saw: not if another one was lost since. */
export const endLostWrites = (db: Database, { now, ...values }: LostWrites & AdministratorValues & { now: number }) =>
  db
    .update(refusedUses)
    .set({ endsAt: now })
    .where(and(areLostWrites(values), sql`${refusedUses.endsAt} is null`, byActiveAdministrator(values)));

/** Who ended the lost writes of a key that an administrator saw; no row if no administrator has, or more were lost since. */
export const findEnderOfLostWrites = (db: Database, lost: LostWrites) =>
  db
    .select({ userId: auditLog.actorId })
    .from(refusedUses)
    .innerJoin(
      auditLog,
      sql`${auditLog.seq} = (select max(${examined.seq}) from ${auditLog} ${examined} indexed by audit_log_user_target
        where ${examined.organizationId} = ${lost.organizationId} and ${examined.targetId} = ${lost.keyId}
          and ${examined.actorType} <> 'api_key' and ${examined.action} = 'api_key.lost_writes_entered')`,
    )
    .where(
      and(
        areLostWrites(lost),
        eq(auditLog.organizationId, lost.organizationId),
        sql`${refusedUses.endsAt} is not null`,
      ),
    );
