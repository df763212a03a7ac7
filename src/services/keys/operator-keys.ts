import { auditSystemAction } from '../../db/audit/audit-row.ts';
import { callD1 } from '../../db/client.ts';
import { findAnyKeyByHash, findAnyKeyById, findAnyKeysByHint, type OperatorKeyRow } from '../../db/keys/key-details.ts';
import { findRevocation, markRevokedByOperator } from '../../db/keys/key-changes.ts';
import { hashKey, isLive, type KeyState, keyState, parseKeyReference } from '../../domain/api-key.ts';
import { Declined } from '../../domain/declined.ts';
import { directoryId } from '../../domain/directory.ts';
import { freeText, record } from '../../domain/fields.ts';
import { recordId } from '../../domain/record-id.ts';
import type { SystemContext } from '../context.ts';
import type { KeyLink } from './read-keys.ts';
import { repeatable } from '../repeatable.ts';
import { validated } from '../parse-input.ts';

/** A key as an operator is shown it, of whatever organization. */
export interface OperatorKey {
  organizationId: string;
  organization: string;
  id: string;
  name: string;
  hint: string;
  state: KeyState;
  /** The other keys of its rotations that are still answered: its successor, and the key it replaced itself. */
  liveRelatives: (KeyLink & { how: 'replaces it' | 'it replaces' })[];
}

/**
 * The keys that a pasted text names, in all organizations: one at most for a whole value, which is hashed at once, and seldom more for a
 * hint. `neither` is a text that is none of these.
 * @throws Refusal `unavailable`
 */
export async function findKeys(ctx: SystemContext, pasted: string): Promise<OperatorKey[] | 'neither'> {
  const reference = parseKeyReference(pasted);
  if (!reference) return 'neither';
  const statement =
    'value' in reference
      ? findAnyKeyByHash.bind(ctx.db, { hash: await hashKey(reference.value) })
      : findAnyKeysByHint.bind(ctx.db, { hint: reference.hint });
  return read(ctx, statement);
}

const keyRequest = record({ organization: directoryId('an organization'), key: recordId('the key') });

/**
 * The key with this id in this organization.
 * @throws Invalid naming the argument, Declined `key_not_found`, Refusal `unavailable`
 */
export async function findKeyById(ctx: SystemContext, request: { organization: string; key: string }): Promise<OperatorKey> {
  const { organization: organizationId, key: keyId } = validated(keyRequest, request);
  const [found] = await read(ctx, findAnyKeyById.bind(ctx.db, { organizationId, keyId }));
  if (!found) throw new Declined('key_not_found', `Organization ${organizationId} has no key ${keyId}.`);
  return found;
}

const revokeRequest = record({ organization: directoryId('an organization'), key: recordId('the key'), by: freeText(100) });

/**
 * Revokes a key for an operator, who says `by` whom, with its audit row. Once this has returned, no write with the key is committed any
 * more. Revoking again changes nothing. Returns when the key was revoked, in UTC milliseconds.
 * @throws Invalid naming the argument, Declined `key_not_found`, Refusal `unavailable`
 */
export async function revokeKey(
  ctx: SystemContext,
  request: { organization: string; key: string; by: string },
): Promise<{ status: 'revoked' | 'already_revoked'; revokedAt: number }> {
  const { organization: organizationId, key: keyId, by } = validated(revokeRequest, request);
  const [revoked, , found] = await atD1(ctx, () => {
    const now = ctx.now();
    const audit = { action: 'api_key.revoked', targetId: keyId, requestId: ctx.requestId, sourceAddress: null, userAgent: ctx.system };
    return ctx.db.batch<{ revokedAt: number }>([
      // No user has an id like that, so that it is never taken for one.
      markRevokedByOperator.bind(ctx.db, { organizationId, keyId, now, by: `${ctx.system} (${by})` }),
      auditSystemAction.api_key.bind(ctx.db, { ...audit, organizationId, actorId: ctx.system, actorName: by, now }),
      findRevocation.bind(ctx.db, { organizationId, keyId }),
    ]);
  });
  const key = found?.results[0];
  if (!key) throw new Declined('key_not_found', `Organization ${organizationId} has no key ${keyId}.`);
  return { status: revoked?.meta.changes === 1 ? 'revoked' : 'already_revoked', revokedAt: key.revokedAt };
}

async function read(ctx: SystemContext, statement: D1PreparedStatement): Promise<OperatorKey[]> {
  const { results } = await atD1(ctx, () => statement.all<OperatorKeyRow>());
  return results.map((row) => toOperatorKey(row, ctx.now()));
}

const atD1 = <T>(ctx: SystemContext, run: () => Promise<T>) => repeatable(() => callD1(ctx, run));

function toOperatorKey(row: OperatorKeyRow, now: number): OperatorKey {
  const { successorId, successorHint, successorExpiresAt, successorRevokedAt } = row;
  const { predecessorId, predecessorHint, predecessorExpiresAt, predecessorRevokedAt } = row;
  const relatives = [
    { id: successorId, hint: successorHint, expiresAt: successorExpiresAt, revokedAt: successorRevokedAt, how: 'replaces it' as const },
    {
      id: predecessorId,
      hint: predecessorHint,
      expiresAt: predecessorExpiresAt,
      revokedAt: predecessorRevokedAt,
      how: 'it replaces' as const,
    },
  ];
  return {
    organizationId: row.organizationId,
    organization: row.organization,
    id: row.id,
    name: row.name,
    hint: row.hint,
    state: keyState(row, now),
    liveRelatives: relatives.flatMap(({ id, hint, how, ...standing }) =>
      id !== null && hint !== null && isLive(keyState(standing, now)) ? [{ id, hint, how }] : [],
    ),
  };
}
