import { and, eq, sql } from 'drizzle-orm';
import { type AdministratorValues, byActiveAdministrator } from '../directory/administrator-statements.ts';
import type { Database } from '../query.ts';
import { refusedUses } from '../schema/keys.ts';

interface EndValues {
  organizationId: string;
  keyId: string;
  /** A JSON array of reasons and last times: a use that was refused again is not ended. */
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
      and coalesce(${refusedUses.endsAt} > ${now}, 1) and (${refusedUses.reason}, ${refusedUses.lastAt}) in (
        select value ->> 'reason', value ->> 'lastAt' from json_each(${uses}))
      and changes() = 1`);

interface LostWritesValues extends AdministratorValues {
  keyId: string;
  /** The count and the last time that the administrator saw. */
  count: number;
  lastAt: number;
  now: number;
}

/** Ends the lost writes of a key that an administrator saw: not if another one was lost since. */
export const endLostWrites = (db: Database, { keyId, count, lastAt, now, ...by }: LostWritesValues) =>
  db
    .update(refusedUses)
    .set({ endsAt: now })
    .where(
      and(
        eq(refusedUses.organizationId, by.organizationId),
        eq(refusedUses.keyId, keyId),
        eq(refusedUses.reason, 'idempotency_mismatch'),
        eq(refusedUses.count, count),
        eq(refusedUses.lastAt, lastAt),
        sql`${refusedUses.endsAt} is null`,
        byActiveAdministrator(by),
      ),
    );
