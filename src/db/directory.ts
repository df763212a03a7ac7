// Statements of the directory import. Each takes the organization's id and a JSON array of records, so that one statement carries
// thousands of them in two bound parameters (D1 allows 100).

/** A directory table: its columns, each with the field of the record it is filled from. */
interface DirectoryTable {
  name: 'users' | 'companies' | 'agreements' | 'tickets';
  columns: Record<string, string>;
}

export const DIRECTORY_TABLES = {
  company: { name: 'companies', columns: { name: 'name', active: 'active' } },
  user: {
    name: 'users',
    columns: { email: 'email', name: 'name', is_admin: 'admin', is_technician: 'technician', is_service: 'service', active: 'active' },
  },
  agreement: { name: 'agreements', columns: { company_id: 'company', hourly_rate_minor: 'hourlyRate', active: 'active' } },
  ticket: { name: 'tickets', columns: { company_id: 'company', active: 'active' } },
} as const satisfies Record<string, DirectoryTable>;

/** Inserts records or updates those that differ: what is there already, just so, is not written again. */
export function upsertRecords({ name, columns }: DirectoryTable): string {
  const own = Object.keys(columns);
  const fields = Object.values(columns).map((field) => `value ->> '${field}'`);
  const present = own.map((column) => `${name}.${column}`).join(', ');
  const excluded = own.map((column) => `excluded.${column}`).join(', ');
  return `insert into ${name} (organization_id, id, ${own.join(', ')})
    select ?1, value ->> 'id', ${fields.join(', ')} from json_each(?2) where true
    on conflict (organization_id, id) do update set (${own.join(', ')}) = (${excluded}) where (${present}) is not (${excluded})`;
}

/** ?1 is a JSON array with the organization's record. */
export const UPSERT_ORGANIZATION = `insert into organizations (id, name, has_psa, time_zone, default_hourly_rate_minor, active)
  select value ->> 'id', value ->> 'name', value ->> 'psa', value ->> 'timeZone', value ->> 'defaultHourlyRate', value ->> 'active'
  from json_each(?1) where true
  on conflict (id) do update set (name, has_psa, time_zone, default_hourly_rate_minor, active)
    = (excluded.name, excluded.has_psa, excluded.time_zone, excluded.default_hourly_rate_minor, excluded.active)
  where (organizations.name, organizations.has_psa, organizations.time_zone, organizations.default_hourly_rate_minor, organizations.active)
    is not (excluded.name, excluded.has_psa, excluded.time_zone, excluded.default_hourly_rate_minor, excluded.active)`;

/**
 * Lets go of unique values before they are set: two users may swap their addresses, and an upsert would trip over the first of them.
 * Only users whose address or service flag is about to change are touched.
 */
export const RELEASE_USERS = `update users set email = 'released-' || users.id || '@directory.invalid', is_service = 0
  from (select value ->> 'id' as id, value ->> 'email' as email, value ->> 'service' as service from json_each(?2)) as incoming
  where users.organization_id = ?1 and users.id = incoming.id and (users.email, users.is_service) is not (incoming.email, incoming.service)`;

/** When the file names a service account, the one before it becomes an inactive user like any other. */
export const RETIRE_SERVICE_ACCOUNT = `update users set is_service = 0, active = 0
  where organization_id = ?1 and is_service = 1
    and id <> (select value ->> 'id' from json_each(?2) where value ->> 'service' = 1)`;

/** Ends agreements that are about to change, so that a company's active agreement can pass from one to another. */
export const RELEASE_AGREEMENTS = `update agreements set active = 0
  from (select value ->> 'id' as id, value ->> 'company' as company, value ->> 'active' as active from json_each(?2)) as incoming
  where agreements.organization_id = ?1 and agreements.id = incoming.id and agreements.active = 1
    and (agreements.company_id, agreements.active) is not (incoming.company, incoming.active)`;

/** Every organization has a service account; this is the one for directories that name none. */
export const ENSURE_SERVICE_ACCOUNT = `insert into users (organization_id, id, email, name, is_admin, is_technician, is_service, active)
  select ?1, 'service-account', 'service-account@' || ?1 || '.invalid', 'Automation', 0, 0, 1, 1
  where not exists (select 1 from users where organization_id = ?1 and is_service = 1)`;

/** Which of the organizations in the JSON array ?1 of ids exist. */
export const EXISTING_ORGANIZATIONS = `select id from organizations where id in (select value from json_each(?1))`;

/** Which of the companies in the JSON array ?1 of [organization, id] exist. */
export const EXISTING_COMPANIES = `select organization_id as organization, companies.id from companies
  join json_each(?1) on companies.organization_id = value ->> 0 and companies.id = value ->> 1`;
