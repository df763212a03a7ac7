import { type ExplainedKey, explainKey, insertSuccessor, markSucceeded } from '../../db/keys/key-statements.ts';
import { errorOf, invalidInput } from '../../domain/errors.ts';
import { MAX_KEYS_IN_GRACE, type Rotation, rotation } from '../../domain/key-input.ts';
import type { NewKeyLifetime } from '../../domain/key-rules.ts';
import { pick } from '../../lib/objects.ts';
import { byAdministrator, hasChanged, writeWithAudit } from '../audit/write-with-audit.ts';
import { query } from '../call-d1.ts';
import { parseInput } from '../parse-input.ts';
import type { AdminContext } from '../service-context.ts';
import { requireAdmittedByRow } from './change-key-rules.ts';
import { formAlreadyUsed, makeKey, type ReplacingKey, readLifetime } from './create-key.ts';
import { type KeyDetails, keyNotFound } from './read-keys.ts';
import { succeeded, succession, tooManyInGrace } from './succession.ts';

/**
 * Replaces a live key with a successor that has the same name, scopes and limits and its own expiry, which the key
 * rules have to admit. The old key works for the grace period, but never past its own expiry, or is revoked in the same
 * transaction.
 * @throws ServiceError `invalid`, `form_already_used`, `key_not_found`, `key_not_live`, `key_already_rotated`,
 *   `not_administrator`
 */
export async function rotateApiKey(
  ctx: AdminContext,
  keyPrefix: string,
  old: KeyDetails,
  input: Rotation,
  formToken: string,
): Promise<ReplacingKey> {
  const { actor } = ctx;
  const { expires, grace } = parseInput(rotation, input);
  const { error, ...lifetime } = await readLifetime(ctx, expires);
  if (error) throw invalidInput([error]);
  const { value, ...key } = await makeKey(ctx, keyPrefix, lifetime);
  const ids = { ...actor, keyId: old.id, id: key.id, formToken };
  let replaced = old;

  const [rotated] = await writeWithAudit(ctx, byAdministrator(ctx), 'may_have_written', (db, now) => {
    const left = succeeded(old, grace, now);
    replaced = left.replaced;
    return succession(ctx, db, {
      old,
      successor: key,
      mark: markSucceeded(db, { ...ids, now, endsAt: left.endsAt, lifetimeDays: lifetime.days }),
      insert: insertSuccessor(db, { ...actor, ...key, now, formToken }),
      detail: `${old.name}, replaces ${old.hint}`,
      isRevoked: grace === 'now',
      now,
    });
  });
  const { id, hint, expiresAt } = key;
  const successor = {
    ...pick(old, ['name', 'scopes', 'allowedNetworks', 'companies']),
    id,
    value,
    hint,
    expiresAt,
    replaced,
  };
  if (hasChanged(rotated)) return successor;

  const asked = { ...actor, keyId: old.id, name: old.name, formToken, now: ctx.now() };
  const [found] = await query(ctx, 'may_have_written', (db) => explainKey(db, asked));
  if (!found?.administrator) throw errorOf('not_administrator');
  // The batch was committed; only the acknowledgement was lost.
  if (found.successorId === key.id) return successor;
  if (found.found === null) throw keyNotFound(actor.organizationId, old.id);
  return refuseRotation(found, lifetime);
}

/** @throws ServiceError why a key that exists was not replaced */
function refuseRotation(found: ExplainedKey, lifetime: NewKeyLifetime): never {
  if (found.createdByForm !== null) throw formAlreadyUsed(found.createdByForm);
  if (found.successorId !== null) throw errorOf('key_already_rotated', { keyId: found.successorId });
  if (found.live === 1 && found.keysInGrace >= MAX_KEYS_IN_GRACE) throw tooManyInGrace();
  if (found.live === 1) requireAdmittedByRow(found, lifetime);
  throw errorOf('key_not_live');
}
