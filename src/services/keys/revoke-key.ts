import {
  findLiveKeyIds,
  findRevocation,
  markRevokedByAdministrator,
  markRevokedByOperator,
} from '../../db/keys/key-statements.ts';
import { directoryId } from '../../domain/directory.ts';
import { errorOf } from '../../domain/errors.ts';
import { freeText, lazyObject } from '../../domain/fields.ts';
import { recordId } from '../../domain/record-id.ts';
import { byAdministrator, bySystem, hasChanged, writeWithAudit } from '../audit/write-with-audit.ts';
import { query } from '../call-d1.ts';
import { administratorsTimeZone } from '../directory/administrators.ts';
import { parseInput } from '../parse-input.ts';
import type { AdminContext, ServiceContext, SystemContext } from '../service-context.ts';
import { keyNotFound } from './read-keys.ts';

// After a revocation has returned, no write with the key is committed. Revoking again changes nothing.

/** @throws ServiceError `key_not_found`, `not_administrator` */
export async function revokeAsAdministrator(ctx: AdminContext, keyId: string): Promise<'revoked' | 'already_revoked'> {
  if ((await markRevoked(ctx, [keyId])).length > 0) return 'revoked';
  if ((await revocationOf(ctx, ctx.actor.organizationId, keyId)) === null) throw errorOf('not_administrator');
  return 'already_revoked';
}

/**
 * Revokes every live key of the organization, including keys created while it runs, and returns how
 * many it revoked. Their number is limited; a key that has expired never works again.
 * @throws ServiceError `not_administrator`
 */
export async function revokeAllKeys(ctx: AdminContext): Promise<number> {
  for (let revoked = 0; ; ) {
    const { organizationId } = ctx.actor;
    const live = await query(ctx, 'may_have_written', (db) => findLiveKeyIds(db, organizationId, ctx.now()));
    if (live.length === 0) return revoked;
    const ids = live.map(({ id }) => id);
    revoked += (await revokeSelectedKeys(ctx, ids)).length;
  }
}

/**
 * Revokes these keys of the organization in one transaction, and returns those that were not revoked before.
 * @throws ServiceError `not_administrator`
 */
export async function revokeSelectedKeys(ctx: AdminContext, keyIds: readonly string[]): Promise<string[]> {
  const revoked = await markRevoked(ctx, keyIds);
  // None: another request has just revoked the same keys, or the user is not an administrator.
  if (revoked.length === 0) await administratorsTimeZone(ctx);
  return revoked;
}

/** Revokes all of them with two statements, because D1 limits how many a request may send. */
async function markRevoked(ctx: AdminContext, keyIds: readonly string[]): Promise<string[]> {
  const [revoked] = await writeWithAudit(ctx, byAdministrator(ctx), 'may_have_written', (db, now) => [
    {
      statement: markRevokedByAdministrator(db, { ...ctx.actor, keyIds, now }),
      action: 'api_key.revoked',
      targetId: { kind: 'revokedKeys', ids: keyIds },
    },
  ]);
  return (revoked?.results ?? []).map(({ id }) => id);
}

const revokeRequest = lazyObject(() => ({
  organization: directoryId('an organization'),
  key: recordId('the key'),
  by: freeText(100),
}));

/** `by` names who asked for it. `revokedAt` is in UTC milliseconds. @throws ServiceError `invalid`, `key_not_found` */
export async function revokeAsOperator(
  ctx: SystemContext,
  request: { organization: string; key: string; by: string },
): Promise<{ status: 'revoked' | 'already_revoked'; revokedAt: number }> {
  const { organization: organizationId, key: keyId, by } = parseInput(revokeRequest, request);
  // User ids cannot contain spaces or parentheses, so this is never mistaken for one.
  const operator = `${ctx.actor} (${by})`;
  const [revoked] = await writeWithAudit(ctx, bySystem(ctx, organizationId, by), 'safe_to_repeat', (db, now) => [
    {
      statement: markRevokedByOperator(db, { organizationId, keyId, now, by: operator }),
      action: 'api_key.revoked',
      targetId: keyId,
    },
  ]);
  const revokedAt = await revocationOf(ctx, organizationId, keyId);
  if (revokedAt === null) throw new Error('an existing, unrevoked key was not revoked');
  return { status: hasChanged(revoked) ? 'revoked' : 'already_revoked', revokedAt };
}

/** UTC milliseconds, or null if it was not revoked. @throws ServiceError `key_not_found` */
async function revocationOf(ctx: ServiceContext, organizationId: string, keyId: string): Promise<number | null> {
  const [found] = await query(ctx, 'safe_to_repeat', (db) => findRevocation(db, { organizationId, keyId }));
  if (!found) throw keyNotFound(organizationId, keyId);
  return found.revokedAt;
}
