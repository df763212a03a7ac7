import { changeKey, explainChange } from '../../db/keys/change-key.ts';
import type { OwnDayLimit } from '../../domain/day-limit.ts';
import { invalidInput, ServiceError } from '../../domain/errors.ts';
import { type KeyChanges, keyChanges, ownDayLimit } from '../../domain/key-input.ts';
import { formatRequestLimit, type RequestLimit } from '../../domain/request-limit.ts';
import { byAdministrator, hasChanged, writeWithAudit } from '../audit/write-with-audit.ts';
import { readOne } from '../call-d1.ts';
import type { ActorContext, AdminActor } from '../context.ts';
import { notAdministrator } from '../directory/administrators.ts';
import { parseInput } from '../parse-input.ts';
import { NAME_TAKEN } from './create-key.ts';
import type { KeyDetails } from './read-keys.ts';
import { keyNotLive } from './rotate-key.ts';

/** What can be changed of a key. */
export type ChangeableKey = Pick<
  KeyDetails,
  'id' | 'name' | 'limit' | 'dayLimit' | 'allowedNetworks' | 'description' | 'owner'
>;

const describeLimit = (limit: RequestLimit | null) => (limit ? formatRequestLimit(limit) : 'default');

function describeDayLimit({ records, minutes }: OwnDayLimit): string {
  const parts = [
    ...(records === null ? [] : [`${records} ${records === 1 ? 'record' : 'records'}`]),
    ...(minutes === null ? [] : [`${minutes} ${minutes === 1 ? 'minute' : 'minutes'}`]),
  ];
  return parts.join(' and ') || 'default';
}

/**
 * Renames a live key or changes its own limits (none: the deployment's apply). `old` is the key as
 * the administrator saw it: a change that another administrator has made since then is not
 * overwritten.
 * @throws ServiceError `invalid`, `key_not_live`, `key_changed_meanwhile`, `not_administrator`
 */
export async function changeApiKey(
  ctx: ActorContext<AdminActor>,
  old: ChangeableKey,
  input: KeyChanges,
): Promise<'changed' | 'unchanged'> {
  const parsed = parseInput(keyChanges, input);
  const { name, limit = null, networks: allowedNetworks, description, owner } = parsed;
  const dayLimit = ownDayLimit(parsed);
  const details = (
    [
      ['name', JSON.stringify(old.name), JSON.stringify(name)],
      ['limit', describeLimit(old.limit), describeLimit(limit)],
      ['daily limit', describeDayLimit(old.dayLimit), describeDayLimit(dayLimit)],
      ['description', JSON.stringify(old.description), JSON.stringify(description)],
      ['owner', JSON.stringify(old.owner), JSON.stringify(owner)],
      ['allowed networks', old.allowedNetworks || 'any', allowedNetworks || 'any'],
    ] as const
  ).flatMap(([what, from, to]) => (from === to ? [] : [`${what} ${from} to ${to}`]));
  if (details.length === 0) return 'unchanged';

  const changed = {
    name,
    limitQuota: limit?.quota ?? null,
    limitWindowMs: limit?.windowMs ?? null,
    dayLimitRecords: dayLimit.records,
    dayLimitMinutes: dayLimit.minutes,
    allowedNetworks,
    description,
    owner,
  };
  const values = {
    ...ctx.actor,
    ...changed,
    keyId: old.id,
    oldName: old.name,
    oldLimitQuota: old.limit?.quota ?? null,
    oldLimitWindowMs: old.limit?.windowMs ?? null,
    oldDayLimitRecords: old.dayLimit.records,
    oldDayLimitMinutes: old.dayLimit.minutes,
    oldAllowedNetworks: old.allowedNetworks,
    oldDescription: old.description,
    oldOwner: old.owner,
  };
  const [result] = await writeWithAudit(ctx, byAdministrator(ctx), 'may_have_written', (now) => [
    {
      statement: changeKey.bind({ ...values, now }),
      action: 'api_key.changed',
      targetId: old.id,
      detail: details.join(', '),
    },
  ]);
  if (hasChanged(result)) return 'changed';

  const found = await readOne(
    ctx,
    explainChange.bind({ ...ctx.actor, keyId: old.id, name, now: ctx.now() }),
    'may_have_written',
  );
  if (!found?.administrator) throw notAdministrator();
  if (found.live === null) throw keyNotLive();
  if (found.named !== null && found.named !== old.id) throw invalidInput([NAME_TAKEN]);
  // All equal: the change was committed but the acknowledgement was lost, or another administrator
  // made the same change.
  const isSame =
    found.name === changed.name &&
    found.limitQuota === changed.limitQuota &&
    found.limitWindowMs === changed.limitWindowMs &&
    found.dayLimitRecords === changed.dayLimitRecords &&
    found.dayLimitMinutes === changed.dayLimitMinutes &&
    found.allowedNetworks === changed.allowedNetworks &&
    found.description === changed.description &&
    found.owner === changed.owner;
  if (isSame) return 'changed';
  throw new ServiceError('key_changed_meanwhile', 'Another administrator changed the key; nothing was saved.');
}
