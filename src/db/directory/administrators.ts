import { columns, statement } from '../statement.ts';

/** The parameters that identify the administrator who makes a change. */
export interface AdministratorValues {
  organizationId: string;
  userId: string;
}

/** Condition: the user `:userId` (alias `u`) is an active administrator of the organization. */
export const IS_ACTIVE_ADMINISTRATOR =
  'u.organization_id = :organizationId and u.id = :userId and u.is_admin = 1 and u.active = 1';

/** Condition of a write that requires an active administrator. */
export const BY_ACTIVE_ADMINISTRATOR = `exists (select 1 from users u where ${IS_ACTIVE_ADMINISTRATOR})`;

/** A user who administers one organization. */
export interface AdministratorRow {
  userId: string;
  userName: string;
  organizationId: string;
  organizationName: string;
  timeZone: string;
  hasPsa: number;
}

/** Bounds the query. No person administers more organizations than this. */
const MAX_ORGANIZATIONS = 100;

/**
 * The active organizations, by name, that the person with this email address (lower case) is an
 * active administrator of.
 */
export const findAdministrator = statement<{ email: string }, AdministratorRow>(`
  select ${columns<AdministratorRow>({
    userId: 'u.id',
    userName: 'u.name',
    organizationId: 'o.id',
    organizationName: 'o.name',
    timeZone: 'o.time_zone',
    hasPsa: 'o.has_psa',
  })}
  from users u join organizations o on o.id = u.organization_id and o.active = 1
  where u.email = :email and u.is_admin = 1 and u.active = 1
  order by o.name, o.id limit ${MAX_ORGANIZATIONS}`);

/** The time zone of the organization, if the user is an active administrator there. */
export const findTimeZone = statement<AdministratorValues, { timeZone: string }>(`
  select o.time_zone as timeZone from users u join organizations o on o.id = u.organization_id where ${IS_ACTIVE_ADMINISTRATOR}`);
