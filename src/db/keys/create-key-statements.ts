import { MAX_LIVE_KEYS } from '../../domain/key-input.ts';
import { KEY_SETTING_NAMES, type KeySettingName, type KeySettings, keySetting } from '../../domain/key-settings.ts';
import {
  type AdministratorValues,
  BY_ACTIVE_ADMINISTRATOR,
  IS_ACTIVE_ADMINISTRATOR,
} from '../directory/administrator-statements.ts';
import { insertInto, statement } from '../statement.ts';
import { IS_CURRENT, keyIdWhere } from './key-conditions.ts';
import { ADMITTED_BY_RULES, EXPIRY_RULES, type ExpiryRulesRow } from './key-rules-statements.ts';

export interface KeyValues extends AdministratorValues {
  id: string;
  hash: string;
  hint: string;
  now: number;
  expiresAt: number | null;
  formToken: string | null;
}

/** An expression for each column that holds a setting. */
export const settingColumns = (expressionOf: (name: KeySettingName, column: string) => string) =>
  Object.fromEntries(
    KEY_SETTING_NAMES.map((name) => [keySetting(name).column, expressionOf(name, keySetting(name).column)]),
  );

/** The columns of a new row in `api_keys`. A successor takes some of them from its predecessor. */
export const NEW_KEY = {
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
  /** See `ADMITTED_BY_RULES`. */
  lifetimeDays: number | null;
}

/** No key has the id or the form token: a trigger refuses both if that key is revoked. */
const IS_NEW =
  'not exists (select 1 from api_keys where organization_id = :organizationId and (id = :id or form_token = :formToken))';

/** Inserts a key unless there are too many, the key rules refuse it, or its name or form token is in use. */
export const insertKey = statement<NewKeyValues>(`
  ${insertInto('api_keys', NEW_KEY)}
  from users u where ${IS_ACTIVE_ADMINISTRATOR} and ${IS_NEW} and ${LIVE_KEYS} < ${MAX_LIVE_KEYS} and ${ADMITTED_BY_RULES}
  on conflict do nothing`);

export interface NewKeyExplanation extends ExpiryRulesRow {
  administrator: number;
  /** The key with this id: the insert was already committed, but the acknowledgement was lost. */
  own: string | null;
  createdByForm: string | null;
  named: string | null;
}

export const explainNewKey = statement<
  AdministratorValues & { id: string; name: string; formToken: string | null },
  NewKeyExplanation
>(`
  select ${BY_ACTIVE_ADMINISTRATOR} as administrator,
    ${keyIdWhere('api_keys.id = :id')} as own,
    ${keyIdWhere('api_keys.form_token = :formToken')} as createdByForm,
    ${EXPIRY_RULES},
    ${keyIdWhere(`api_keys.name = :name and ${IS_CURRENT}`)} as named`);
