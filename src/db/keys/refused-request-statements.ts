import { sql } from 'drizzle-orm';
import { isBeingErased } from '../directory/erasure.ts';
import { type Database, valuesFor } from '../query.ts';
import { apiKeys, refusedRequests } from '../schema/keys.ts';

/** A refused request. Times are UTC milliseconds. */
export interface RefusedRequestValues {
  organizationId: string;
  keyId: string;
  requestId: string;
  at: number;
  status: number;
  reason: string;
  /** A JSON array, or null for none. */
  pointers: string | null;
  ticketId: string | null;
  userEmail: string | null;
  sourceAddress: string | null;
  userAgent: string | null;
}

/** Adds a refused request, not during an erasure: a new row would stop the removal of its key. */
export const addRefusedRequest = (db: Database, values: RefusedRequestValues) => {
  const { organizationId, keyId } = values;
  return db
    .insert(refusedRequests)
    .select(
      sql`select ${valuesFor(refusedRequests, values)} from ${apiKeys}
        where ${apiKeys.organizationId} = ${organizationId} and ${apiKeys.id} = ${keyId}
          and not ${isBeingErased(organizationId)}`,
    )
    .onConflictDoNothing();
};

const inRange = ({ organizationId, keyId }: { organizationId: string; keyId?: string }) =>
  sql`${refusedRequests.organizationId} = ${organizationId}${keyId === undefined ? sql`` : sql` and ${refusedRequests.keyId} = ${keyId}`}`;

/** Removes all but the latest `keep` refused requests of an organization, or of one of its keys. */
export const keepLatestRefusedRequests = (
  db: Database,
  { keep, ...of }: { organizationId: string; keyId?: string; keep: number },
) =>
  db.delete(refusedRequests).where(
    sql`${refusedRequests.organizationId} = ${of.organizationId} and ${refusedRequests.requestId} in (
      select ${refusedRequests.requestId} from ${refusedRequests} where ${inRange(of)}
      order by ${refusedRequests.requestId} desc limit -1 offset ${keep})`,
  );

/** Removes at most `limit` refused requests before an instant, of all organizations. */
export const forgetRefusedRequests = (db: Database, { before, limit }: { before: number; limit: number }) => {
  const key = sql`${refusedRequests.organizationId}, ${refusedRequests.requestId}`;
  return db.delete(refusedRequests).where(
    sql`(${key}) in (select ${key} from ${refusedRequests} where ${refusedRequests.at} < ${before}
      order by ${refusedRequests.at} limit ${limit})`,
  );
};
