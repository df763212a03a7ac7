import { and, eq, type SQL, sql } from 'drizzle-orm';
import { MAX_KEYS_IN_GRACE, MAX_LIVE_KEYS } from '../../domain/key-input.ts';
import type { KeySettings } from '../../domain/key-settings.ts';
import { administrator, anyKey, predecessor } from '../aliases.ts';
import {
  type AdministratorValues,
  byActiveAdministrator,
  isActiveAdministrator,
} from '../directory/administrator-statements.ts';
import { type Database, valuesFor } from '../query.ts';
import { organizations, users } from '../schema/directory.ts';
import { apiKeys } from '../schema/keys.ts';
import { admittedByRules, expiryRules } from './key-rules-statements.ts';
import { liveKeyIds } from './read-keys-statements.ts';

interface KeyId {
  organizationId: string;
  keyId: string;
}

const isTheKey = ({ organizationId, keyId }: KeyId) =>
  sql`${apiKeys.organizationId} = ${organizationId} and ${apiKeys.id} = ${keyId}`;

/** Neither revoked nor replaced. Only such a key occupies its name. */
const isCurrent = (key: typeof apiKeys | typeof anyKey) => sql`${key.revokedAt} is null and ${key.successorId} is null`;

const isUnexpired = (now: number) => sql`(${apiKeys.expiresAt} is null or ${apiKeys.expiresAt} > ${now})`;

interface NewKey extends AdministratorValues {
  id: string;
  hash: string;
  hint: string;
  now: number;
  expiresAt: number | null;
  formToken: string | null;
}

interface NewKeyValues extends NewKey, KeySettings {
  scopes: string;
  lifetimeDays: number | null;
}

/** The values of a new row that are the same with and without a predecessor. */
const newKeyValues = ({ organizationId, userId, id, hash, hint, now, expiresAt, formToken }: NewKey) => ({
  organizationId,
  id,
  hash,
  hint,
  createdAt: now,
  createdBy: userId,
  expiresAt,
  revokedAt: sql`null`,
  revokedBy: sql`null`,
  successorId: sql`null`,
  formToken,
  revision: 0,
});

/**
 * The number of keys that are live and not replaced, without the key that a new one replaces. Two counts on a named index:
 * otherwise SQLite would read ended keys.
 */
const liveKeys = (organizationId: string, now: number, replacedId = '') => {
  const count = (expiry: SQL) => sql`(select count(*) from ${apiKeys} ${anyKey} indexed by api_keys_unrevoked
    where ${anyKey.organizationId} = ${organizationId} and ${isCurrent(anyKey)} and ${anyKey.id} <> ${replacedId}
      and ${anyKey.expiresAt} ${expiry})`;
  return sql`${count(sql`is null`)} + ${count(sql`> ${now}`)}`;
};

/** Neither the form token, nor the number of keys, nor the key rules stop the new key. A trigger refuses an id or token again. */
const isAdmitted = ({ organizationId, id, formToken, now, lifetimeDays }: NewKeyValues, replacedId?: string) =>
  sql`not exists (select 1 from ${apiKeys} ${anyKey}
      where ${anyKey.organizationId} = ${organizationId} and (${anyKey.id} = ${id} or ${anyKey.formToken} = ${formToken}))
    and ${liveKeys(organizationId, now, replacedId)} < ${MAX_LIVE_KEYS} and ${admittedByRules(organizationId, lifetimeDays)}`;

/** No other key occupies the name, unless the key is replaced: then it does not occupy its own. */
const nameIsFree = ({ organizationId, keyId, name }: KeyId & { name: string }) =>
  sql`not exists (select 1 from ${apiKeys} ${anyKey} where ${anyKey.organizationId} = ${organizationId}
    and ${anyKey.name} = ${name} and ${isCurrent(anyKey)} and ${anyKey.id} <> ${keyId} and ${apiKeys.successorId} is null)`;

const insertKeyIf = (db: Database, values: NewKeyValues, chainId: string | SQL, condition: SQL) =>
  db.insert(apiKeys).select(
    sql`select ${valuesFor(apiKeys, {
      ...newKeyValues(values),
      chainId,
      scopes: values.scopes,
      name: values.name,
      description: values.description,
      owner: values.owner,
      dayLimitRecords: values.dayLimitRecords,
      dayLimitMinutes: values.dayLimitMinutes,
      allowedNetworks: values.allowedNetworks,
      companies: values.companies,
    })} from ${users} ${administrator} where ${isActiveAdministrator(values)} and ${condition}`,
  );

/** Inserts a key unless there are too many, the key rules refuse it, or its name or form token is in use. */
export const insertKey = (db: Database, values: NewKeyValues) =>
  insertKeyIf(db, values, values.id, isAdmitted(values)).onConflictDoNothing();

/** Inserts the new key into the chain of the key that names it as its successor since the statement before. */
export const insertReplacement = (db: Database, values: NewKeyValues) => {
  const chainId = sql`coalesce((select ${predecessor.chainId} from ${apiKeys} ${predecessor}
    where ${predecessor.organizationId} = ${values.organizationId} and ${predecessor.successorId} = ${values.id}), ${values.id})`;
  return insertKeyIf(db, values, chainId, sql`changes() = 1`);
};

const revocation = (now: number, by: string) => ({
  revokedAt: now,
  revokedBy: by,
  revision: sql`${apiKeys.revision} + 1`,
});

interface ChangeValues extends AdministratorValues {
  keyId: string;
  now: number;
  revision: number;
}

/** Replaces the settings of a live key that still has this revision, if the name is free. */
export const changeKey = (db: Database, values: ChangeValues & KeySettings) => {
  const { name, description, owner, dayLimitRecords, dayLimitMinutes, allowedNetworks, companies } = values;
  const settings = { name, description, owner, dayLimitRecords, dayLimitMinutes, allowedNetworks, companies };
  return db
    .update(apiKeys)
    .set({ ...settings, revision: sql`${apiKeys.revision} + 1` })
    .where(
      and(
        isTheKey(values),
        sql`${apiKeys.revokedAt} is null`,
        isUnexpired(values.now),
        eq(apiKeys.revision, values.revision),
        byActiveAdministrator(values),
        nameIsFree(values),
      ),
    );
};

// A rotation and a replacement make up to three changes in one transaction, each with its audit row: they mark the old key,
// insert the successor and revoke the old key. The second runs only if the first changed a row, and the third only if the
// old key then has this successor.

const keysInGrace = (organizationId: string, now: number) =>
  sql<number>`(select count(*) from ${apiKeys} ${anyKey} where ${anyKey.organizationId} = ${organizationId}
    and ${anyKey.revokedAt} is null and ${anyKey.expiresAt} > ${now} and ${anyKey.successorId} is not null)`;

/** The id of the key that a form has created; null for none. */
const createdByForm = (organizationId: string, formToken: string | null) =>
  sql<string | null>`(select ${anyKey.id} from ${apiKeys} ${anyKey}
    where ${anyKey.organizationId} = ${organizationId} and ${anyKey.formToken} = ${formToken})`;

interface SuccessionValues extends AdministratorValues {
  keyId: string;
  id: string;
  now: number;
  endsAt: number;
  formToken: string | null;
  lifetimeDays: number | null;
}

/**
 * Names the successor of a live key that has none. The key then ends at `endsAt` or at its own expiry, whichever is
 * earlier. A key that ends immediately (`endsAt` is now) can always be replaced; another one only while there is room for
 * one more in its grace period. The key rules have to admit the successor with its lifetime of `lifetimeDays`.
 */
export const markSucceeded = (db: Database, values: SuccessionValues) => {
  const { organizationId, id, now, endsAt, formToken, lifetimeDays } = values;
  return db
    .update(apiKeys)
    .set({
      successorId: id,
      expiresAt: sql`min(coalesce(${apiKeys.expiresAt}, ${endsAt}), ${endsAt})`,
      revision: sql`${apiKeys.revision} + 1`,
    })
    .where(
      and(
        isTheKey(values),
        isCurrent(apiKeys),
        isUnexpired(now),
        byActiveAdministrator(values),
        sql`${createdByForm(organizationId, formToken)} is null`,
        sql`(${endsAt} <= ${now} or ${keysInGrace(organizationId, now)} < ${MAX_KEYS_IN_GRACE})`,
        admittedByRules(organizationId, lifetimeDays),
      ),
    );
};

/**
 * Names the successor, with its own scopes and settings, of a key that has none and still has this revision: of one that
 * works, which then ends as in a rotation, and of one that has ended.
 */
export const markReplaced = (db: Database, values: NewKeyValues & ChangeValues & { endsAt: number }) => {
  const { organizationId, keyId, id, now, endsAt } = values;
  const isUnrevoked = sql`${apiKeys.revokedAt} is null`;
  return db
    .update(apiKeys)
    .set({
      successorId: id,
      expiresAt: sql`iif(${isUnrevoked}, min(coalesce(${apiKeys.expiresAt}, ${endsAt}), ${endsAt}), ${apiKeys.expiresAt})`,
      revision: sql`${apiKeys.revision} + 1`,
    })
    .where(
      and(
        isTheKey(values),
        sql`${apiKeys.successorId} is null`,
        eq(apiKeys.revision, values.revision),
        byActiveAdministrator(values),
        isAdmitted(values, keyId),
        nameIsFree(values),
        sql`(${endsAt} <= ${now} or not (${isUnrevoked} and ${isUnexpired(now)})
          or ${keysInGrace(organizationId, now)} < ${MAX_KEYS_IN_GRACE})`,
      ),
    );
};

/** Inserts the successor of the key that names it, with the same chain, scopes and settings. */
export const insertSuccessor = (db: Database, values: NewKey) => {
  const { chainId, scopes, name, description, owner } = predecessor;
  const { dayLimitRecords, dayLimitMinutes, allowedNetworks, companies } = predecessor;
  return db.insert(apiKeys).select(
    sql`select ${valuesFor(apiKeys, {
      ...newKeyValues(values),
      chainId,
      scopes,
      name,
      description,
      owner,
      dayLimitRecords,
      dayLimitMinutes,
      allowedNetworks,
      companies,
    })} from ${apiKeys} ${predecessor}
    where ${predecessor.organizationId} = ${values.organizationId} and ${predecessor.successorId} = ${values.id} and changes() = 1`,
  );
};

export const revokeSucceeded = (db: Database, values: AdministratorValues & { id: string; now: number }) =>
  db
    .update(apiKeys)
    .set(revocation(values.now, values.userId))
    .where(
      sql`${apiKeys.organizationId} = ${values.organizationId} and ${apiKeys.successorId} = ${values.id}
        and ${apiKeys.revokedAt} is null`,
    );

interface Asked extends AdministratorValues {
  keyId: string;
  name: string;
  formToken: string | null;
  now: number;
}

/** Why a key was not created, changed or rotated. */
export const explainKey = (db: Database, values: Asked) => {
  const { organizationId, name, formToken, now } = values;
  const named = sql<string | null>`(select ${anyKey.id} from ${apiKeys} ${anyKey}
    where ${anyKey.organizationId} = ${organizationId} and ${anyKey.name} = ${name} and ${isCurrent(anyKey)})`;
  return db
    .select({
      administrator: sql<number>`${byActiveAdministrator(values)}`.as('administrator'),
      /** The id of the key; null if there is no such key. */
      found: sql<string | null>`${apiKeys.id}`.as('found'),
      successorId: apiKeys.successorId,
      live: sql<number>`${apiKeys.id} is not null and ${apiKeys.revokedAt} is null and ${isUnexpired(now)}`.as('live'),
      createdByForm: createdByForm(organizationId, formToken).as('createdByForm'),
      /** The current key with the name. */
      named: named.as('named'),
      keysInGrace: keysInGrace(organizationId, now).as('keysInGrace'),
      ...expiryRules(organizationId),
    })
    .from(organizations)
    .leftJoin(apiKeys, isTheKey(values))
    .where(eq(organizations.id, organizationId));
};

export type ExplainedKey = Awaited<ReturnType<typeof explainKey>>[number];

/** Revokes those of the keys that are not revoked yet, if the user is an active administrator. Returns them. */
export const markRevokedByAdministrator = (
  db: Database,
  values: AdministratorValues & { keyIds: readonly string[]; now: number },
) =>
  db
    .update(apiKeys)
    .set(revocation(values.now, values.userId))
    .where(
      and(
        eq(apiKeys.organizationId, values.organizationId),
        // One value, because D1 binds at most 100.
        sql`${apiKeys.id} in (select value from json_each(${JSON.stringify(values.keyIds)}))`,
        sql`${apiKeys.revokedAt} is null`,
        byActiveAdministrator(values),
      ),
    )
    .returning({ id: apiKeys.id });

/** Revokes one key for an operator, who is not a user: `by` describes the operator in words. */
export const markRevokedByOperator = (db: Database, values: KeyId & { now: number; by: string }) =>
  db
    .update(apiKeys)
    .set(revocation(values.now, values.by))
    .where(and(isTheKey(values), sql`${apiKeys.revokedAt} is null`));

/** Whether and when a key was revoked, or no row if there is no such key. */
export const findRevocation = (db: Database, key: KeyId) =>
  db.select({ revokedAt: apiKeys.revokedAt }).from(apiKeys).where(isTheKey(key));

export const findLiveKeyIds = (db: Database, organizationId: string, now: number) =>
  db
    .select({ id: apiKeys.id })
    .from(apiKeys)
    .where(
      sql`${apiKeys.organizationId} = ${organizationId} and ${apiKeys.id} in (${liveKeyIds(organizationId, now)})`,
    );
