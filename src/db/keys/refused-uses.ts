import { and, desc, eq, gte, lt, sql } from 'drizzle-orm';
import { builder, statement, value } from '../client.ts';
import { apiKeys, refusedUses } from '../schema.ts';
import { named, type RowOf } from '../statements.ts';

interface RefusedUseValues {
  organizationId: string;
  keyId: string;
  reason: string;
  count: number;
  now: number;
  sourceAddress: string | null;
}

/** Adds to the count of a key and reason. */
export const recordRefusedUse = statement<RefusedUseValues>(
  builder
    .insert(refusedUses)
    .select(
      builder
        .select({
          organizationId: sql<string>`${apiKeys.organizationId}`.as('organization_id'),
          keyId: sql<string>`${apiKeys.id}`.as('key_id'),
          reason: value<RefusedUseRow['reason']>('reason').as('reason'),
          count: value<number>('count').as('count'),
          firstAt: value<number>('now').as('first_at'),
          lastAt: value<number>('now').as('last_at'),
          sourceAddress: value<string | null>('sourceAddress').as('source_address'),
        })
        .from(apiKeys)
        .where(and(eq(apiKeys.organizationId, sql.placeholder('organizationId')), eq(apiKeys.id, sql.placeholder('keyId')))),
    )
    .onConflictDoUpdate({
      target: [refusedUses.organizationId, refusedUses.keyId, refusedUses.reason],
      set: {
        count: sql`${refusedUses.count} + excluded.count`,
        lastAt: sql`max(${refusedUses.lastAt}, excluded.last_at)`,
        sourceAddress: sql`excluded.source_address`,
      },
    }),
);

const refusedUseColumns = {
  keyId: refusedUses.keyId,
  reason: refusedUses.reason,
  count: refusedUses.count,
  firstAt: refusedUses.firstAt,
  lastAt: refusedUses.lastAt,
  sourceAddress: refusedUses.sourceAddress,
  keyName: apiKeys.name,
  keyHint: apiKeys.hint,
};

export type RefusedUseRow = RowOf<typeof refusedUseColumns>;

const joined = () =>
  builder
    .select(named(refusedUseColumns))
    .from(refusedUses)
    .innerJoin(apiKeys, and(eq(apiKeys.organizationId, refusedUses.organizationId), eq(apiKeys.id, refusedUses.keyId)));

/** The refused uses of one key, latest first. */
export const findRefusedUsesOfKey = statement<{ organizationId: string; keyId: string }>(
  joined()
    .where(and(eq(refusedUses.organizationId, sql.placeholder('organizationId')), eq(refusedUses.keyId, sql.placeholder('keyId'))))
    .orderBy(desc(refusedUses.lastAt)),
);

/** The organization's latest refused uses. */
export const findRefusedUses = statement<{ organizationId: string; limit: number }>(
  joined()
    .where(eq(refusedUses.organizationId, sql.placeholder('organizationId')))
    .orderBy(desc(refusedUses.lastAt))
    .limit(sql.placeholder('limit')),
);

/** The organization's revoked keys that were tried since an instant, latest first. */
export const findRevokedKeysTried = statement<{ organizationId: string; since: number; limit: number }>(
  joined()
    .where(
      and(
        eq(refusedUses.organizationId, sql.placeholder('organizationId')),
        eq(refusedUses.reason, 'revoked'),
        gte(refusedUses.lastAt, sql.placeholder('since')),
      ),
    )
    .orderBy(desc(refusedUses.lastAt))
    .limit(sql.placeholder('limit')),
);

/** Forgets the addresses of uses that lie before an instant. */
export const forgetAddresses = statement<{ before: number }>(
  builder
    .update(refusedUses)
    .set({ sourceAddress: sql`null` })
    .where(and(lt(refusedUses.lastAt, sql.placeholder('before')), sql`${refusedUses.sourceAddress} is not null`)),
);
