import { DIRECTORY_TYPES, type DirectoryType } from '../../domain/directory.ts';
import { fromKeys } from '../../lib/objects.ts';
import { statement } from '../statement.ts';

// Statements of the directory. One statement carries thousands of records as one JSON array, since D1 allows 100 parameters.

interface DirectoryTable {
  name: string;
  /** The columns, each with the field of the record that fills it. */
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
    columns: {
      email: 'email',
      name: 'name',
      is_admin: 'admin',
      is_technician: 'technician',
      is_service: 'service',
      active: 'active',
    },
  },
  agreement: {
    name: 'agreements',
    columns: { company_id: 'company', hourly_rate_minor: 'hourlyRate', active: 'active' },
  },
  ticket: { name: 'tickets', columns: { company_id: 'company', active: 'active' } },
};

/** What every statement of the directory is given. */
interface DirectoryValues {
  organizationId: string;
  /** A JSON array: of records, unless the statement says otherwise. */
  json: string;
}

/** What a query about ids, or records with ids, found for one of them. */
export interface FoundRow {
  id: string;
  found: string | null;
}

const write = (sql: string) => statement<DirectoryValues>(sql);
const find = (sql: string) => statement<DirectoryValues, FoundRow>(sql);
const forEachType = <Value>(make: (type: DirectoryType) => Value) => fromKeys(DIRECTORY_TYPES, make);

/** Organizations have no owner: their id is their whole key. */
const keyOf = (type: DirectoryType) =>
  type === 'organization'
    ? { columns: 'id', values: ':organizationId' }
    : { columns: 'organization_id, id', values: `:organizationId, value ->> 'id'` };
const inOrganization = (type: DirectoryType, table: string) =>
  type === 'organization' ? `${table}.id = :organizationId` : `${table}.organization_id = :organizationId`;

/** Inserts records and updates those that differ. Records that are already the same are not written. */
export const UPSERT_RECORDS = forEachType((type) => {
  const { name, columns } = TABLES[type];
  const own = Object.keys(columns);
  const key = keyOf(type);
  const fields = Object.values(columns).map((field) => `value ->> '${field}'`);
  const present = own.map((column) => `${name}.${column}`).join(', ');
  const excluded = own.map((column) => `excluded.${column}`).join(', ');
  return write(`insert into ${name} (${key.columns}, ${own.join(', ')})
    select ${key.values}, ${fields.join(', ')} from json_each(:json) where true
    on conflict (${key.columns}) do update set (${own.join(', ')}) = (${excluded}) where (${present}) is not (${excluded})`);
});

/** The records that an upsert would create (`found` is null) or change (`found` is a JSON object of the present values by field). */
export const FIND_DIFFERING_RECORDS = forEachType((type) => {
  const { name, columns } = TABLES[type];
  const pairs = Object.entries(columns);
  const present = pairs.map(([column]) => `present.${column}`).join(', ');
  const wanted = pairs.map(([, field]) => `value ->> '${field}'`).join(', ');
  const before = pairs.map(([column, field]) => `'${field}', present.${column}`).join(', ');
  return find(`select value ->> 'id' as id, iif(present.id is null, null, json_object(${before})) as found
    from json_each(:json) left join ${name} as present on ${inOrganization(type, 'present')} and present.id = value ->> 'id'
    where present.id is null or (${present}) is not (${wanted})`);
});

/**
 * Gives up unique values before they are set: two users may swap their addresses, and an upsert would fail at the first of them.
 * Only users whose address or service flag is about to change are touched.
 */
export const RELEASE_USERS = write(`
  update users set email = 'released-' || lower(hex(users.id)) || '@directory.invalid', is_service = 0
  from (select value ->> 'id' as id, value ->> 'email' as email, value ->> 'service' as service from json_each(:json)) as incoming
  where users.organization_id = :organizationId and users.id = incoming.id
    and (users.email, users.is_service) is not (incoming.email, incoming.service)`);

/** When the records name a service account, the previous one becomes an inactive, ordinary user. */
export const RETIRE_SERVICE_ACCOUNT = write(`
  update users set is_service = 0, active = 0
  where organization_id = :organizationId and is_service = 1
    and id <> (select value ->> 'id' from json_each(:json) where value ->> 'service' = 1)`);

/** Ends agreements that are about to change, so that a company's active agreement can pass from one to another. */
export const RELEASE_AGREEMENTS = write(`
  update agreements set active = 0
  from (select value ->> 'id' as id, value ->> 'company' as company, value ->> 'active' as active from json_each(:json)) as incoming
  where agreements.organization_id = :organizationId and agreements.id = incoming.id and agreements.active = 1
    and (agreements.company_id, agreements.active) is not (incoming.company, incoming.active)`);

/** Every organization has a service account; this is the one for directories that name none. It takes no JSON. */
export const ENSURE_SERVICE_ACCOUNT = statement<{ organizationId: string }>(`
  insert into users (organization_id, id, email, name, is_admin, is_technician, is_service, active)
  select :organizationId, 'service-account', 'service-account@' || lower(:organizationId) || '.invalid', 'Automation', 0, 0, 1, 1
  where not exists (select 1 from users where organization_id = :organizationId and is_service = 1)
  on conflict (organization_id, id) do update set is_admin = 0, is_technician = 0, is_service = 1, active = 1`);

/** Of a list of organization ids, those that exist, each with the id of its service account. */
export const FIND_ORGANIZATIONS = find(`
  select organizations.id, users.id as found from json_each(:json) join organizations on organizations.id = value
  left join users on users.organization_id = organizations.id and users.is_service = 1`);

/** Of a list of company ids, those that exist. */
export const FIND_COMPANIES = find(`
  select companies.id, null as found from json_each(:json)
  join companies on companies.organization_id = :organizationId and companies.id = value`);

/** The e-mail addresses of these users that other users have, each with that user's id. */
export const FIND_HELD_EMAILS = find(`
  select users.email as id, users.id as found from json_each(:json)
  join users on users.organization_id = :organizationId and users.email = value ->> 'email' and users.id <> value ->> 'id'`);

/** The companies of these agreements whose active agreement is another one, each with that agreement's id. */
export const FIND_HELD_COMPANIES = find(`
  select agreements.company_id as id, agreements.id as found from json_each(:json)
  join agreements on agreements.organization_id = :organizationId and agreements.company_id = value ->> 'company' and agreements.active = 1
    and agreements.id <> value ->> 'id'
  where value ->> 'active' = 1`);

/** Deactivates the records with these ids and returns those that were active. A service account stays: it is always active. */
export const DEACTIVATE_RECORDS = forEachType((type) =>
  statement<DirectoryValues, { id: string }>(`update ${TABLES[type].name} set active = 0
    where ${inOrganization(type, TABLES[type].name)} and id in (select value from json_each(:json)) and active = 1
    ${type === 'user' ? 'and is_service = 0' : ''} returning id`),
);

/** Which of these ids exist, and whether they are active (1) or not (0). */
export const FIND_RECORDS = forEachType((type) =>
  statement<DirectoryValues, { id: string; active: number }>(
    `select id, active from ${TABLES[type].name} where ${inOrganization(type, TABLES[type].name)} and id in (select value from json_each(:json))`,
  ),
);
