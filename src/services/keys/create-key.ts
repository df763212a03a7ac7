import { explainKey, insertKey, insertReplacement, revokeExpired } from '../../db/keys/key-statements.ts';
import { generateKey, hashKey, keyHint } from '../../domain/api-key.ts';
import { dateIn } from '../../domain/calendar.ts';
import { errorOf, invalidInput, ServiceError } from '../../domain/errors.ts';
import { type FieldError, fieldErrors } from '../../domain/fields.ts';
import { expiryInstant, lastExpiry, MAX_EXPIRY_YEARS, MAX_LIVE_KEYS, newApiKey } from '../../domain/key-input.ts';
import { brokenRule, lifetimeDays, type NewKeyLifetime } from '../../domain/key-rules.ts';
import { type SettingsInput, settingInputs } from '../../domain/key-settings.ts';
import { timeOrderedId } from '../../domain/record-id.ts';
import { formatScopes, type Scope } from '../../domain/record-kinds.ts';
import { pick } from '../../lib/objects.ts';
import { type AuditedChange, byAdministrator, hasChanged, writeWithAudit } from '../audit/write-with-audit.ts';
import { query } from '../call-d1.ts';
import { unknownCompanies } from '../directory/companies.ts';
import type { AdminContext } from '../service-context.ts';
import { getKeyRules, requireAdmittedByRow } from './change-key-rules.ts';
import { getOwnKey, type KeyDetails } from './read-keys.ts';

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

interface NewKeyInput extends SettingsInput {
  scopes: unknown;
  expires?: unknown;
}

export const NAME_TAKEN: FieldError = {
  pointer: '/name',
  code: 'taken',
  detail: 'name is used by another key; choose one that names the workflow of this key, or revoke the other key first',
};

/** Whether a new key can replace this one, which no longer works, but still occupies its name. */
export const isReplaceable = ({ state, successor }: Pick<KeyDetails, 'state' | 'successor'>): boolean =>
  state === 'expired' && successor === null;

/**
 * Creates a key in the administrator's organization. A `formToken` creates at most one key. The expired key that it
 * `replaces` is revoked in the same transaction.
 * @throws ServiceError `invalid`, `form_already_used`, `not_administrator`
 */
export async function createApiKey(
  ctx: AdminContext,
  keyPrefix: string,
  input: NewKeyInput,
  formToken?: string,
  replaces?: Pick<KeyDetails, 'id' | 'hint'>,
): Promise<CreatedKey> {
  const { lifetime, scopes, expires: _, ...settings } = await requireValid(ctx, input, replaces?.id);
  const { value, ...key } = await makeKey(ctx, keyPrefix, lifetime);
  const { name, companies } = settings;
  const details = [name, companies && `companies ${companies}`, replaces && `replaces ${replaces.hint}`];
  const values = {
    ...ctx.actor,
    ...key,
    ...settings,
    scopes: formatScopes(scopes),
    formToken: formToken ?? null,
    lifetimeDays: lifetime.days,
  };
  const results = await writeWithAudit(ctx, byAdministrator(ctx), 'may_have_written', (db, now) => {
    const changes: AuditedChange<never>[] = [];
    if (replaces)
      changes.push({
        statement: revokeExpired(db, { ...values, keyId: replaces.id, now }),
        action: 'api_key.revoked',
        targetId: replaces.id,
        detail: `replaced by ${key.hint}`,
      });
    changes.push({
      statement: (replaces ? insertReplacement : insertKey)(db, { ...values, now }),
      action: 'api_key.created',
      targetId: key.id,
      detail: details.filter(Boolean).join(', '),
    });
    return changes;
  });
  const asked = { keyId: key.id, name, formToken: values.formToken };
  if (!hasChanged(results.at(-1))) await requireCreated(ctx, asked, lifetime, replaces?.id);
  const { id, hint, expiresAt } = key;
  return { id, name, value, hint, expiresAt, scopes, ...pick(settings, ['allowedNetworks', 'companies']) };
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
  key: { keyId: string; name: string; formToken: string | null },
  lifetime: NewKeyLifetime,
  replacedId: string | undefined,
): Promise<void> {
  const asked = { ...ctx.actor, ...key, now: ctx.now() };
  const [found] = await query(ctx, 'may_have_written', (db) => explainKey(db, asked));
  if (!found?.administrator) throw errorOf('not_administrator');
  if (found.found !== null) return;
  if (found.createdByForm !== null) throw formAlreadyUsed(found.createdByForm);
  if (found.named !== null && found.named !== replacedId) throw invalidInput([NAME_TAKEN]);
  requireAdmittedByRow(found, lifetime);
  if (replacedId !== undefined && !isReplaceable(await getOwnKey(ctx, replacedId))) {
    const why = 'another administrator has revoked the expired key; send the form again to create this one';
    throw invalidInput([{ pointer: '', code: 'replaced_meanwhile', detail: why }]);
  }
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
