import { sql } from 'drizzle-orm';
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
