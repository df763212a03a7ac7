import { type AdministratorValues, BY_ACTIVE_ADMINISTRATOR } from '../directory/administrators.ts';
import { statement } from '../statement.ts';
import { IS_CURRENT, IS_UNEXPIRED, keyIdWhere, THE_KEY } from './conditions.ts';

interface ChangeValues extends AdministratorValues {
  keyId: string;
  now: number;
  name: string;
  limitQuota: number | null;
  limitWindowMs: number | null;
  dayLimitRecords: number | null;
  dayLimitMinutes: number | null;
  allowedNetworks: string;
  description: string;
  owner: string;
  oldName: string;
  oldLimitQuota: number | null;
  oldLimitWindowMs: number | null;
  oldDayLimitRecords: number | null;
  oldDayLimitMinutes: number | null;
  oldAllowedNetworks: string;
  oldDescription: string;
  oldOwner: string;
}

/** Changes what an administrator can change of a live key that still has the old values, if the name is free. */
export const changeKey = statement<ChangeValues>(`
  update api_keys set name = :name, limit_quota = :limitQuota, limit_window_ms = :limitWindowMs,
    day_limit_records = :dayLimitRecords, day_limit_minutes = :dayLimitMinutes,
    allowed_networks = :allowedNetworks, description = :description, owner = :owner
  where ${THE_KEY} and revoked_at is null and ${IS_UNEXPIRED}
    and name = :oldName and limit_quota is :oldLimitQuota and limit_window_ms is :oldLimitWindowMs
    and day_limit_records is :oldDayLimitRecords and day_limit_minutes is :oldDayLimitMinutes
    and allowed_networks = :oldAllowedNetworks and description = :oldDescription and owner = :oldOwner and ${BY_ACTIVE_ADMINISTRATOR}
    and not exists (select 1 from api_keys other where other.organization_id = :organizationId and other.name = :name
      and other.revoked_at is null and other.successor_id is null and other.id <> :keyId and api_keys.successor_id is null)`);

export interface ChangeExplanation {
  administrator: number;
  /** The id of the key; null if it is not live. */
  live: string | null;
  name: string | null;
  limitQuota: number | null;
  limitWindowMs: number | null;
  dayLimitRecords: number | null;
  dayLimitMinutes: number | null;
  allowedNetworks: string | null;
  description: string | null;
  owner: string | null;
  /** The key that has the new name. */
  named: string | null;
}

/** Why a key was not changed: one row. */
export const explainChange = statement<
  AdministratorValues & { keyId: string; name: string; now: number },
  ChangeExplanation
>(`
  select ${BY_ACTIVE_ADMINISTRATOR} as administrator, api_keys.id as live, api_keys.name as name,
    api_keys.limit_quota as limitQuota, api_keys.limit_window_ms as limitWindowMs,
    api_keys.day_limit_records as dayLimitRecords, api_keys.day_limit_minutes as dayLimitMinutes,
    api_keys.allowed_networks as allowedNetworks, api_keys.description as description, api_keys.owner as owner,
    ${keyIdWhere(`api_keys.name = :name and ${IS_CURRENT}`)} as named
  from organizations o left join api_keys on ${THE_KEY} and api_keys.revoked_at is null and ${IS_UNEXPIRED}
  where o.id = :organizationId`);
