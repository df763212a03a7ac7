import type { DirectoryType } from '../../domain/directory.ts';

// Statements of the directory. They are written as text, for one of them carries thousands of records in two bound parameters, which
// the query builder cannot say (D1 allows 100): ?1 is the organization's id, ?2 a JSON array, of records unless it says otherwise.

interface DirectoryTable {
  name: string;
  /** The columns, each with the field of the record it is filled from. */
  columns: Record<string, string>;
}

const TABLES: Record<DirectoryType, DirectoryTable> = {
  organization: {
    name: 'organizations',
    columns: {
      name: 'name',
      has_psa: 'psa',
      time_zone: 'timeZone',
      default_hourly_rate_minor: 'defaultHourlyRate',
      active: 'active',
    },
  },
  company: { name: 'companies', columns: { name: 'name', active: 'active' } },
  user: {
    name: 'users',
    columns: { email: 'email', name: 'name', is_admin: 'admin', is_technician: 'technician', is_service: 'service', active: 'active' },
  },
  agreement: { name: 'agreements', columns: { company_id: 'company', hourly_rate_minor: 'hourlyRate', active: 'active' } },
  ticket: { name: 'tickets', columns: { company_id: 'company', active: 'active' } },
};

/** Organizations are their own owners: they have an id only. */
const keyOf = (type: DirectoryType) =>
  type === 'organization' ? { columns: 'id', values: '?1' } : { columns: 'organization_id, id', values: `?1, value ->> 'id'` };
const inOrganization = (type: DirectoryType, table: string) =>
  type === 'organization' ? `${table}.id = ?1` : `${table}.organization_id = ?1`;

/** Inserts records or updates those that differ: what is there already, just so, is not written again. */
export function upsertRecords(type: DirectoryType): string {
  const { name, columns } = TABLES[type];
  const own = Object.keys(columns);
  const key = keyOf(type);
  const fields = Object.values(columns).map((field) => `value ->> '${field}'`);
  const present = own.map((column) => `${name}.${column}`).join(', ');
  const excluded = own.map((column) => `excluded.${column}`).join(', ');
  return `insert into ${name} (${key.columns}, ${own.join(', ')})
    select ${key.values}, ${fields.join(', ')} from json_each(?2) where true
    on conflict (${key.columns}) do update set (${own.join(', ')}) = (${excluded}) where (${present}) is not (${excluded})`;
}

/** What a question about ids, or records with ids, found to one of them. */
export interface FoundRow {
  id: string;
  found: string | null;
}

/** Of the records, those that an import would create (found: null) or change (found: a JSON object of the present values by field). */
export function differingRecords(type: DirectoryType): string {
  const { name, columns } = TABLES[type];
  const pairs = Object.entries(columns);
  const present = pairs.map(([column]) => `present.${column}`).join(', ');
  const wanted = pairs.map(([, field]) => `value ->> '${field}'`).join(', ');
  const before = pairs.map(([column, field]) => `'${field}', present.${column}`).join(', ');
  return `select value ->> 'id' as id, iif(present.id is null, null, json_object(${before})) as found
    from json_each(?2) left join ${name} as present on ${inOrganization(type, 'present')} and present.id = value ->> 'id'
    where present.id is null or (${present}) is not (${wanted})`;
}

/**
 * Lets go of unique values before they are set: two users may swap their addresses, and an upsert would trip over the first of them.
 * Only users whose address or service flag is about to change are touched.
 */
export const RELEASE_USERS = `update users set email = 'released-' || lower(hex(users.id)) || '@directory.invalid', is_service = 0
  from (select value ->> 'id' as id, value ->> 'email' as email, value ->> 'service' as service from json_each(?2)) as incoming
  where users.organization_id = ?1 and users.id = incoming.id and (users.email, users.is_service) is not (incoming.email, incoming.service)`;

/** When the records name a service account, the one before it becomes an inactive user like any other. */
export const RETIRE_SERVICE_ACCOUNT = `update users set is_service = 0, active = 0
  where organization_id = ?1 and is_service = 1
    and id <> (select value ->> 'id' from json_each(?2) where value ->> 'service' = 1)`;

/** Ends agreements that are about to change, so that a company's active agreement can pass from one to another. */
export const RELEASE_AGREEMENTS = `update agreements set active = 0
  from (select value ->> 'id' as id, value ->> 'company' as company, value ->> 'active' as active from json_each(?2)) as incoming
  where agreements.organization_id = ?1 and agreements.id = incoming.id and agreements.active = 1
    and (agreements.company_id, agreements.active) is not (incoming.company, incoming.active)`;

/** Every organization has a service account; this is the one for directories that name none. ?1 alone is bound. */
export const ENSURE_SERVICE_ACCOUNT = `insert into users (organization_id, id, email, name, is_admin, is_technician, is_service, active)
  select ?1, 'service-account', 'service-account@' || lower(?1) || '.invalid', 'Automation', 0, 0, 1, 1
  where not exists (select 1 from users where organization_id = ?1 and is_service = 1)
  on conflict (organization_id, id) do update set is_admin = 0, is_technician = 0, is_service = 1, active = 1`;

/** Which of the organizations in ?2 exist, and who their service account is. */
export const FIND_ORGANIZATIONS = `select organizations.id, users.id as found from json_each(?2) join organizations on organizations.id = value
  left join users on users.organization_id = organizations.id and users.is_service = 1`;

/** Which of the company ids in ?2 exist. */
export const EXISTING_COMPANIES = `select companies.id, null as found from json_each(?2)
  join companies on companies.organization_id = ?1 and companies.id = value`;

/** Of the users in ?2, the addresses that other users have, and who. */
export const HELD_EMAILS = `select users.email as id, users.id as found from json_each(?2)
  join users on users.organization_id = ?1 and users.email = value ->> 'email' and users.id <> value ->> 'id'`;

/** Of the agreements in ?2, the companies whose active agreement is another one, and which. */
export const HELD_COMPANIES = `select agreements.company_id as id, agreements.id as found from json_each(?2)
  join agreements on agreements.organization_id = ?1 and agreements.company_id = value ->> 'company' and agreements.active = 1
    and agreements.id <> value ->> 'id'
  where value ->> 'active' = 1`;

/** Deactivates the records with the ids in ?2 and returns those that were active. A service account stays: it is always active. */
export function deactivateRecords(type: DirectoryType): string {
  return `update ${TABLES[type].name} set active = 0
    where ${inOrganization(type, TABLES[type].name)} and id in (select value from json_each(?2)) and active = 1
    ${type === 'user' ? 'and is_service = 0' : ''} returning id`;
}

/** Which of the ids in ?2 exist, and whether they are active. */
export function findRecords(type: DirectoryType): string {
  const { name } = TABLES[type];
  return `select id, active from ${name} where ${inOrganization(type, name)} and id in (select value from json_each(?2))`;
}
