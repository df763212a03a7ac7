import { and, desc, eq, type SQL, type SQLWrapper, sql } from 'drizzle-orm';
import type { PastedKey } from '../../domain/api-key.ts';
import { anyKey, creator, predecessor, revoker, successor } from '../aliases.ts';
import type { Database } from '../query.ts';
import { organizations } from '../schema/directory.ts';
import { apiKeys } from '../schema/keys.ts';
import { keyDays } from '../schema/work.ts';
import { lastDay } from '../work/key-days.ts';

// What administrators and operators see of keys. The last write of a key comes from the daily ledger.

/** Keys as the settings area shows them. Flags are 0 or 1. */
const keyDetails = (db: Database) =>
  db
    .select({
      id: apiKeys.id,
      name: apiKeys.name,
      description: apiKeys.description,
      owner: apiKeys.owner,
      dayLimitRecords: apiKeys.dayLimitRecords,
      dayLimitMinutes: apiKeys.dayLimitMinutes,
      allowedNetworks: apiKeys.allowedNetworks,
      companies: apiKeys.companies,
      hint: apiKeys.hint,
      scopes: apiKeys.scopes,
      /** Counts the changes of its settings, its rotation and its revocation. */
      revision: apiKeys.revision,
      createdAt: apiKeys.createdAt,
      expiresAt: apiKeys.expiresAt,
      revokedAt: apiKeys.revokedAt,
      /** The id of the user who revoked the key, or a description of the operator. */
      revokedById: apiKeys.revokedBy,
      revokedBy: sql<string | null>`${revoker.name}`.as('revokedByName'),
      createdById: apiKeys.createdBy,
      createdBy: sql<string>`${creator.name}`.as('createdByName'),
      creatorActive: creator.active,
      creatorAdmin: creator.isAdmin,
      // The other keys of a rotation; all null if there are none.
      successorId: sql<string | null>`${successor.id}`.as('successorId'),
      successorHint: sql<string | null>`${successor.hint}`.as('successorHint'),
      predecessorId: sql<string | null>`${predecessor.id}`.as('predecessorId'),
      predecessorHint: sql<string | null>`${predecessor.hint}`.as('predecessorHint'),
      lastWriteAt: keyDays.lastAt,
      lastWriteFrom: keyDays.lastAddress,
    })
    .from(apiKeys)
    .innerJoin(creator, and(eq(creator.organizationId, apiKeys.organizationId), eq(creator.id, apiKeys.createdBy)))
    .leftJoin(revoker, and(eq(revoker.organizationId, apiKeys.organizationId), eq(revoker.id, apiKeys.revokedBy)))
    .leftJoin(
      successor,
      and(eq(successor.organizationId, apiKeys.organizationId), eq(successor.id, apiKeys.successorId)),
    )
    .leftJoin(
      predecessor,
      and(eq(predecessor.organizationId, apiKeys.organizationId), eq(predecessor.successorId, apiKeys.id)),
    )
    .leftJoin(
      keyDays,
      and(
        eq(keyDays.organizationId, apiKeys.organizationId),
        eq(keyDays.chainId, apiKeys.chainId),
        eq(keyDays.keyId, apiKeys.id),
        sql`${keyDays.day} = ${lastDay(apiKeys)}`,
      ),
    );

const ofOrganization = (organizationId: string, condition: SQL) =>
  and(eq(apiKeys.organizationId, organizationId), condition);

export const findKeyDetails = (db: Database, organizationId: string, keyId: string) =>
  keyDetails(db).where(ofOrganization(organizationId, eq(apiKeys.id, keyId)));

export type KeyDetailsRow = Awaited<ReturnType<typeof findKeyDetails>>[number];

/** The ids of live keys. Two ranges of a named index: otherwise SQLite would read all keys of the organization. */
export function liveKeyIds(organizationId: string | SQLWrapper, now: number): SQL {
  const unrevoked = (expiry: SQL) => sql`select ${anyKey.id} from ${apiKeys} ${anyKey} indexed by api_keys_unrevoked
    where ${anyKey.organizationId} = ${organizationId} and ${anyKey.revokedAt} is null and ${anyKey.expiresAt} ${expiry}`;
  return sql`${unrevoked(sql`is null`)} union all ${unrevoked(sql`> ${now}`)}`;
}

/** The live keys, by name: at most `MAX_LIVE_KEYS`, and `MAX_KEYS_IN_GRACE` in their grace period. */
export const findLiveKeys = (db: Database, organizationId: string, now: number) =>
  keyDetails(db)
    .where(ofOrganization(organizationId, sql`${apiKeys.id} in (${liveKeyIds(organizationId, now)})`))
    .orderBy(apiKeys.name, desc(apiKeys.id));

/** The keys with these ids, by name. */
export const findKeys = (db: Database, organizationId: string, keyIds: readonly string[]) =>
  keyDetails(db)
    // One value, because D1 binds at most 100.
    .where(
      ofOrganization(organizationId, sql`${apiKeys.id} in (select value from json_each(${JSON.stringify(keyIds)}))`),
    )
    .orderBy(apiKeys.name, desc(apiKeys.id));

/** How many live keys each of these organizations has. */
export const countLiveKeysOf = (db: Database, organizationIds: readonly string[], now: number) =>
  db
    .select({
      organizationId: organizations.id,
      keys: sql<number>`(select count(*) from (${liveKeyIds(sql`${organizations.id}`, now)}))`.as('liveKeys'),
    })
    .from(organizations)
    .where(sql`${organizations.id} in (select value from json_each(${JSON.stringify(organizationIds)}))`);

/** A page of all keys created before the key with the id `before`, newest first. */
export const findKeyPage = (db: Database, organizationId: string, before: string, limit: number) =>
  keyDetails(db)
    .where(ofOrganization(organizationId, sql`${apiKeys.id} < ${before}`))
    .orderBy(desc(apiKeys.id))
    .limit(limit);

/** Condition: the key has the pasted hint, and the hash if a whole value was pasted. */
const isPasted = ({ hint, hash }: PastedKey) =>
  and(eq(apiKeys.hint, hint), hash === null ? undefined : eq(apiKeys.hash, hash));

export const findOwnKeys = (db: Database, organizationId: string, pasted: PastedKey) =>
  keyDetails(db)
    .where(and(eq(apiKeys.organizationId, organizationId), isPasted(pasted)))
    .orderBy(desc(apiKeys.id))
    .limit(10);

/** The keys of all organizations that have the pasted hint, found by the index of hints in each organization. */
export const findAnyKeys = (db: Database, pasted: PastedKey) =>
  db
    .select({ organization: apiKeys.organizationId, key: apiKeys.id })
    .from(organizations)
    .crossJoin(apiKeys)
    .where(and(eq(apiKeys.organizationId, organizations.id), isPasted(pasted)))
    .orderBy(apiKeys.id)
    .limit(100);

/** Which of these ids and hints no key has. */
export const findUnknownKeys = (db: Database, keys: readonly string[]) =>
  db
    .select({ key: sql<string>`value`.as('key') })
    .from(sql`json_each(${JSON.stringify(keys)})`)
    .where(sql`not exists (select 1 from ${apiKeys} ${anyKey} where ${anyKey.id} = value or ${anyKey.hint} = value)`);
