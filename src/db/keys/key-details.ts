import { and, desc, eq, inArray, isNull, lt, type SQL, sql } from 'drizzle-orm';
import { alias, type SQLiteColumn } from 'drizzle-orm/sqlite-core';
import { builder, statement } from '../client.ts';
import { apiKeys, auditLog, organizations, users } from '../schema.ts';
import { named, type RowOf } from '../statements.ts';

// What the settings area shows of keys. A key's last write is read from the audit log's index by actor; nothing is written for it.

const creators = alias(users, 'creators');
const revokers = alias(users, 'revokers');
const successors = alias(apiKeys, 'successors');
const predecessors = alias(apiKeys, 'predecessors');

const keyColumns = {
  id: apiKeys.id,
  name: apiKeys.name,
  hint: apiKeys.hint,
  scopes: apiKeys.scopes,
  limitQuota: apiKeys.limitQuota,
  limitWindowMs: apiKeys.limitWindowMs,
  createdAt: apiKeys.createdAt,
  expiresAt: apiKeys.expiresAt,
  revokedAt: apiKeys.revokedAt,
  revokedById: apiKeys.revokedBy,
  createdBy: creators.name,
  creatorActive: creators.active,
  creatorAdmin: creators.isAdmin,
};
const outerColumns = {
  revokedBy: revokers.name,
  successorId: successors.id,
  successorHint: successors.hint,
  predecessorId: predecessors.id,
  predecessorHint: predecessors.hint,
  lastWriteAt: auditLog.at,
  lastWriteFrom: auditLog.sourceAddress,
};

/** A key with all that the settings area says of it. */
export type KeyDetailsRow = RowOf<typeof keyColumns> & { [Field in keyof typeof outerColumns]: RowOf<typeof outerColumns>[Field] | null };

const own = eq(apiKeys.organizationId, sql.placeholder('organizationId'));
const sameOrganization = (column: SQLiteColumn) => eq(column, apiKeys.organizationId);

const keyDetails = (condition: SQL | undefined) =>
  builder
    .select({ ...named(keyColumns), ...named(outerColumns) })
    .from(apiKeys)
    .innerJoin(creators, and(sameOrganization(creators.organizationId), eq(creators.id, apiKeys.createdBy)))
    .leftJoin(revokers, and(sameOrganization(revokers.organizationId), eq(revokers.id, apiKeys.revokedBy)))
    .leftJoin(successors, and(sameOrganization(successors.organizationId), eq(successors.id, apiKeys.successorId)))
    .leftJoin(predecessors, and(sameOrganization(predecessors.organizationId), eq(predecessors.successorId, apiKeys.id)))
    .leftJoin(
      auditLog,
      and(
        sameOrganization(auditLog.organizationId),
        sql`${auditLog.seq} = (select max(writes.seq) from ${auditLog} as writes
          where writes.organization_id = ${apiKeys.organizationId} and writes.actor_id = ${apiKeys.id})`,
      ),
    )
    .where(and(own, condition));

/** One key: a `KeyDetailsRow`, or none. */
export const findKeyDetails = statement<{ organizationId: string; keyId: string }>(keyDetails(eq(apiKeys.id, sql.placeholder('keyId'))));

/** More than an organization can have alive, replaced ones that still run out included. */
const MAX_LISTED = 500;

const unrevoked = (expiry: SQL) =>
  builder
    .select({ id: apiKeys.id })
    .from(apiKeys)
    .where(and(own, isNull(apiKeys.revokedAt), expiry));

/** The keys that are neither revoked nor expired, by name. Two index ranges, so that expired ones are not read. */
export const findLiveKeys = statement<{ organizationId: string; now: number }>(
  keyDetails(
    inArray(
      apiKeys.id,
      unrevoked(sql`${apiKeys.expiresAt} is null`).unionAll(unrevoked(sql`${apiKeys.expiresAt} > ${sql.placeholder('now')}`)),
    ),
  )
    .orderBy(apiKeys.name, desc(apiKeys.id))
    .limit(MAX_LISTED),
);

/** A page of all keys that were made before the one with the id `before`, newest first. */
export const findKeyPage = statement<{ organizationId: string; before: string; limit: number }>(
  keyDetails(lt(apiKeys.id, sql.placeholder('before')))
    .orderBy(desc(apiKeys.id))
    .limit(sql.placeholder('limit')),
);

/** The key with this hash. */
export const findOwnKeyByHash = statement<{ organizationId: string; hash: string }>(keyDetails(eq(apiKeys.hash, sql.placeholder('hash'))));

/** The keys with this hint: rarely more than one. */
export const findKeysByHint = statement<{ organizationId: string; hint: string }>(
  keyDetails(eq(apiKeys.hint, sql.placeholder('hint')))
    .orderBy(desc(apiKeys.id))
    .limit(10),
);

const operatorColumns = {
  organizationId: apiKeys.organizationId,
  organization: organizations.name,
  id: apiKeys.id,
  name: apiKeys.name,
  hint: apiKeys.hint,
  expiresAt: apiKeys.expiresAt,
  revokedAt: apiKeys.revokedAt,
};
const otherColumns = {
  successorId: successors.id,
  successorHint: successors.hint,
  successorExpiresAt: successors.expiresAt,
  successorRevokedAt: successors.revokedAt,
  predecessorId: predecessors.id,
  predecessorHint: predecessors.hint,
  predecessorExpiresAt: predecessors.expiresAt,
  predecessorRevokedAt: predecessors.revokedAt,
};

/** A key of any organization as an operator looks it up, with the other keys of its rotations. */
export type OperatorKeyRow = RowOf<typeof operatorColumns> & {
  [Field in keyof typeof otherColumns]: RowOf<typeof otherColumns>[Field] | null;
};

const keyAnywhere = (condition: SQL | undefined) =>
  builder
    .select({ ...named(operatorColumns), ...named(otherColumns) })
    .from(organizations)
    .innerJoin(apiKeys, eq(apiKeys.organizationId, organizations.id))
    .leftJoin(successors, and(sameOrganization(successors.organizationId), eq(successors.id, apiKeys.successorId)))
    .leftJoin(predecessors, and(sameOrganization(predecessors.organizationId), eq(predecessors.successorId, apiKeys.id)))
    .where(condition)
    .orderBy(apiKeys.id)
    .limit(100);

/** The key with this hash, in whatever organization. */
export const findAnyKeyByHash = statement<{ hash: string }>(keyAnywhere(eq(apiKeys.hash, sql.placeholder('hash'))));

const hinted = alias(apiKeys, 'hinted');
const withHint = builder
  .select({ organizationId: hinted.organizationId, id: hinted.id })
  .from(organizations)
  // CROSS: SQLite then keeps this order, and looks into each organization rather than through all hints.
  .crossJoin(hinted)
  .where(and(eq(hinted.organizationId, organizations.id), eq(hinted.hint, sql.placeholder('hint'))));

/** The keys with this hint. Hints are indexed within an organization; the other keys of each are not read. */
export const findAnyKeysByHint = statement<{ hint: string }>(keyAnywhere(sql`(${apiKeys.organizationId}, ${apiKeys.id}) in ${withHint}`));

/** One key, by organization and id. */
export const findAnyKeyById = statement<{ organizationId: string; keyId: string }>(
  keyAnywhere(and(own, eq(apiKeys.id, sql.placeholder('keyId')))),
);
