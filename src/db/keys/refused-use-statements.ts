import { and, desc, eq, sql } from 'drizzle-orm';
import {
  KEPT_LOST_WRITES,
  MINUTE_MS,
  REASONS_FOR_ATTENTION,
  REFUSED_ATTENTION_MS,
  type RefusedUseReason,
  STORED_A_MINUTE,
} from '../../domain/refused-use.ts';
import { request, successor } from '../aliases.ts';
import { isBeingErased } from '../directory/erasure.ts';
import { type Database, excluded, valuesFor } from '../query.ts';
import { companies, tickets, users } from '../schema/directory.ts';
import { apiKeys, refusedRequests, refusedUses } from '../schema/keys.ts';
import { keyDays } from '../schema/work.ts';

interface RefusedUseValues {
  organizationId: string;
  keyId: string;
  reason: RefusedUseReason;
  count: number;
  now: number;
  sourceAddress: string | null;
  /** A JSON array, latest first, or null for none. */
  lostWrites: string | null;
  endsAt: number | null;
  limitId: string;
  /** JSON. */
  dayLimit: string | null;
}

/**
 * Adds to the count of a key, reason and limit, or starts a new count if what was counted has ended. Not during an erasure: a
 * new row would stop the removal of its key.
 */
export const addRefusedUses = (db: Database, values: RefusedUseValues) => {
  const { organizationId, keyId, reason, count, now, sourceAddress, lostWrites, endsAt, limitId, dayLimit } = values;
  const row = valuesFor(refusedUses, {
    organizationId: apiKeys.organizationId,
    keyId: apiKeys.id,
    reason,
    count,
    firstAt: now,
    lastAt: now,
    sourceAddress,
    lostWrites,
    endsAt,
    limitId,
    dayLimit,
  });
  return db
    .insert(refusedUses)
    .select(
      sql`select ${row} from ${apiKeys} where ${apiKeys.organizationId} = ${organizationId} and ${apiKeys.id} = ${keyId}
        and not ${isBeingErased(organizationId)}`,
    )
    .onConflictDoUpdate({
      target: [refusedUses.organizationId, refusedUses.keyId, refusedUses.reason, refusedUses.limitId],
      set: added(now),
    });
};

/** The columns of a count that goes on, or that starts again if what was counted has ended. */
function added(now: number) {
  const { count, firstAt, lastAt, sourceAddress, lostWrites, endsAt, dayLimit } = refusedUses;
  const hasEnded = sql`${endsAt} <= ${now}`;
  return {
    count: sql`iif(${hasEnded}, 0, ${count}) + ${excluded(count)}`,
    firstAt: sql`iif(${hasEnded}, ${excluded(firstAt)}, ${firstAt})`,
    endsAt: excluded(endsAt),
    dayLimit: excluded(dayLimit),
    lastAt: sql`max(${lastAt}, ${excluded(lastAt)})`,
    sourceAddress: excluded(sourceAddress),
    lostWrites: sql`iif(${excluded(lostWrites)} is null, iif(${hasEnded}, null, ${lostWrites}), (
      select json_group_array(json(value)) from (
        select 0 as age, key, value from json_each(${excluded(lostWrites)})
        union all select 1, key, value from json_each(iif(${hasEnded}, '[]', coalesce(${lostWrites}, '[]')))
        order by age, key limit ${KEPT_LOST_WRITES})))`,
  };
}

/**
 * Condition: the refused uses of a key need attention, where both tables are joined. The holder of a key does not end them
 * by writing: a stolen key is refused from elsewhere while the automation continues. The exception is a daily limit of
 * records: a later write shows that it is higher now. A limit of minutes or text can still admit a shorter record. A rotation
 * ends only a use from elsewhere, because the successor has the same scopes and limits. Lost writes stay lost.
 */
export function needsAttention(now: number) {
  const { reason, lastAt, endsAt, limitId } = refusedUses;
  return sql`${reason} in ${REASONS_FOR_ATTENTION}
    and ${lastAt} >= ${now - REFUSED_ATTENTION_MS} and (${endsAt} is null or ${endsAt} > ${now})
    and (${reason} = 'idempotency_mismatch' or ((${apiKeys.revokedAt} is null or ${reason} = 'revoked')
      and (${apiKeys.successorId} is null or ${reason} <> 'address_not_allowed' or ${lastAt} > (
        select ${successor.createdAt} from ${apiKeys} ${successor}
        where ${successor.organizationId} = ${apiKeys.organizationId} and ${successor.id} = ${apiKeys.successorId}))
      and (${limitId} not like '%:records' or not exists (
        select 1 from ${keyDays} where ${keyDays.organizationId} = ${apiKeys.organizationId}
          and ${keyDays.chainId} = ${apiKeys.chainId}
          and ${keyDays.day} >= date(${lastAt} / 1000, 'unixepoch', '-1 day') and ${keyDays.lastAt} > ${lastAt}))))`;
}

/**
 * Whether there may be more refused uses than are counted: all are, unless there are too many in a minute. Lost writes are
 * also all kept, unless there are too many.
 */
export const isMinimum = sql<number>`iif(${refusedUses.reason} = 'idempotency_mismatch', (
  ${refusedUses.count} > coalesce(json_array_length(${refusedUses.lostWrites}), 0) or exists (
    select 1 from json_each(${refusedUses.lostWrites})
    group by cast(value ->> 'at' / ${MINUTE_MS} as integer) having count(*) >= ${STORED_A_MINUTE})), ${refusedUses.count} >= ${STORED_A_MINUTE})`;

/** What a refusal shows of its key. */
export const REFUSED_KEY = {
  keyId: apiKeys.id,
  keyName: apiKeys.name,
  keyHint: apiKeys.hint,
  keyRevokedAt: apiKeys.revokedAt,
  keySuccessorId: apiKeys.successorId,
  allowedNetworks: apiKeys.allowedNetworks,
  companies: apiKeys.companies,
  dayLimitRecords: apiKeys.dayLimitRecords,
  dayLimitMinutes: apiKeys.dayLimitMinutes,
};

/** What the log and the directory have of the ticket and the technician of a refused request. */
export const REFUSED_SUBJECT = {
  ticketId: refusedRequests.ticketId,
  userEmail: refusedRequests.userEmail,
  companyId: tickets.companyId,
  company: sql<string | null>`(select ${companies.name} from ${companies}
    where ${companies.organizationId} = ${tickets.organizationId} and ${companies.id} = ${tickets.companyId})`.as(
    'company',
  ),
  technician: sql<string | null>`${users.name}`.as('technician'),
};
/** The conditions that join the directory to a refused request. */
export const ofRefusedRequest = {
  ticket: and(eq(tickets.organizationId, refusedRequests.organizationId), eq(tickets.id, refusedRequests.ticketId)),
  technician: and(eq(users.organizationId, refusedRequests.organizationId), eq(users.email, refusedRequests.userEmail)),
};

/** The latest request of the log with the key, reason and limit of refused uses. */
const latestRequest = sql`(
  select ${request.requestId} from ${refusedRequests} ${request}
  where ${request.organizationId} = ${refusedUses.organizationId} and ${request.keyId} = ${refusedUses.keyId}
    and ${request.reason} = ${refusedUses.reason}
    and coalesce(${request.dayLimit} ->> 'what', '') = coalesce(${refusedUses.dayLimit} ->> 'what', '')
    and coalesce(${request.dayLimit} ->> 'isOwn', '') = coalesce(${refusedUses.dayLimit} ->> 'isOwn', '')
  order by ${request.requestId} desc limit 1)`;

/**
 * Each address or company that the log has of refused uses, the latest first: a JSON array. Null for a reason that is not
 * about one of these.
 */
const subjects = sql<string | null>`iif(${refusedUses.reason} in ('address_not_allowed', 'company_not_allowed'), (
  select json_group_array(json_object('sourceAddress', address, 'companyId', company_id, 'company', name)) from (
    select ${request.sourceAddress} as address, ${companies.id} as company_id, ${companies.name} as name,
      max(${request.requestId}) as latest_id
    from ${refusedRequests} ${request}
    left join ${tickets} on ${tickets.organizationId} = ${request.organizationId} and ${tickets.id} = ${request.ticketId}
    left join ${companies} on ${companies.organizationId} = ${tickets.organizationId} and ${companies.id} = ${tickets.companyId}
      and ${request.reason} = 'company_not_allowed'
    where ${request.organizationId} = ${refusedUses.organizationId} and ${request.keyId} = ${refusedUses.keyId}
      and ${request.reason} = ${refusedUses.reason}
    group by coalesce(${companies.id}, ${request.sourceAddress})
    order by latest_id desc)), null)`;

/** The limit that the last request exceeded. Of minutes, with what was used since: shorter time may have been admitted. */
const dayLimitNow = sql<
  string | null
>`iif(${refusedUses.limitId} = 'own:minutes', json_set(${refusedUses.dayLimit}, '$.used', max(
  ${refusedUses.dayLimit} ->> 'used', (
  select coalesce(max(used), 0) from (
    select sum(${keyDays.minutes}) as used from ${keyDays}
    where ${keyDays.organizationId} = ${apiKeys.organizationId} and ${keyDays.chainId} = ${apiKeys.chainId}
      and ${keyDays.day} >= date(${refusedUses.lastAt} / 1000, 'unixepoch', '-1 day')
    group by ${keyDays.day} having max(${keyDays.lastAt}) > ${refusedUses.lastAt})))), ${refusedUses.dayLimit})`;

/** Refused uses of one key for one reason or limit, with the key. Times are UTC milliseconds. */
const refusedUsesWithKey = (db: Database, now: number) =>
  db
    .select({
      ...REFUSED_KEY,
      ...REFUSED_SUBJECT,
      reason: refusedUses.reason,
      count: refusedUses.count,
      firstAt: refusedUses.firstAt,
      lastAt: refusedUses.lastAt,
      sourceAddress: refusedUses.sourceAddress,
      userAgent: refusedRequests.userAgent,
      lostWrites: refusedUses.lostWrites,
      endsAt: refusedUses.endsAt,
      limitId: refusedUses.limitId,
      dayLimit: dayLimitNow.as('dayLimit'),
      subjects: subjects.as('subjects'),
      isMinimum: isMinimum.as('isMinimum'),
      // In a CASE, SQLite evaluates only the conditions that decide.
      needsAttention: sql<number>`iif(${needsAttention(now)}, 1, 0)`,
    })
    .from(refusedUses)
    .crossJoin(apiKeys)
    .leftJoin(
      refusedRequests,
      sql`${refusedRequests.organizationId} = ${refusedUses.organizationId} and ${refusedRequests.requestId} = ${latestRequest}`,
    )
    .leftJoin(tickets, ofRefusedRequest.ticket)
    .leftJoin(users, ofRefusedRequest.technician);

const isOf = (organizationId: string) =>
  and(
    eq(refusedUses.organizationId, organizationId),
    eq(apiKeys.organizationId, refusedUses.organizationId),
    eq(apiKeys.id, refusedUses.keyId),
  );

export const findUsesOfKey = (db: Database, organizationId: string, keyId: string, now: number) =>
  refusedUsesWithKey(db, now)
    .where(and(isOf(organizationId), eq(refusedUses.keyId, keyId)))
    .orderBy(desc(refusedUses.lastAt));

export const findRefusedUses = (db: Database, organizationId: string, limit: number, now: number) =>
  refusedUsesWithKey(db, now).where(isOf(organizationId)).orderBy(desc(refusedUses.lastAt)).limit(limit);

export type RefusedUseRow = Awaited<ReturnType<typeof findRefusedUses>>[number];

interface PageValues {
  beforeKeyId: string;
  beforeReason: string;
  beforeLimitId: string;
  limit: number;
  now: number;
}

/** Refused uses, newest keys first: this order does not change while an export reads it. */
export const findRefusedUsesPage = (
  db: Database,
  organizationId: string,
  { beforeKeyId, beforeReason, beforeLimitId, limit, now }: PageValues,
) =>
  refusedUsesWithKey(db, now)
    .where(
      and(
        isOf(organizationId),
        sql`(${refusedUses.keyId}, ${refusedUses.reason}, ${refusedUses.limitId}) < (${beforeKeyId}, ${beforeReason}, ${beforeLimitId})`,
      ),
    )
    .orderBy(desc(refusedUses.keyId), desc(refusedUses.reason), desc(refusedUses.limitId))
    .limit(limit);

/** Removes the source addresses of at most `limit` uses before an instant, of all organizations. */
export const forgetAddresses = (db: Database, { before, limit }: { before: number; limit: number }) => {
  const key = sql`${refusedUses.organizationId}, ${refusedUses.keyId}, ${refusedUses.reason}, ${refusedUses.limitId}`;
  return db
    .update(refusedUses)
    .set({ sourceAddress: null })
    .where(
      sql`(${key}) in (select ${key} from ${refusedUses}
      where ${refusedUses.lastAt} < ${before} and ${refusedUses.sourceAddress} is not null
      order by ${refusedUses.lastAt} limit ${limit})`,
    );
};
