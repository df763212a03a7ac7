import { type AdministratorValues, IS_ACTIVE_ADMINISTRATOR } from '../directory/administrator-statements.ts';
import { columns, insertInto, number, numberOrNull, type RowOf, statement, text } from '../statement.ts';

/** The key rules and the time zone of an organization, with the default values if it has not set any rules. */
const KEY_RULES = {
  maxLifetimeDays: numberOrNull('r.max_lifetime_days'),
  expiryRequired: number('coalesce(r.expiry_required, 0)'),
  /** 0 if the organization has not set key rules. */
  revision: number('coalesce(r.revision, 0)'),
  timeZone: text('o.time_zone'),
};

export type KeyRulesRow = RowOf<typeof KEY_RULES>;

/** The key rules, if the user is an active administrator of the organization. */
export const findKeyRules = statement<AdministratorValues, KeyRulesRow>(`
  select ${columns(KEY_RULES)} from users u join organizations o on o.id = u.organization_id
  left join key_rules r on r.organization_id = o.id where ${IS_ACTIVE_ADMINISTRATOR}`);

/** Condition: the key rules admit a new key with a lifetime of `:lifetimeDays` (null for one that never expires). */
export const ADMITTED_BY_RULES = `not exists (select 1 from key_rules r where r.organization_id = :organizationId
    and (r.max_lifetime_days < :lifetimeDays or (r.expiry_required = 1 and :lifetimeDays is null)))`;

/** The expiry under the key rules at this moment, in a statement without its table. */
export const EXPIRY_RULES = {
  maxLifetimeDays: numberOrNull(
    '(select r.max_lifetime_days from key_rules r where r.organization_id = :organizationId)',
  ),
  expiryRequired: number(
    'exists (select 1 from key_rules r where r.organization_id = :organizationId and r.expiry_required = 1)',
  ),
};

export type ExpiryRulesRow = RowOf<typeof EXPIRY_RULES>;

type ChangeValues = AdministratorValues & Omit<KeyRulesRow, 'revision' | 'timeZone'> & { oldRevision: number };

/** Changes the key rules if they still have the old revision. */
export const changeRules = statement<ChangeValues>(`
  ${insertInto('key_rules', {
    organization_id: ':organizationId',
    max_lifetime_days: ':maxLifetimeDays',
    expiry_required: ':expiryRequired',
    revision: ':oldRevision + 1',
  })}
  from users u where ${IS_ACTIVE_ADMINISTRATOR}
    and :oldRevision = coalesce((select revision from key_rules where organization_id = :organizationId), 0)
  on conflict (organization_id) do update set
    max_lifetime_days = excluded.max_lifetime_days, expiry_required = excluded.expiry_required,
    revision = excluded.revision`);
