import { auditUserAction } from '../db/audit.ts';
import { callD1 } from '../db/client.ts';
import { findRevocation, findTimeZone, insertKey, markRevoked } from '../db/key-statements.ts';
import { formatScopes, generateKey, hashKey, keyHint } from '../domain/api-key.ts';
import { fieldErrors } from '../domain/fields.ts';
import { expiryInstant, type NewApiKey, newApiKey } from '../domain/new-api-key.ts';
import { timeOrderedId } from '../domain/record-id.ts';
import { Invalid, NotAdministrator } from '../domain/refusal.ts';
import type { AdminContext } from './context.ts';
import { unavailable } from './unavailable.ts';

/** A key as it is shown once: `value` is kept nowhere. */
export interface CreatedKey {
  id: string;
  value: string;
  hint: string;
  /** UTC milliseconds, or null for never. */
  expiresAt: number | null;
}

/**
 * Creates a key in the administrator's organization, with its audit row.
 * @throws Invalid naming the fields, NotAdministrator, Refusal `unavailable`
 */
export async function createApiKey(ctx: AdminContext, keyPrefix: string, input: NewApiKey): Promise<CreatedKey> {
  const parsed = newApiKey.safeParse(input);
  if (!parsed.success) throw new Invalid(fieldErrors(parsed.error));
  const { name, scopes, expires, limit } = parsed.data;
  const actor = { organizationId: ctx.organizationId, actorId: ctx.actorId };

  const organization = await atD1(ctx, () => findTimeZone.bind(ctx.db, actor).first<{ timeZone: string }>());
  if (!organization) throw new NotAdministrator();
  const expiresAt = expires === undefined ? null : expiryInstant(expires, organization.timeZone);
  if (expiresAt !== null && expiresAt <= ctx.now()) {
    throw new Invalid([
      { pointer: '/expires', code: 'out_of_range', detail: `expires was ${expires}, which has passed; choose a later date` },
    ]);
  }

  const value = generateKey(keyPrefix);
  const key = {
    id: timeOrderedId(ctx.now()),
    hint: keyHint(value),
    hash: await hashKey(value),
    name,
    scopes: formatScopes(scopes),
    expiresAt,
  };
  const limits = { limitQuota: limit?.quota ?? null, limitWindowMs: limit?.windowMs ?? null };
  const changed = await changeAudited(ctx, 'api_key.created', key.id, (now) =>
    insertKey.bind(ctx.db, { ...actor, ...key, ...limits, now }),
  );
  if (!changed) throw new NotAdministrator();
  return { id: key.id, value, hint: key.hint, expiresAt };
}

/**
 * Revokes a key of the administrator's organization, with its audit row. Once this has returned, no write with the key is committed any
 * more. Revoking again is harmless and changes nothing.
 * @throws NotAdministrator, Refusal `unavailable`
 */
export async function revokeApiKey(ctx: AdminContext, keyId: string): Promise<'revoked' | 'already_revoked' | 'not_found'> {
  const { organizationId, actorId } = ctx;
  const changed = await changeAudited(ctx, 'api_key.revoked', keyId, (now) =>
    markRevoked.bind(ctx.db, { organizationId, actorId, keyId, now }),
  );
  if (changed) return 'revoked';
  const key = await atD1(ctx, () => findRevocation.bind(ctx.db, { organizationId, keyId }).first<{ revokedAt: number | null }>());
  if (!key) return 'not_found';
  if (key.revokedAt === null) throw new NotAdministrator();
  return 'already_revoked';
}

/** Sends a change and its audit row as one transaction; whether it changed anything. */
async function changeAudited(
  ctx: AdminContext,
  action: string,
  targetId: string,
  change: (now: number) => D1PreparedStatement,
): Promise<boolean> {
  const { organizationId, actorId, requestId, source } = ctx;
  const results = await atD1(ctx, () => {
    const now = ctx.now();
    const audit = { organizationId, actorId, now, action, targetId, requestId, sourceAddress: source.address, userAgent: source.userAgent };
    return ctx.db.batch([change(now), auditUserAction.bind(ctx.db, audit)]);
  });
  return results[0]?.meta.changes === 1;
}

function atD1<T>(ctx: AdminContext, run: () => Promise<T>): Promise<T> {
  return callD1(run, ctx.deadlineAt).catch((err: unknown) => {
    throw unavailable(err);
  });
}
