import { sql } from 'drizzle-orm';
import { REFUSED_ATTENTION_MS } from '../../domain/refused-use.ts';
import { administrator } from '../aliases.ts';
import { NEEDS_ATTENTION } from '../keys/refused-use-statements.ts';
import { users } from '../schema/directory.ts';
import { columns, number, type RowOf, statement, text } from '../statement.ts';

export interface AdministratorValues {
  organizationId: string;
  userId: string;
}

/** Condition: the user `:userId` (alias `u`) is an active administrator of the organization. */
export const IS_ACTIVE_ADMINISTRATOR =
  'u.organization_id = :organizationId and u.id = :userId and u.is_admin = 1 and u.active = 1';

/** Condition: the user with the alias `administrator` is an active administrator of the organization. */
export const isActiveAdministrator = ({ organizationId, userId }: AdministratorValues) =>
  sql`${administrator.organizationId} = ${organizationId} and ${administrator.id} = ${userId}
    and ${administrator.isAdmin} = 1 and ${administrator.active} = 1`;

/** Condition: the user is an active administrator of the organization. */
export const byActiveAdministrator = (values: AdministratorValues) =>
  sql`exists (select 1 from ${users} ${administrator} where ${isActiveAdministrator(values)})`;

export const BY_ACTIVE_ADMINISTRATOR = `exists (select 1 from users u where ${IS_ACTIVE_ADMINISTRATOR})`;

const MAX_REFUSED = 100;

const ADMINISTRATOR = {
  userId: text('u.id'),
  userName: text('u.name'),
  organizationId: text('o.id'),
  organizationName: text('o.name'),
  timeZone: text('o.time_zone'),
  hasPsa: number('o.has_psa'),
  /** Refused uses that need attention, only of the organization that was asked for. */
  refused:
    number(`iif(o.id = :organizationId, (select count(*) from (select * from refused_uses where organization_id = o.id
      and last_at >= :now - ${REFUSED_ATTENTION_MS} order by last_at desc limit ${MAX_REFUSED}) r
      cross join api_keys k on k.organization_id = r.organization_id and k.id = r.key_id where ${NEEDS_ATTENTION}), 0)`),
};

export type AdministratorRow = RowOf<typeof ADMINISTRATOR>;

interface AdministratorSearch {
  email: string;
  /** The organization that has to be among those found, if the person administers it. */
  organizationId: string;
  limit: number;
  now: number;
}

/** The first `limit` active organizations, by name, that the person is an active administrator of. */
export const findAdministrator = statement<AdministratorSearch, AdministratorRow>(`
  select ${columns(ADMINISTRATOR)}
  from users u join organizations o on o.id = u.organization_id and o.active = 1
  where u.email = :email and u.is_admin = 1 and u.active = 1
  order by o.id = :organizationId desc, o.name, o.id limit :limit`);

/** The time zone of the organization, if the user is an active administrator there. */
export const findTimeZone = statement<AdministratorValues, { timeZone: string }>(`
  select o.time_zone as timeZone from users u join organizations o on o.id = u.organization_id where ${IS_ACTIVE_ADMINISTRATOR}`);

/** The names of the active administrators among the organization's first 1,000 users. */
export const findAdministratorNames = statement<{ organizationId: string }, { name: string }>(`
  select u.name as name from (select name, active, is_admin from users where organization_id = :organizationId limit 1000) u
  where u.active = 1 and u.is_admin = 1 order by u.name`);
