import {
  type ChangeExplanation,
  changeKey,
  explainChange,
  explainNewKey,
  explainRotation,
  findRevocation,
  findTimeZone,
  findUnrevoked,
  insertKey,
  insertSuccessor,
  markRevoked,
  markSucceeded,
  type NewKeyExplanation,
  type RotationExplanation,
  revokeSucceeded,
} from '../../db/keys/key-changes.ts';
import { formatScopes, generateKey, hashKey, keyHint } from '../../domain/api-key.ts';
import type { FieldError } from '../../domain/fields.ts';
import {
  expiryInstant,
  GRACE_MS,
  type KeyChanges,
  keyChanges,
  lastExpiry,
  MAX_EXPIRY_YEARS,
  MAX_LIVE_KEYS,
  type NewApiKey,
  newApiKey,
  type Rotation,
  rotation,
} from '../../domain/key-input.ts';
import { formatPolicy, type RateLimitPolicy } from '../../domain/rate-limit.ts';
import { timeOrderedId } from '../../domain/record-id.ts';
import { FormAlreadyUsed, Invalid, NotAdministrator } from '../../domain/errors.ts';
import { type AuditedChange, atD1, changeAudited } from '../audit/write-with-audit.ts';
import type { AdminContext } from '../context.ts';
import type { KeyDetails } from './read-keys.ts';
import { validated } from '../parse-input.ts';

/** A key as it is shown once: `value` is kept nowhere. */
export interface CreatedKey {
  id: string;
  name: string;
  value: string;
  hint: string;
  /** UTC milliseconds, or null for never. */
  expiresAt: number | null;
}

const NAME_TAKEN: FieldError = {
  pointer: '/name',
  code: 'taken',
  detail: 'name is in use by another key; choose one that says which workflow this key is for, or revoke the other key first',
};

/**
 * Creates a key in the administrator's organization, with its audit row. A `formToken` makes one key at most, however often it is sent.
 * @throws Invalid naming the fields, FormAlreadyUsed, NotAdministrator, Refusal `unavailable`
 */
export async function createApiKey(ctx: AdminContext, keyPrefix: string, input: NewApiKey, formToken?: string): Promise<CreatedKey> {
  const { name, scopes, expires, limit } = validated(newApiKey, input);
  const actor = actorOf(ctx);
  const { value, ...key } = await newKey(ctx, keyPrefix, expires);
  const token = formToken ?? null;

  const values = {
    ...actor,
    ...key,
    name,
    scopes: formatScopes(scopes),
    limitQuota: limit?.quota ?? null,
    limitWindowMs: limit?.windowMs ?? null,
    formToken: token,
  };
  const [created] = await changeAudited(ctx, (now) => [
    { statement: insertKey.bind(ctx.db, { ...values, now }), action: 'api_key.created', targetId: key.id, detail: name },
  ]);
  if (!created) await explain(ctx, { id: key.id, name, formToken: token });
  return { id: key.id, name, value, hint: key.hint, expiresAt: key.expiresAt };
}

/** Throws the reason why a key was not inserted; returns if it was, and only the acknowledgement of it was lost. */
async function explain(ctx: AdminContext, key: { id: string; name: string; formToken: string | null }): Promise<void> {
  const found = await atD1(ctx, () => explainNewKey.bind(ctx.db, { ...actorOf(ctx), ...key }).first<NewKeyExplanation>());
  if (!found?.administrator) throw new NotAdministrator();
  if (found.own !== null) return;
  if (found.madeByForm !== null) throw new FormAlreadyUsed(found.madeByForm);
  if (found.named !== null) throw new Invalid([NAME_TAKEN]);
  const detail = `the organization has ${MAX_LIVE_KEYS} live keys, as many as it may; revoke one that is not needed any more`;
  throw new Invalid([{ pointer: '', code: 'too_many', detail }]);
}

/** What came of a rotation: the successor, or why there is none. */
export type RotationResult =
  | { outcome: 'rotated'; key: CreatedKey }
  | { outcome: 'not_found' }
  | { outcome: 'not_live' }
  | { outcome: 'already_rotated'; successorId: string };

/**
 * Replaces a live key by a successor with the same name, scopes and limit, whose expiry is said anew. The old key goes on for the grace
 * period, but never past its own expiry, or is revoked in the same transaction.
 * @throws Invalid naming the fields, FormAlreadyUsed, NotAdministrator, Refusal `unavailable`
 */
export async function rotateApiKey(
  ctx: AdminContext,
  keyPrefix: string,
  old: KeyDetails,
  input: Rotation,
  formToken: string,
): Promise<RotationResult> {
  const { expires, grace } = validated(rotation, input);
  const actor = actorOf(ctx);
  const { value, ...key } = await newKey(ctx, keyPrefix, expires);

  const [rotated] = await changeAudited(ctx, (now) => {
    const endsAt = now + (grace === 'now' ? 0 : GRACE_MS[grace]);
    const succeeded = markSucceeded.bind(ctx.db, { ...actor, keyId: old.id, id: key.id, now, endsAt, formToken });
    const successor = insertSuccessor.bind(ctx.db, { ...actor, ...key, now, formToken });
    return [
      { statement: succeeded, action: 'api_key.rotated', targetId: old.id, detail: `replaced by ${key.hint}` },
      { statement: successor, action: 'api_key.created', targetId: key.id, detail: `${old.name}, replaces ${old.hint}` },
      ...(grace === 'now'
        ? [{ statement: revokeSucceeded.bind(ctx.db, { ...actor, id: key.id, now }), action: 'api_key.revoked', targetId: old.id }]
        : []),
    ];
  });
  const successor = { id: key.id, name: old.name, value, hint: key.hint, expiresAt: key.expiresAt };
  if (rotated) return { outcome: 'rotated', key: successor };

  const found = await atD1(ctx, () => explainRotation.bind(ctx.db, { ...actor, keyId: old.id, formToken }).first<RotationExplanation>());
  if (!found?.administrator) throw new NotAdministrator();
  // The batch was committed and only its acknowledgement was lost.
  if (found.successorId === key.id) return { outcome: 'rotated', key: successor };
  if (found.madeByForm !== null) throw new FormAlreadyUsed(found.madeByForm);
  if (found.successorId !== null) return { outcome: 'already_rotated', successorId: found.successorId };
  return { outcome: found.exists === null ? 'not_found' : 'not_live' };
}

/** What came of changing a key. */
export type ChangeResult = 'changed' | 'unchanged' | 'not_live' | 'overtaken';

/** What can be changed of a key. */
export type ChangeableKey = Pick<KeyDetails, 'id' | 'name' | 'limit'>;

/**
 * Renames a live key or gives it another limit of its own (none: the deployment's). `old` is the key as whoever changes it has seen it: what
 * somebody else has changed since then is not overwritten (`overtaken`).
 * @throws Invalid naming the fields, NotAdministrator, Refusal `unavailable`
 */
export async function changeApiKey(ctx: AdminContext, old: ChangeableKey, input: KeyChanges): Promise<ChangeResult> {
  const { name, limit = null } = validated(keyChanges, input);
  const said = (policy: RateLimitPolicy | null) => (policy ? formatPolicy(policy) : 'default');
  const details = [
    ...(name === old.name ? [] : [`name ${JSON.stringify(old.name)} to ${JSON.stringify(name)}`]),
    ...(said(limit) === said(old.limit) ? [] : [`limit ${said(old.limit)} to ${said(limit)}`]),
  ];
  if (details.length === 0) return 'unchanged';

  const values = {
    ...actorOf(ctx),
    keyId: old.id,
    name,
    limitQuota: limit?.quota ?? null,
    limitWindowMs: limit?.windowMs ?? null,
    oldName: old.name,
    oldLimitQuota: old.limit?.quota ?? null,
    oldLimitWindowMs: old.limit?.windowMs ?? null,
  };
  const [changed] = await changeAudited(ctx, (now) => [
    { statement: changeKey.bind(ctx.db, { ...values, now }), action: 'api_key.changed', targetId: old.id, detail: details.join(', ') },
  ]);
  if (changed) return 'changed';
  const found = await atD1(ctx, () =>
    explainChange.bind(ctx.db, { ...actorOf(ctx), keyId: old.id, name, now: ctx.now() }).first<ChangeExplanation>(),
  );
  if (!found?.administrator) throw new NotAdministrator();
  if (found.live === null) return 'not_live';
  if (found.named !== null && found.named !== old.id) throw new Invalid([NAME_TAKEN]);
  // Equal in all: the change was committed and only its acknowledgement was lost, or somebody else wanted the very same.
  const { limitQuota, limitWindowMs } = values;
  return found.name === name && found.limitQuota === limitQuota && found.limitWindowMs === limitWindowMs ? 'changed' : 'overtaken';
}

/**
 * Revokes a key of the administrator's organization, with its audit row. Once this has returned, no write with the key is committed any
 * more. Revoking again is harmless and changes nothing.
 * @throws NotAdministrator, Refusal `unavailable`
 */
export async function revokeApiKey(ctx: AdminContext, keyId: string): Promise<'revoked' | 'already_revoked' | 'not_found'> {
  const { organizationId } = ctx;
  const [changed] = await changeAudited(ctx, (now) => [revocation(ctx, keyId, now)]);
  if (changed) return 'revoked';
  const key = await atD1(ctx, () => findRevocation.bind(ctx.db, { organizationId, keyId }).first<{ revokedAt: number | null }>());
  if (!key) return 'not_found';
  if (key.revokedAt === null) throw new NotAdministrator();
  return 'already_revoked';
}

/**
 * Revokes every key of the organization, those included that are made while it runs, and returns how many. Each is audited by itself. If
 * it is cut off, what was revoked stays so, and doing it again revokes the rest.
 * @throws NotAdministrator, Refusal `unavailable`
 */
export async function revokeAllApiKeys(ctx: AdminContext): Promise<number> {
  const { organizationId } = ctx;
  for (let revoked = 0; ; ) {
    const { results } = await atD1(ctx, () => findUnrevoked.bind(ctx.db, { organizationId }).all<{ id: string }>());
    if (results.length === 0) return revoked;
    const changed = await changeAudited(ctx, (now) => results.map(({ id }) => revocation(ctx, id, now)));
    const count = changed.filter(Boolean).length;
    // None: another request has just revoked the same ones, or whoever asks may not.
    if (count === 0) await administratorsTimeZone(ctx);
    revoked += count;
  }
}

function revocation(ctx: AdminContext, keyId: string, now: number): AuditedChange {
  return { statement: markRevoked.bind(ctx.db, { ...actorOf(ctx), keyId, now }), action: 'api_key.revoked', targetId: keyId };
}

const actorOf = ({ organizationId, actorId }: AdminContext) => ({ organizationId, actorId });

/** The time zone of the actor's organization. @throws NotAdministrator if the actor is no active administrator there */
async function administratorsTimeZone(ctx: AdminContext): Promise<string> {
  const organization = await atD1(ctx, () => findTimeZone.bind(ctx.db, actorOf(ctx)).first<{ timeZone: string }>());
  if (!organization) throw new NotAdministrator();
  return organization.timeZone;
}

/** A new value with what is stored of it, and its expiry reckoned in the organization's time zone. */
async function newKey(ctx: AdminContext, keyPrefix: string, expires: string | undefined) {
  const timeZone = await administratorsTimeZone(ctx);
  const expiresAt = expires === undefined ? null : expiryInstant(expires, timeZone);
  const wrong = (code: string, why: string) => new Invalid([{ pointer: '/expires', code, detail: `expires was ${expires}, which ${why}` }]);
  if (expiresAt !== null && expiresAt <= ctx.now()) throw wrong('out_of_range', 'has passed; choose a later date');
  if (expiresAt !== null && expiresAt > lastExpiry(timeZone, ctx.now())) {
    const rule = `lies more than ${MAX_EXPIRY_YEARS} years ahead`;
    throw wrong('too_late', `${rule}; choose an earlier date, or leave it out for a key that never expires`);
  }
  const value = generateKey(keyPrefix);
  return { id: timeOrderedId(ctx.now()), value, hint: keyHint(value), hash: await hashKey(value), expiresAt };
}
