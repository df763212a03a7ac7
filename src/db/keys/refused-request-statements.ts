import { and, count, desc, eq, lt, max, sql } from 'drizzle-orm';
import { KEPT_OF_KEY, MAX_OF_ORGANIZATION, REPEATED_OF_KEY } from '../../domain/refused-request.ts';
import { MINUTE_MS } from '../../domain/refused-use.ts';
import { isBeingErased } from '../directory/erasure.ts';
import { type Database, valuesFor } from '../query.ts';
import { tickets, users } from '../schema/directory.ts';
import { apiKeys, refusedRequests, refusedUses } from '../schema/keys.ts';
import { ofRefusedRequest, REFUSED_KEY, REFUSED_SUBJECT } from './refused-use-statements.ts';

export type RefusedRequestValues = typeof refusedRequests.$inferSelect;

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

/**
 * Removes all but `keep` refused requests of an organization, or of one of its keys; at most `limit`. Those that stay are
 * the latest of each key and reason, then the second latest of each, and so on: a flood removes no other reason.
 */
export const keepLatestRefusedRequests = (
  db: Database,
  { keep, limit = -1, ...of }: { organizationId: string; keyId?: string; keep: number; limit?: number },
) =>
  db.delete(refusedRequests).where(
    sql`${refusedRequests.organizationId} = ${of.organizationId} and ${refusedRequests.requestId} in (
      select ${refusedRequests.requestId} from ${refusedRequests} indexed by refused_requests_by_key where ${inRange(of)}
      order by row_number() over (partition by ${refusedRequests.keyId}, ${refusedRequests.reason} order by ${refusedRequests.requestId} desc),
        ${refusedRequests.requestId} desc
      limit ${limit} offset ${keep})`,
  );

/** The organizations with more than `keep` refused requests. Reads the index of all. */
export const findManyRefusedRequests = (db: Database, keep: number) =>
  db
    .select({ organizationId: refusedRequests.organizationId })
    .from(refusedRequests)
    .groupBy(refusedRequests.organizationId)
    .having(sql`count(*) > ${keep}`);

/** Removes at most `limit` refused requests before an instant, of all organizations. */
export const forgetRefusedRequests = (db: Database, { before, limit }: { before: number; limit: number }) => {
  const key = sql`${refusedRequests.organizationId}, ${refusedRequests.requestId}`;
  return db.delete(refusedRequests).where(
    sql`(${key}) in (select ${key} from ${refusedRequests} where ${refusedRequests.at} < ${before}
      order by ${refusedRequests.at} limit ${limit})`,
  );
};

interface Filter {
  organizationId: string;
  keyId?: string | undefined;
  requestId?: string | undefined;
  /** Like `status` and `byReason`, it reads all that are kept of the organization, or of the key. */
  ticketId?: string | undefined;
  status?: number | undefined;
  /** Only the latest request of each key and reason, without those that refused uses count. */
  byReason?: boolean;
  /** With whether a count is a lower bound, for which it reads all requests of the organization. */
  hasMinimum?: boolean;
  /** Only requests that arrived before this one. */
  before?: string | undefined;
  limit: number;
}

/** Condition: no refused uses have the key and reason of a request. */
const isOther = sql`not exists (select 1 from ${refusedUses}
  where ${refusedUses.organizationId} = ${refusedRequests.organizationId} and ${refusedUses.keyId} = ${refusedRequests.keyId}
    and ${refusedUses.reason} = ${refusedRequests.reason})`;

/**
 * Whether more requests may have been refused than the log has of a key and reason: it has only some of many in a minute, of
 * a key or of the organization, and only so many of a key.
 */
function isMinimum(organizationId: string) {
  const { keyId, reason, at } = refusedRequests;
  return sql`(${keyId}, ${reason}) in (
    with counted as materialized (
      select ${keyId} as ofKey, ${reason} as reason, cast(${at} / ${MINUTE_MS} as integer) as minute, count(*) as count
      from ${refusedRequests} where ${refusedRequests.organizationId} = ${organizationId} group by 1, 2, 3)
    select ofKey, reason from counted
    where ofKey in (select ofKey from counted group by 1 having sum(count) >= ${KEPT_OF_KEY})
      or (ofKey, minute) in (select ofKey, minute from counted group by 1, 2 having sum(count) >= ${REPEATED_OF_KEY})
      or minute in (select minute from counted group by 1 having sum(count) >= ${MAX_OF_ORGANIZATION}))`;
}

/** The latest refused requests, with their key, and with what the directory has of their ticket and technician. */
export const findRefusedRequests = (
  db: Database,
  { organizationId, keyId, requestId, ticketId, status, byReason = false, hasMinimum = false, before, limit }: Filter,
) => {
  // The other columns of a group are those of the row that has the maximum.
  const latestId = byReason ? max(refusedRequests.requestId) : refusedRequests.requestId;
  return db
    .select({
      ...REFUSED_KEY,
      ...REFUSED_SUBJECT,
      requestId: sql<string>`${latestId}`.as('requestId'),
      at: refusedRequests.at,
      status: refusedRequests.status,
      reason: refusedRequests.reason,
      pointers: refusedRequests.pointers,
      dayLimit: refusedRequests.dayLimit,
      sourceAddress: refusedRequests.sourceAddress,
      userAgent: refusedRequests.userAgent,
      count: sql<number>`${byReason ? count() : 1}`.as('count'),
      isMinimum: sql`${hasMinimum ? isMinimum(organizationId) : 0}`.mapWith(Boolean).as('isMinimum'),
    })
    .from(refusedRequests)
    .innerJoin(
      apiKeys,
      and(eq(apiKeys.organizationId, refusedRequests.organizationId), eq(apiKeys.id, refusedRequests.keyId)),
    )
    .leftJoin(tickets, ofRefusedRequest.ticket)
    .leftJoin(users, ofRefusedRequest.technician)
    .where(
      and(
        eq(refusedRequests.organizationId, organizationId),
        keyId === undefined ? undefined : eq(refusedRequests.keyId, keyId),
        requestId === undefined ? undefined : eq(refusedRequests.requestId, requestId),
        ticketId === undefined ? undefined : eq(refusedRequests.ticketId, ticketId),
        status === undefined ? undefined : eq(refusedRequests.status, status),
        byReason ? isOther : undefined,
        byReason || before === undefined ? undefined : lt(refusedRequests.requestId, before),
      ),
    )
    .groupBy(...(byReason ? [refusedRequests.keyId, refusedRequests.reason] : []))
    .having(byReason && before !== undefined ? sql`max(${refusedRequests.requestId}) < ${before}` : undefined)
    .orderBy(desc(latestId))
    .limit(limit);
};

export type RefusedRequestRow = Awaited<ReturnType<typeof findRefusedRequests>>[number];
