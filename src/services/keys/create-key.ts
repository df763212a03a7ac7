import { explainNewKey, insertKey } from '../../db/keys/create-key-statements.ts';
import { generateKey, hashKey, keyHint } from '../../domain/api-key.ts';
import { dateIn } from '../../domain/calendar.ts';
import { invalidInput, ServiceError } from '../../domain/errors.ts';
import type { FieldError } from '../../domain/fields.ts';
import { expiryInstant, lastExpiry, MAX_EXPIRY_YEARS, MAX_LIVE_KEYS, newApiKey } from '../../domain/key-input.ts';
import { lifetimeDays, type NewKeyLifetime } from '../../domain/key-rules.ts';
import type { SettingsInput } from '../../domain/key-settings.ts';
import { timeOrderedId } from '../../domain/record-id.ts';
import { formatScopes } from '../../domain/scopes.ts';
import { byAdministrator, hasChanged, writeWithAudit } from '../audit/write-with-audit.ts';
import { readOne } from '../call-d1.ts';
import { notAdministrator } from '../directory/administrators.ts';
import { parseInput } from '../parse-input.ts';
import type { ActorContext, AdminActor } from '../service-context.ts';
import { readRulesAndTimeZone, requireAdmitted, requireAdmittedByRow } from './change-key-rules.ts';

/** A key as it is shown once. `value` is not stored. */
export interface CreatedKey {
  id: string;
  name: string;
  value: string;
  hint: string;
  /** UTC milliseconds, or null for never. */
  expiresAt: number | null;
}

/** A new key before validation. */
export interface NewKeyInput extends SettingsInput {
  scopes: unknown;
  expires?: unknown;
}

/** The error for a name that another current key has. */
export const NAME_TAKEN: FieldError = {
  pointer: '/name',
  code: 'taken',
  detail: 'name is used by another key; choose one that names the workflow of this key, or revoke the other key first',
};

/**
 * Creates a key in the administrator's organization. A `formToken` creates at most one key.
 * @throws ServiceError `invalid`, `form_already_used`, `not_administrator`
 */
export async function createApiKey(
  ctx: ActorContext<AdminActor>,
  keyPrefix: string,
  input: NewKeyInput,
  formToken?: string,
): Promise<CreatedKey> {
  const { scopes, expires, ...settings } = parseInput(newApiKey, input);
  const { value, lifetime, ...key } = await makeKey(ctx, keyPrefix, expires);
  const { name } = settings;
  const values = {
    ...ctx.actor,
    ...key,
    ...settings,
    scopes: formatScopes(scopes),
    formToken: formToken ?? null,
    lifetimeDays: lifetime.days,
  };
  const [created] = await writeWithAudit(ctx, byAdministrator(ctx), 'may_have_written', (now) => [
    { statement: insertKey.bind({ ...values, now }), action: 'api_key.created', targetId: key.id, detail: name },
  ]);
  if (!hasChanged(created)) await requireCreated(ctx, { id: key.id, name, formToken: values.formToken }, lifetime);
  return { id: key.id, name, value, hint: key.hint, expiresAt: key.expiresAt };
}

/** Throws the reason why a key was not inserted, unless only the acknowledgement was lost. */
async function requireCreated(
  ctx: ActorContext<AdminActor>,
  key: { id: string; name: string; formToken: string | null },
  lifetime: NewKeyLifetime,
): Promise<void> {
  const found = await readOne(ctx, explainNewKey.bind({ ...ctx.actor, ...key }), 'may_have_written');
  if (!found?.administrator) throw notAdministrator();
  if (found.own !== null) return;
  if (found.createdByForm !== null) throw formAlreadyUsed(found.createdByForm);
  if (found.named !== null) throw invalidInput([NAME_TAKEN]);
  requireAdmittedByRow(found, lifetime);
  const detail = `the organization has ${MAX_LIVE_KEYS} live keys, which is the limit; revoke one that is no longer needed`;
  throw invalidInput([{ pointer: '', code: 'too_many', detail }]);
}

/** The form already created a key: a double click, or a page that was sent again. */
export function formAlreadyUsed(keyId: string): ServiceError {
  return new ServiceError('form_already_used', `The form already created key ${keyId}.`, { keyId });
}

/**
 * A new key value with its stored values, and its lifetime. The expiry uses the organization's time
 * zone. The key rules are checked again by the insert.
 * @throws ServiceError `invalid`, `not_administrator`
 */
export async function makeKey(ctx: ActorContext<AdminActor>, keyPrefix: string, expires: string | undefined) {
  const { timeZone, rules } = await readRulesAndTimeZone(ctx);
  const expiresAt = expires === undefined ? null : expiryInstant(expires, timeZone);
  const refuse = (code: string, why: string) =>
    invalidInput([{ pointer: '/expires', code, detail: `expires was ${expires}, which ${why}` }]);
  if (expiresAt !== null && expiresAt <= ctx.now()) throw refuse('out_of_range', 'has passed; choose a later date');
  if (expiresAt !== null && expiresAt > lastExpiry(timeZone, ctx.now())) {
    const rule = `is more than ${MAX_EXPIRY_YEARS} years from now`;
    throw refuse('too_late', `${rule}; choose an earlier date, or leave it out for a key that never expires`);
  }
  const days = expiresAt === null ? null : lifetimeDays(expiresAt, timeZone, ctx.now());
  const lifetime: NewKeyLifetime = { expires, days, today: dateIn(timeZone, ctx.now()) };
  requireAdmitted(rules, lifetime);
  const value = generateKey(keyPrefix);
  return { id: timeOrderedId(ctx.now()), value, lifetime, hint: keyHint(value), hash: await hashKey(value), expiresAt };
}
