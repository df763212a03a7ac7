import { MAX_KEYS_IN_GRACE, MAX_LIVE_KEYS } from '../../domain/key-input.ts';
import { KEY_SETTING_NAMES, type KeySettingName, type KeySettings, keySetting } from '../../domain/key-settings.ts';
import {
  type AdministratorValues,
  BY_ACTIVE_ADMINISTRATOR,
  IS_ACTIVE_ADMINISTRATOR,
} from '../directory/administrator-statements.ts';
import { columns, insertInto, number, type RowOf, statement, textOrNull } from '../statement.ts';
import { ADMITTED_BY_RULES, EXPIRY_RULES } from './key-rules-statements.ts';
import { LIVE_KEY_IDS } from './read-keys-statements.ts';

// Conditions that several statements share. The table is named in full, because UPDATE and
// subqueries use the same text.

const THE_KEY = 'api_keys.organization_id = :organizationId and api_keys.id = :keyId';

/** Neither revoked nor replaced. Only such a key occupies its name. */
const IS_CURRENT = 'api_keys.revoked_at is null and api_keys.successor_id is null';

const IS_UNEXPIRED = '(api_keys.expires_at is null or api_keys.expires_at > :now)';

/** The id of the organization's key that satisfies the condition, or null. */
const keyIdWhere = (condition: string) =>
  `(select api_keys.id from api_keys where api_keys.organization_id = :organizationId and ${condition})`;

interface KeyValues extends AdministratorValues {
  id: string;
  hash: string;
  hint: string;
  now: number;
  expiresAt: number | null;
  formToken: string | null;
}

const settingColumns = (expressionOf: (name: KeySettingName, column: string) => string) =>
  Object.fromEntries(
    KEY_SETTING_NAMES.map((name) => [keySetting(name).column, expressionOf(name, keySetting(name).column)]),
  );

/** The columns of a new row in `api_keys`. A successor takes some of them from its predecessor. */
const NEW_KEY = {
  organization_id: ':organizationId',
  id: ':id',
  chain_id: ':id',
  hash: ':hash',
  hint: ':hint',
  scopes: ':scopes',
  ...settingColumns((name) => `:${name}`),
  created_at: ':now',
  created_by: ':userId',
  expires_at: ':expiresAt',
  revoked_at: 'null',
  revoked_by: 'null',
  successor_id: 'null',
  form_token: ':formToken',
};

const count = (expiry: string) =>
  `(select count(*) from api_keys indexed by api_keys_unrevoked where organization_id = :organizationId and ${IS_CURRENT} and expires_at ${expiry})`;
/** Keys that are live and not replaced. Two counts on a named index: otherwise SQLite would read ended keys. */
const LIVE_KEYS = `${count('is null')} + ${count('> :now')}`;

interface NewKeyValues extends KeyValues, KeySettings {
  scopes: string;
  lifetimeDays: number | null;
}

/** No key has the id or the form token: a trigger refuses both if that key is revoked. */
const IS_NEW =
  'not exists (select 1 from api_keys where organization_id = :organizationId and (id = :id or form_token = :formToken))';

/** Neither the form token, nor the number of keys, nor the key rules stop the new key. */
const IS_ADMITTED = `${IS_NEW} and ${LIVE_KEYS} < ${MAX_LIVE_KEYS} and ${ADMITTED_BY_RULES}`;

/** No other key occupies the name, unless the key is replaced: then it does not occupy its own. */
const NAME_IS_FREE = `not exists (select 1 from api_keys other where other.organization_id = :organizationId
  and other.name = :name and other.revoked_at is null and other.successor_id is null and other.id <> :keyId
  and api_keys.successor_id is null)`;

const insertKeyIf = (condition: string) =>
  statement<NewKeyValues>(`
  ${insertInto('api_keys', NEW_KEY)}
  from users u where ${IS_ACTIVE_ADMINISTRATOR} and ${condition}
  on conflict do nothing`);

/** Inserts a key unless there are too many, the key rules refuse it, or its name or form token is in use. */
export const insertKey = insertKeyIf(IS_ADMITTED);

/** Revokes an expired key, whose name is then free, if nothing stops the new key that replaces it. */
export const revokeExpired = statement<NewKeyValues & { keyId: string }>(`
  update api_keys set revoked_at = :now, revoked_by = :userId, revision = revision + 1
  where ${THE_KEY} and ${IS_CURRENT} and expires_at <= :now and ${BY_ACTIVE_ADMINISTRATOR} and ${IS_ADMITTED} and ${NAME_IS_FREE}`);

/** Inserts the new key if the statement before it made room for it. */
export const insertReplacement = insertKeyIf('changes() = 1');

const CREATED_BY_FORM = keyIdWhere('api_keys.form_token = :formToken');
const NAMED = keyIdWhere(`api_keys.name = :name and ${IS_CURRENT}`);

/** Replaces the settings of a live key that still has this revision, if the name is free. */
export const changeKey = statement<
  AdministratorValues & KeySettings & { keyId: string; now: number; revision: number }
>(`
  update api_keys set ${KEY_SETTING_NAMES.map((name) => `${keySetting(name).column} = :${name}`).join(', ')}, revision = revision + 1
  where ${THE_KEY} and revoked_at is null and ${IS_UNEXPIRED} and revision = :revision and ${BY_ACTIVE_ADMINISTRATOR} and ${NAME_IS_FREE}`);

// A rotation makes up to three changes in one transaction, each with its audit row: it marks the old key, inserts the
// successor and revokes the old key. The second and third run only if the previous one changed a row.

const KEYS_IN_GRACE = `(select count(*) from api_keys replaced where replaced.organization_id = :organizationId
    and replaced.revoked_at is null and replaced.expires_at > :now and replaced.successor_id is not null)`;

/**
 * Names the successor of a live key that has none. The key then ends at `endsAt` or at its own expiry, whichever is
 * earlier. A key that ends immediately (`endsAt` is now) can always be replaced; another one only while there is room for
 * one more in its grace period. The key rules have to admit the successor with its lifetime of `lifetimeDays`.
 */
export const markSucceeded = statement<
  AdministratorValues & {
    keyId: string;
    id: string;
    now: number;
    endsAt: number;
    formToken: string | null;
    lifetimeDays: number | null;
  }
>(`
  update api_keys set successor_id = :id, expires_at = min(coalesce(expires_at, :endsAt), :endsAt), revision = revision + 1
  where ${THE_KEY} and ${IS_CURRENT} and ${IS_UNEXPIRED} and ${BY_ACTIVE_ADMINISTRATOR} and ${CREATED_BY_FORM} is null
    and (:endsAt <= :now or ${KEYS_IN_GRACE} < ${MAX_KEYS_IN_GRACE}) and ${ADMITTED_BY_RULES}`);

/** Inserts the successor of the key that names it, with the same chain, scopes and settings. */
export const insertSuccessor = statement<KeyValues>(`
  ${insertInto('api_keys', {
    ...NEW_KEY,
    chain_id: 'k.chain_id',
    scopes: 'k.scopes',
    ...settingColumns((_, column) => `k.${column}`),
  })}
  from api_keys k where k.organization_id = :organizationId and k.successor_id = :id and changes() = 1`);

export const revokeSucceeded = statement<AdministratorValues & { id: string; now: number }>(`
  update api_keys set revoked_at = :now, revoked_by = :userId, revision = revision + 1
  where organization_id = :organizationId and successor_id = :id and changes() = 1`);

const EXPLANATION = {
  administrator: number(BY_ACTIVE_ADMINISTRATOR),
  /** The id of the key; null if there is no such key. */
  found: textOrNull('api_keys.id'),
  successorId: textOrNull('api_keys.successor_id'),
  live: number(`api_keys.id is not null and api_keys.revoked_at is null and ${IS_UNEXPIRED}`),
  createdByForm: textOrNull(CREATED_BY_FORM),
  /** The current key with the name. */
  named: textOrNull(NAMED),
  keysInGrace: number(KEYS_IN_GRACE),
  ...EXPIRY_RULES,
};

/** Why a key was not created, changed or rotated. */
export const explainKey = statement<
  AdministratorValues & { keyId: string; name: string; formToken: string | null; now: number },
  RowOf<typeof EXPLANATION>
>(`
  select ${columns(EXPLANATION)}
  from organizations o left join api_keys on ${THE_KEY} where o.id = :organizationId`);

interface Revocation {
  revokedAt: number;
}

/** Revokes a key that is not revoked yet, if the user is an active administrator. */
export const markRevokedByAdministrator = statement<AdministratorValues & { keyId: string; now: number }, Revocation>(`
  update api_keys set revoked_at = :now, revoked_by = :userId, revision = revision + 1
  where ${THE_KEY} and revoked_at is null and ${BY_ACTIVE_ADMINISTRATOR} returning revoked_at as revokedAt`);

/** The same for an operator, who is not a user: `by` describes the operator in words. */
export const markRevokedByOperator = statement<
  { organizationId: string; keyId: string; now: number; by: string },
  Revocation
>(`
  update api_keys set revoked_at = :now, revoked_by = :by, revision = revision + 1
  where ${THE_KEY} and revoked_at is null returning revoked_at as revokedAt`);

/** Whether and when a key was revoked, or no row if there is no such key. */
export const findRevocation = statement<{ organizationId: string; keyId: string }, { revokedAt: number | null }>(
  `select revoked_at as revokedAt from api_keys where ${THE_KEY}`,
);

export const findSomeLiveKeys = statement<{ organizationId: string; now: number }, { id: string }>(
  `${LIVE_KEY_IDS} limit 100`,
);
