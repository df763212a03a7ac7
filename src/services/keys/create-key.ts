import { endRepairedUses } from '../../db/keys/end-refused-uses.ts';
import { explainKey, insertKey, insertReplacement, markReplaced } from '../../db/keys/key-statements.ts';
import { generateKey, hashKey, keyHint } from '../../domain/api-key.ts';
import { dateIn } from '../../domain/calendar.ts';
import { errorOf, invalidInput, ServiceError } from '../../domain/errors.ts';
import { type FieldError, fieldErrors } from '../../domain/fields.ts';
import {
  expiryInstant,
  lastExpiry,
  MAX_EXPIRY_YEARS,
  MAX_KEYS_IN_GRACE,
  MAX_LIVE_KEYS,
  newApiKey,
} from '../../domain/key-input.ts';
import { brokenRule, lifetimeDays, type NewKeyLifetime } from '../../domain/key-rules.ts';
import { type SettingsInput, settingInputs } from '../../domain/key-settings.ts';
import { timeOrderedId } from '../../domain/record-id.ts';
import { formatScopes, type Scope } from '../../domain/record-kinds.ts';
import { pick } from '../../lib/objects.ts';
import { byAdministrator, hasChanged, writeWithAudit } from '../audit/write-with-audit.ts';
import { query } from '../call-d1.ts';
import { unknownCompanies } from '../directory/companies.ts';
import type { AdminContext } from '../service-context.ts';
import { getKeyRules, requireAdmittedByRow } from './change-key-rules.ts';
import { getOwnKey, type KeyDetails } from './read-keys.ts';
import { readUsesOfKey } from './refused-uses.ts';
import { succeeded, succession, tooManyInGrace } from './succession.ts';

/** A key as it is shown once. `value` is not stored. */
export interface CreatedKey {
  id: string;
  name: string;
  value: string;
  hint: string;
  expiresAt: number | null;
  scopes: readonly Scope[];
  /** As they are stored. */
  allowedNetworks: string;
  companies: string;
}

/** A new key that takes the place of another. */
export interface ReplacingKey extends CreatedKey {
  /** The other key as the write left it: not read again, because a failed read would lose the new value. */
  replaced: KeyDetails;
}

interface NewKeyInput extends SettingsInput {
  scopes: unknown;
  expires?: unknown;
  grace?: unknown;
}

export const NAME_TAKEN: FieldError = {
  pointer: '/name',
  code: 'taken',
  detail: 'name is used by another key; choose one that names the workflow of this key, or rotate the other key',
};

/** Creates a key in the administrator's organization. @throws ServiceError `invalid`, `form_already_used`, `not_administrator` */
export async function createApiKey(
  ctx: AdminContext,
  keyPrefix: string,
  input: NewKeyInput,
  formToken: string | null = null,
): Promise<CreatedKey> {
  const { values, created, lifetime, detail } = await prepareKey(ctx, keyPrefix, input, formToken);
  const { id: targetId } = created;
  const [inserted] = await writeWithAudit(ctx, byAdministrator(ctx), 'may_have_written', (db, now) => [
    { statement: insertKey(db, { ...values, now }), action: 'api_key.created', targetId, detail },
  ]);
  if (!hasChanged(inserted)) await requireCreated(ctx, values, lifetime);
  return created;
}

/**
 * Creates the successor of a key that has none, with its own scopes and settings. If the old key works, it ends after the
 * grace period, as in a rotation. Its refused uses that the new key repairs are over. `revision` is that of the old key as
 * the administrator saw it: the new key does not undo a change that another administrator has made since then.
 * @throws ServiceError `invalid`, `form_already_used`, `key_already_rotated`, `key_changed_meanwhile`, `not_administrator`
 */
export async function replaceApiKey(
  ctx: AdminContext,
  keyPrefix: string,
  old: KeyDetails,
  input: NewKeyInput,
  formToken: string,
  revision = old.revision,
): Promise<ReplacingKey> {
  const { values, grace, created, lifetime, detail } = await prepareKey(ctx, keyPrefix, input, formToken, old);
  const { organizationId } = ctx.actor;
  const uses = await usesRepairedBy(ctx, old, created.scopes);
  let replaced = old;
  const [marked] = await writeWithAudit(ctx, byAdministrator(ctx), 'may_have_written', (db, now) => {
    const left = succeeded(old, grace, now);
    replaced = left.replaced;
    const isRevoked = replaced.state === 'revoked' && old.state !== 'revoked';
    return succession(ctx, db, {
      old,
      successor: created,
      mark: markReplaced(db, { ...values, keyId: old.id, revision, now, endsAt: left.endsAt }),
      insert: insertReplacement(db, { ...values, now }),
      detail,
      completion: endRepairedUses(db, { organizationId, keyId: old.id, uses, now }),
      isRevoked,
      now,
    });
  });
  if (!hasChanged(marked)) await requireCreated(ctx, values, lifetime, { ...old, revision }, grace !== 'now');
  return { ...created, replaced };
}

/** The refused uses of a key, as JSON, that end with a new key in its place: it works, or has the scope that was missing. */
async function usesRepairedBy(ctx: AdminContext, old: KeyDetails, scopes: readonly Scope[]): Promise<string> {
  const isWider = scopes.some((scope) => !old.scopes.includes(scope));
  const repaired: string[] = ['expired', 'revoked', ...(isWider ? ['scope_missing'] : [])];
  return JSON.stringify((await readUsesOfKey(ctx, old.id)).filter(({ reason }) => repaired.includes(reason)));
}

/** A valid new key: its row without its time, and what its administrator sees. */
async function prepareKey(
  ctx: AdminContext,
  keyPrefix: string,
  input: NewKeyInput,
  formToken: string | null,
  replaces?: KeyDetails,
) {
  const { lifetime, scopes, grace, expires: _, ...settings } = await requireValid(ctx, input, replaces?.id);
  const { value, ...key } = await makeKey(ctx, keyPrefix, lifetime);
  const { name, companies } = settings;
  const details = [name, companies && `companies ${companies}`, replaces && `replaces ${replaces.hint}`];
  const { id, hint, expiresAt } = key;
  return {
    values: {
      ...ctx.actor,
      ...key,
      ...settings,
      scopes: formatScopes(scopes),
      formToken,
      lifetimeDays: lifetime.days,
    },
    grace,
    created: { id, name, value, hint, expiresAt, scopes, ...pick(settings, ['allowedNetworks', 'companies']) },
    lifetime,
    detail: details.filter(Boolean).join(', '),
  };
}

/**
 * Checks everything about a new key in one pass, so that an administrator sees all errors together. The insert checks the
 * name and the key rules again.
 */
async function requireValid(ctx: AdminContext, input: NewKeyInput, replacedId: string | undefined) {
  const parsed = newApiKey.safeParse(input);
  const errors = parsed.success ? [] : fieldErrors(parsed.error);
  const expires = typeof input.expires === 'string' ? input.expires : undefined;
  const isDated = !errors.some(({ pointer }) => pointer === '/expires');
  const { error, ...lifetime } = await readLifetime(ctx, isDated ? expires : undefined);
  if (isDated && error) errors.push(error);
  errors.push(...(await unknownCompanies(ctx, input.companies)));
  if (parsed.success && errors.length === 0) return { ...parsed.data, lifetime };
  throw invalidInput([...errors, ...(await takenName(ctx, input.name, replacedId))]);
}

/** The error of a name that another current key has, to report with those of other fields. */
export async function takenName(ctx: AdminContext, input: unknown, ownId = ''): Promise<FieldError[]> {
  const { data: name } = settingInputs.name.safeParse(input);
  if (name === undefined) return [];
  const asked = { ...ctx.actor, keyId: ownId, name, formToken: null, now: ctx.now() };
  const [found] = await query(ctx, 'nothing_written', (db) => explainKey(db, asked));
  return found && found.named !== null && found.named !== ownId ? [NAME_TAKEN] : [];
}

/** Throws the reason why a key was not inserted, unless only the acknowledgement was lost. */
async function requireCreated(
  ctx: AdminContext,
  { id: keyId, name, formToken }: { id: string; name: string; formToken: string | null },
  lifetime: NewKeyLifetime,
  replaces?: KeyDetails,
  hasGrace = false,
): Promise<void> {
  const asked = { ...ctx.actor, keyId, name, formToken, now: ctx.now() };
  const [found] = await query(ctx, 'may_have_written', (db) => explainKey(db, asked));
  if (!found?.administrator) throw errorOf('not_administrator');
  if (found.found !== null) return;
  if (found.createdByForm !== null) throw formAlreadyUsed(found.createdByForm);
  const current = replaces && (await getOwnKey(ctx, replaces.id));
  if (current?.successor) throw errorOf('key_already_rotated', { keyId: current.successor.id });
  if (current?.revision !== replaces?.revision) throw errorOf('key_changed_meanwhile');
  if (found.named !== null && found.named !== replaces?.id) throw invalidInput([NAME_TAKEN]);
  requireAdmittedByRow(found, lifetime);
  if (hasGrace && found.keysInGrace >= MAX_KEYS_IN_GRACE) throw tooManyInGrace();
  const detail = `the organization has ${MAX_LIVE_KEYS} live keys, which is the limit; revoke one that is no longer needed`;
  throw invalidInput([{ pointer: '', code: 'too_many', detail }]);
}

/** The form already created a key: a double click, or a page that was sent again. */
export function formAlreadyUsed(keyId: string): ServiceError {
  return new ServiceError('form_already_used', `The form already created key ${keyId}.`, { keyId });
}

/** The lifetime of a new key, and when it expires (UTC milliseconds, or null for never). */
interface Lifetime extends NewKeyLifetime {
  expiresAt: number | null;
}

/**
 * The lifetime that `expires` asks for, in the organization's time zone, and why it is refused if it is. The insert
 * checks the key rules again.
 * @throws ServiceError `not_administrator`
 */
export async function readLifetime(
  ctx: AdminContext,
  expires: string | undefined,
): Promise<Lifetime & { error?: FieldError | undefined }> {
  const { timeZone, ...rules } = await getKeyRules(ctx);
  const now = ctx.now();
  const today = dateIn(timeZone, now);
  if (expires === undefined) {
    const lifetime = { expires, expiresAt: null, days: null, today };
    return { ...lifetime, error: brokenRule(rules, lifetime) };
  }
  const expiresAt = expiryInstant(expires, timeZone);
  const lifetime = { expires, expiresAt, days: lifetimeDays(expiresAt, timeZone, now), today };
  const refuse = (code: string, why: string) => ({
    ...lifetime,
    error: { pointer: '/expires', code, detail: `expires was ${expires}, which ${why}` },
  });
  if (expiresAt <= now) return refuse('out_of_range', 'has passed; choose a later date');
  if (expiresAt > lastExpiry(timeZone, now)) {
    const rule = `is more than ${MAX_EXPIRY_YEARS} years from now`;
    return refuse('too_late', `${rule}; choose an earlier date, or leave it out for a key that never expires`);
  }
  return { ...lifetime, error: brokenRule(rules, lifetime) };
}

export async function makeKey(ctx: AdminContext, keyPrefix: string, { expiresAt }: Lifetime) {
  const value = generateKey(keyPrefix);
  return { id: timeOrderedId(ctx.now()), value, hint: keyHint(value), hash: await hashKey(value), expiresAt };
}
