import { and, eq, isNull, type SQL, sql } from 'drizzle-orm';
import { MAX_LIVE_KEYS } from '../../domain/key-input.ts';
import { type ActorValues, activeAdministrator, byActiveAdministrator } from '../directory/administrators.ts';
import { builder, statement, value } from '../client.ts';
import { apiKeys, organizations, users } from '../schema.ts';

// Rendered once, like the statements of the request path. Each write re-checks that the actor is an active administrator, and its audit
// row is the next statement of the same batch: it adds a row if and only if the write did.

/** The time zone of the actor's organization, if the actor is an active administrator there: `{ timeZone }` or none. */
export const findTimeZone = statement<ActorValues>(
  builder
    .select({ timeZone: sql`${organizations.timeZone}`.as('timeZone') })
    .from(users)
    .innerJoin(organizations, eq(organizations.id, users.organizationId))
    .where(activeAdministrator),
);

interface KeyValues extends ActorValues {
  id: string;
  hash: string;
  hint: string;
  now: number;
  expiresAt: number | null;
  formToken: string | null;
}

interface NewKeyValues extends KeyValues {
  name: string;
  scopes: string;
  limitQuota: number | null;
  limitWindowMs: number | null;
}

const ownKeys = eq(apiKeys.organizationId, sql.placeholder('organizationId'));
const theKey = and(ownKeys, eq(apiKeys.id, sql.placeholder('keyId')));
const isCurrent = and(isNull(apiKeys.revokedAt), isNull(apiKeys.successorId));
const isUnexpired = sql`(${apiKeys.expiresAt} is null or ${apiKeys.expiresAt} > ${sql.placeholder('now')})`;

/** How many keys of the organization are live and not replaced. Two counts, for one condition with `or` would read the expired ones too. */
const liveKeys = (() => {
  const count = (expiry: SQL) =>
    builder
      .select({ n: sql`count(*)` })
      .from(apiKeys)
      .where(and(ownKeys, isCurrent, expiry));
  const unending = count(sql`${apiKeys.expiresAt} is null`);
  const unexpired = count(sql`${apiKeys.expiresAt} > ${sql.placeholder('now')}`);
  return sql`(${unending}) + (${unexpired})`;
})();

/** Inserts a key, unless there are too many, or its name or form token is in use: then nothing. */
export const insertKey = statement<NewKeyValues>(
  builder
    .insert(apiKeys)
    .select(
      builder
        .select({
          organizationId: sql<string>`${users.organizationId}`.as('organization_id'),
          id: value<string>('id').as('id'),
          name: value<string>('name').as('name'),
          hash: value<string>('hash').as('hash'),
          hint: value<string>('hint').as('hint'),
          scopes: value<string>('scopes').as('scopes'),
          limitQuota: value<number | null>('limitQuota').as('limit_quota'),
          limitWindowMs: value<number | null>('limitWindowMs').as('limit_window_ms'),
          createdAt: value<number>('now').as('created_at'),
          createdBy: sql<string>`${users.id}`.as('created_by'),
          expiresAt: value<number | null>('expiresAt').as('expires_at'),
          revokedAt: sql<null>`null`.as('revoked_at'),
          revokedBy: sql<null>`null`.as('revoked_by'),
          successorId: sql<null>`null`.as('successor_id'),
          formToken: value<string | null>('formToken').as('form_token'),
        })
        .from(users)
        .where(and(activeAdministrator, sql`${liveKeys} < ${sql.raw(String(MAX_LIVE_KEYS))}`)),
    )
    .onConflictDoNothing(),
);

export interface NewKeyExplanation {
  administrator: number;
  /** The key that has this very id: the insert had happened already, only its acknowledgement was lost. */
  own: string | null;
  /** The key that the form token has made. */
  madeByForm: string | null;
  /** The key that has the name. */
  named: string | null;
}

const keyWhere = (condition: SQL | undefined) => sql`(${builder.select({ id: apiKeys.id }).from(apiKeys).where(and(ownKeys, condition))})`;

/** Why a key was not inserted: one `NewKeyExplanation`. */
export const explainNewKey = statement<ActorValues & { id: string; name: string; formToken: string | null }>(
  builder
    .select({
      administrator: sql`${byActiveAdministrator}`.as('administrator'),
      own: keyWhere(eq(apiKeys.id, sql.placeholder('id'))).as('own'),
      madeByForm: keyWhere(eq(apiKeys.formToken, sql.placeholder('formToken'))).as('madeByForm'),
      named: keyWhere(and(eq(apiKeys.name, sql.placeholder('name')), isCurrent)).as('named'),
    })
    .from(organizations)
    .where(eq(organizations.id, sql.placeholder('organizationId'))),
);

// --- rotation --------------------------------------------------------------------------------------------------------------------

/** Names the successor of a live key that has none, and lets the key end at `endsAt` or at its own expiry, whichever comes first. */
export const markSucceeded = statement<ActorValues & { keyId: string; id: string; now: number; endsAt: number; formToken: string | null }>(
  builder
    .update(apiKeys)
    .set({
      successorId: value<string>('id'),
      expiresAt: sql`min(coalesce(${apiKeys.expiresAt}, ${sql.placeholder('endsAt')}), ${sql.placeholder('endsAt')})`,
    })
    .where(
      and(
        theKey,
        isCurrent,
        isUnexpired,
        byActiveAdministrator,
        sql`${keyWhere(eq(apiKeys.formToken, sql.placeholder('formToken')))} is null`,
      ),
    ),
);

/** Inserts the successor of the key that names it, with the same name, scopes and limit. Stands behind `markSucceeded` and its audit row. */
export const insertSuccessor = statement<KeyValues>(
  builder.insert(apiKeys).select(
    builder
      .select({
        organizationId: sql<string>`${apiKeys.organizationId}`.as('organization_id'),
        id: value<string>('id').as('id'),
        name: sql<string>`${apiKeys.name}`.as('name'),
        hash: value<string>('hash').as('hash'),
        hint: value<string>('hint').as('hint'),
        scopes: sql<string>`${apiKeys.scopes}`.as('scopes'),
        limitQuota: sql<number | null>`${apiKeys.limitQuota}`.as('limit_quota'),
        limitWindowMs: sql<number | null>`${apiKeys.limitWindowMs}`.as('limit_window_ms'),
        createdAt: value<number>('now').as('created_at'),
        createdBy: value<string>('actorId').as('created_by'),
        expiresAt: value<number | null>('expiresAt').as('expires_at'),
        revokedAt: sql<null>`null`.as('revoked_at'),
        revokedBy: sql<null>`null`.as('revoked_by'),
        successorId: sql<null>`null`.as('successor_id'),
        formToken: value<string | null>('formToken').as('form_token'),
      })
      .from(apiKeys)
      .where(and(ownKeys, eq(apiKeys.successorId, sql.placeholder('id')), sql`changes() = 1`)),
  ),
);

/** Revokes the key that was just succeeded by `id`. Stands behind the audit row of its successor. */
export const revokeSucceeded = statement<ActorValues & { id: string; now: number }>(
  builder
    .update(apiKeys)
    .set({ revokedAt: value<number>('now'), revokedBy: value<string>('actorId') })
    .where(and(ownKeys, eq(apiKeys.successorId, sql.placeholder('id')), sql`changes() = 1`)),
);

export interface RotationExplanation {
  administrator: number;
  /** The key's id, null when there is no such key. */
  exists: string | null;
  successorId: string | null;
  madeByForm: string | null;
}

/** Why a key was not rotated: one `RotationExplanation`. */
export const explainRotation = statement<ActorValues & { keyId: string; formToken: string }>(
  builder
    .select({
      administrator: sql`${byActiveAdministrator}`.as('administrator'),
      exists: sql`${apiKeys.id}`.as('exists'),
      successorId: sql`${apiKeys.successorId}`.as('successorId'),
      madeByForm: keyWhere(eq(apiKeys.formToken, sql.placeholder('formToken'))).as('madeByForm'),
    })
    .from(organizations)
    .leftJoin(apiKeys, theKey)
    .where(eq(organizations.id, sql.placeholder('organizationId'))),
);

// --- changes ---------------------------------------------------------------------------------------------------------------------

interface ChangeValues extends ActorValues {
  keyId: string;
  now: number;
  name: string;
  limitQuota: number | null;
  limitWindowMs: number | null;
  oldName: string;
  oldLimitQuota: number | null;
  oldLimitWindowMs: number | null;
}

/** Changes name and limit of a live key that still has the old ones, if no other key has the name. */
export const changeKey = statement<ChangeValues>(
  builder
    .update(apiKeys)
    .set({
      name: value<string>('name'),
      limitQuota: value<number | null>('limitQuota'),
      limitWindowMs: value<number | null>('limitWindowMs'),
    })
    .where(
      and(
        theKey,
        isNull(apiKeys.revokedAt),
        isUnexpired,
        eq(apiKeys.name, sql.placeholder('oldName')),
        sql`${apiKeys.limitQuota} is ${sql.placeholder('oldLimitQuota')}`,
        sql`${apiKeys.limitWindowMs} is ${sql.placeholder('oldLimitWindowMs')}`,
        byActiveAdministrator,
        sql`not exists (select 1 from ${apiKeys} as other where other.organization_id = ${sql.placeholder('organizationId')}
          and other.name = ${sql.placeholder('name')} and other.revoked_at is null and other.successor_id is null
          and other.id <> ${sql.placeholder('keyId')} and ${apiKeys.successorId} is null)`,
      ),
    ),
);

export interface ChangeExplanation {
  administrator: number;
  /** The key's id, null when it is not live. */
  live: string | null;
  name: string | null;
  limitQuota: number | null;
  limitWindowMs: number | null;
  /** The key that has the wanted name. */
  named: string | null;
}

/** Why a key was not changed: one `ChangeExplanation`. */
export const explainChange = statement<ActorValues & { keyId: string; name: string; now: number }>(
  builder
    .select({
      administrator: sql`${byActiveAdministrator}`.as('administrator'),
      live: sql`${apiKeys.id}`.as('live'),
      name: sql`${apiKeys.name}`.as('name'),
      limitQuota: sql`${apiKeys.limitQuota}`.as('limitQuota'),
      limitWindowMs: sql`${apiKeys.limitWindowMs}`.as('limitWindowMs'),
      named: keyWhere(and(eq(apiKeys.name, sql.placeholder('name')), isCurrent)).as('named'),
    })
    .from(organizations)
    .leftJoin(apiKeys, and(theKey, isNull(apiKeys.revokedAt), isUnexpired))
    .where(eq(organizations.id, sql.placeholder('organizationId'))),
);

// --- revocation ------------------------------------------------------------------------------------------------------------------

interface RevokeValues extends ActorValues {
  keyId: string;
  now: number;
}

/** Revokes a key that is not revoked yet. */
export const markRevoked = statement<RevokeValues>(
  builder
    .update(apiKeys)
    .set({ revokedAt: value<number>('now'), revokedBy: value<string>('actorId') })
    .where(and(theKey, isNull(apiKeys.revokedAt), byActiveAdministrator)),
);

/** The same, for an operator, who is no user: `by` is written out. */
export const markRevokedByOperator = statement<{ organizationId: string; keyId: string; now: number; by: string }>(
  builder
    .update(apiKeys)
    .set({ revokedAt: value<number>('now'), revokedBy: value<string>('by') })
    .where(and(theKey, isNull(apiKeys.revokedAt))),
);

/** `{ revokedAt }` of a key, or none. */
export const findRevocation = statement<{ organizationId: string; keyId: string }>(
  builder
    .select({ revokedAt: sql`${apiKeys.revokedAt}`.as('revokedAt') })
    .from(apiKeys)
    .where(theKey),
);

/** `{ id }` of the organization's keys that are not revoked, a bounded number of them. */
export const findUnrevoked = statement<{ organizationId: string }>(
  builder
    .select({ id: apiKeys.id })
    .from(apiKeys)
    .where(and(ownKeys, isNull(apiKeys.revokedAt)))
    .limit(100),
);
