import { changeKey, explainChange } from '../../db/keys/change-key.ts';
import { invalidInput, ServiceError } from '../../domain/errors.ts';
import { type KeyChanges, keyChanges } from '../../domain/key-input.ts';
import { formatPolicy, type RateLimitPolicy } from '../../domain/rate-limit.ts';
import { byAdministrator, hasChanged, writeWithAudit } from '../audit/write-with-audit.ts';
import { callD1 } from '../call-d1.ts';
import type { ActorContext, AdminActor } from '../context.ts';
import { notAdministrator } from '../directory/administrators.ts';
import { parseInput } from '../parse-input.ts';
import { NAME_TAKEN } from './create-key.ts';
import type { KeyDetails } from './read-keys.ts';
import { keyNotLive } from './rotate-key.ts';

/** What can be changed of a key. */
export type ChangeableKey = Pick<KeyDetails, 'id' | 'name' | 'limit'>;

/**
 * Renames a live key or changes its own limit (none: the deployment's applies). `old` is the key as
 * the administrator saw it: a change that another administrator has made since then is not
 * overwritten.
 * @throws ServiceError `invalid`, `key_not_live`, `key_changed_meanwhile`, `not_administrator`,
 *   `unavailable`
 */
export async function changeApiKey(
  ctx: ActorContext<AdminActor>,
  old: ChangeableKey,
  input: KeyChanges,
): Promise<'changed' | 'unchanged'> {
  const { name, limit = null } = parseInput(keyChanges, input);
  const describe = (policy: RateLimitPolicy | null) => (policy ? formatPolicy(policy) : 'default');
  const details = [
    ...(name === old.name ? [] : [`name ${JSON.stringify(old.name)} to ${JSON.stringify(name)}`]),
    ...(describe(limit) === describe(old.limit) ? [] : [`limit ${describe(old.limit)} to ${describe(limit)}`]),
  ];
  if (details.length === 0) return 'unchanged';

  const limitQuota = limit?.quota ?? null;
  const limitWindowMs = limit?.windowMs ?? null;
  const values = {
    ...ctx.actor,
    keyId: old.id,
    name,
    limitQuota,
    limitWindowMs,
    oldName: old.name,
    oldLimitQuota: old.limit?.quota ?? null,
    oldLimitWindowMs: old.limit?.windowMs ?? null,
  };
  const [changed] = await writeWithAudit(ctx, byAdministrator(ctx), 'may_have_written', (now) => [
    {
      statement: changeKey.bind({ ...values, now }),
      action: 'api_key.changed',
      targetId: old.id,
      detail: details.join(', '),
    },
  ]);
  if (hasChanged(changed)) return 'changed';

  const found = await callD1(ctx, 'may_have_written', (db) =>
    explainChange.bind({ ...ctx.actor, keyId: old.id, name, now: ctx.now() }).first(db),
  );
  if (!found?.administrator) throw notAdministrator();
  if (found.live === null) throw keyNotLive();
  if (found.named !== null && found.named !== old.id) throw invalidInput([NAME_TAKEN]);
  // All equal: the change was committed but the acknowledgement was lost, or another administrator
  // made the same change.
  if (found.name === name && found.limitQuota === limitQuota && found.limitWindowMs === limitWindowMs) return 'changed';
  throw new ServiceError('key_changed_meanwhile', 'Another administrator changed the key; nothing was saved.');
}
