import { KEY_SETTING_NAMES, type KeySettings, keySetting } from '../../domain/key-settings.ts';
import { type AdministratorValues, BY_ACTIVE_ADMINISTRATOR } from '../directory/administrator-statements.ts';
import { columns, statement } from '../statement.ts';
import { IS_CURRENT, IS_UNEXPIRED, keyIdWhere, THE_KEY } from './key-conditions.ts';

interface ChangeValues extends AdministratorValues, KeySettings {
  keyId: string;
  now: number;
  revision: number;
}

/** Replaces the settings of a live key that still has this revision, if the name is free. */
export const changeKey = statement<ChangeValues>(`
  update api_keys set ${KEY_SETTING_NAMES.map((name) => `${keySetting(name).column} = :${name}`).join(', ')}, revision = revision + 1
  where ${THE_KEY} and revoked_at is null and ${IS_UNEXPIRED} and revision = :revision and ${BY_ACTIVE_ADMINISTRATOR}
    and not exists (select 1 from api_keys other where other.organization_id = :organizationId and other.name = :name
      and other.revoked_at is null and other.successor_id is null and other.id <> :keyId and api_keys.successor_id is null)`);

export interface ChangeExplanation {
  administrator: number;
  /** The id of the key; null if it is not live. */
  live: string | null;
  named: string | null;
}

export const explainChange = statement<
  AdministratorValues & { keyId: string; name: string; now: number },
  ChangeExplanation
>(`
  select ${BY_ACTIVE_ADMINISTRATOR} as administrator, api_keys.id as live,
    ${keyIdWhere(`api_keys.name = :name and ${IS_CURRENT}`)} as named
  from organizations o left join api_keys on ${THE_KEY} and api_keys.revoked_at is null and ${IS_UNEXPIRED}
  where o.id = :organizationId`);

export interface SettingsChangeRow {
  at: number;
  by: string;
  action: string;
  detail: string | null;
}

/** The latest changes that users made to a key, or to the key rules (target: the organization), newest first. */
export const findSettingsChanges = statement<
  { organizationId: string; targetId: string; actions: string; limit: number },
  SettingsChangeRow
>(`
  select ${columns<SettingsChangeRow>({ at: 'at', by: 'actor_name', action: 'action', detail: 'detail' }, 'a')}
  from audit_log a indexed by audit_log_user_target
  where a.organization_id = :organizationId and a.actor_type <> 'api_key' and a.target_id = :targetId
    and a.action in (select value from json_each(:actions))
  order by a.seq desc limit :limit`);
