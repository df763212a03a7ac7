import { endRepairedUses } from '../../db/keys/end-refused-uses.ts';
import { changeKey, explainKey } from '../../db/keys/key-statements.ts';
import { errorOf, invalidInput } from '../../domain/errors.ts';
import { fieldErrors } from '../../domain/fields.ts';
import { keyChanges } from '../../domain/key-input.ts';
import { describeChanges, type KeySettings, type SettingsInput } from '../../domain/key-settings.ts';
import { allowsRefused } from '../../domain/refused-use.ts';
import { byAdministrator, hasChanged, writeWithAudit } from '../audit/write-with-audit.ts';
import { query } from '../call-d1.ts';
import { unknownCompanies } from '../directory/companies.ts';
import type { AdminContext } from '../service-context.ts';
import { NAME_TAKEN, takenName } from './create-key.ts';
import { lockoutOf, readRecentUse } from './key-usage.ts';
import { getOwnKey, type KeyDetails } from './read-keys.ts';
import { readUsesOfKey } from './refused-uses.ts';

/**
 * Replaces the settings of a live key (own limits that are left out: the deployment's apply). `revision` is that of the
 * key as the administrator saw it: a change that another administrator has made since then is not overwritten.
 * @throws ServiceError `invalid`, `key_not_live`, `key_changed_meanwhile`, `not_administrator`
 */
export async function changeApiKey(ctx: AdminContext, key: KeyDetails, input: SettingsInput, revision = key.revision) {
  const parsed = keyChanges.safeParse(input);
  const errors = [
    ...(parsed.success ? [] : fieldErrors(parsed.error)),
    ...(await unknownCompanies(ctx, input.companies)),
  ];
  if (!parsed.success || errors.length > 0)
    throw invalidInput([...errors, ...(await takenName(ctx, input.name, key.id))]);
  const settings = parsed.data;
  const details = describeChanges(key, settings);
  // The form was sent twice, or another administrator made the same change.
  if (details.length === 0) return revision === key.revision ? 'unchanged' : 'changed';
  if (revision !== key.revision) throw errorOf('key_changed_meanwhile');

  const { id: keyId } = key;
  const uses = await usesRepairedBy(ctx, keyId, settings);
  const [result] = await writeWithAudit(ctx, byAdministrator(ctx), 'may_have_written', (db, now) => [
    {
      statement: changeKey(db, { ...ctx.actor, ...settings, keyId, revision, now }),
      action: 'api_key.changed',
      targetId: keyId,
      detail: details.join(', '),
      completion: endRepairedUses(db, { organizationId: ctx.actor.organizationId, keyId, uses, now }),
    },
  ]);
  if (hasChanged(result)) return 'changed';

  const asked = { ...ctx.actor, keyId: key.id, name: settings.name, formToken: null, now: ctx.now() };
  const [found] = await query(ctx, 'may_have_written', (db) => explainKey(db, asked));
  if (!found?.administrator) throw errorOf('not_administrator');
  if (found.live === 0) throw errorOf('key_not_live');
  if (found.named !== null && found.named !== key.id) throw invalidInput([NAME_TAKEN]);
  // Equal: the change was committed but the acknowledgement was lost.
  if (describeChanges(await getOwnKey(ctx, key.id), settings).length === 0) return 'changed';
  throw errorOf('key_changed_meanwhile');
}

/** The refused uses of a key, as JSON, whose cause these settings remove: the limit, or every network or company that refused. */
async function usesRepairedBy(ctx: AdminContext, keyId: string, to: KeySettings): Promise<string> {
  const refused = await readUsesOfKey(ctx, keyId);
  return JSON.stringify(
    refused.filter((use) => [use, ...use.others].every((one) => allowsRefused(to, { ...use, ...one }))),
  );
}

/** The use of the last 30 days that a valid change would refuse. `today` is in the organization's time zone. */
export async function findLockout(ctx: AdminContext, key: KeyDetails, input: SettingsInput, today: string) {
  const { data } = keyChanges.safeParse(input);
  const names = ['allowedNetworks', 'dayLimitRecords', 'dayLimitMinutes'] as const;
  if (!data || names.every((name) => data[name] === key[name] || !data[name])) return undefined;
  return lockoutOf(key, data, await readRecentUse(ctx, key.id, today));
}
