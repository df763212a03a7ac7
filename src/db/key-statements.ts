import { and, eq, exists, isNull, sql } from 'drizzle-orm';
import { builder, statement, value } from './client.ts';
import { apiKeys, organizations, users } from './schema.ts';

// Rendered once, like the statements of the request path. Each write re-checks that the actor is an active administrator, and its audit
// row is the next statement of the same batch: it adds a row if and only if the write did.

interface ActorValues {
  organizationId: string;
  actorId: string;
}

const activeAdministrator = and(
  eq(users.organizationId, sql.placeholder('organizationId')),
  eq(users.id, sql.placeholder('actorId')),
  sql`${users.isAdmin} = 1`,
  sql`${users.active} = 1`,
);

/** The time zone of the actor's organization, if the actor is an active administrator there: `{ timeZone }` or none. */
export const findTimeZone = statement<ActorValues>(
  builder
    .select({ timeZone: sql`${organizations.timeZone}`.as('timeZone') })
    .from(users)
    .innerJoin(organizations, eq(organizations.id, users.organizationId))
    .where(activeAdministrator),
);

interface NewKeyValues extends ActorValues {
  id: string;
  name: string;
  hash: string;
  hint: string;
  scopes: string;
  limitQuota: number | null;
  limitWindowMs: number | null;
  now: number;
  expiresAt: number | null;
}

/** Inserts a key. */
export const insertKey = statement<NewKeyValues>(
  builder.insert(apiKeys).select(
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
      })
      .from(users)
      .where(activeAdministrator),
  ),
);

interface RevokeValues extends ActorValues {
  keyId: string;
  now: number;
}

/** Revokes a key that is not revoked yet. */
export const markRevoked = statement<RevokeValues>(
  builder
    .update(apiKeys)
    .set({ revokedAt: value<number>('now'), revokedBy: value<string>('actorId') })
    .where(
      and(
        eq(apiKeys.organizationId, sql.placeholder('organizationId')),
        eq(apiKeys.id, sql.placeholder('keyId')),
        isNull(apiKeys.revokedAt),
        exists(builder.select({ one: sql`1` }).from(users).where(activeAdministrator)),
      ),
    ),
);

/** `{ revokedAt }` of a key, or none. */
export const findRevocation = statement<{ organizationId: string; keyId: string }>(
  builder
    .select({ revokedAt: sql`${apiKeys.revokedAt}`.as('revokedAt') })
    .from(apiKeys)
    .where(and(eq(apiKeys.organizationId, sql.placeholder('organizationId')), eq(apiKeys.id, sql.placeholder('keyId')))),
);
