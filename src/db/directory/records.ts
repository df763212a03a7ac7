import {
  DIRECTORY_FIELDS,
  DIRECTORY_TYPES,
  type DirectoryField,
  type DirectoryType,
  fieldsOf,
} from '../../domain/directory.ts';
import { fromKeys } from '../../lib/objects.ts';
import { statement } from '../statement.ts';

// Statements of the directory. One statement carries thousands of records as one JSON array,
// because D1 allows only 100 parameters.

const TABLES: Record<DirectoryType, string> = {
  organization: 'organizations',
  company: 'companies',
  user: 'users',
  agreement: 'agreements',
  ticket: 'tickets',
};

const columnOf = (field: DirectoryField) => DIRECTORY_FIELDS[field].column;

interface DirectoryValues {
  organizationId: string;
  /** A JSON array of records, unless the statement says otherwise. */
  json: string;
}

export interface FoundRow {
  id: string;
  found: string | null;
}

const write = (sql: string) => statement<DirectoryValues>(sql);
const find = (sql: string) => statement<DirectoryValues, FoundRow>(sql);
const forEachType = <Value>(make: (type: DirectoryType) => Value) => fromKeys(DIRECTORY_TYPES, make);

/** An organization belongs to no other: its id is its whole key. */
const keyOf = (type: DirectoryType) =>
  type === 'organization'
    ? { columns: 'id', values: ':organizationId' }
    : { columns: 'organization_id, id', values: `:organizationId, value ->> 'id'` };
const inOrganization = (type: DirectoryType, table: string) =>
  type === 'organization' ? `${table}.id = :organizationId` : `${table}.organization_id = :organizationId`;

/** Inserts records and updates those that differ. Unchanged records are not written. */
export const UPSERT_RECORDS = forEachType((type) => {
  const name = TABLES[type];
  const own = fieldsOf(type).map(columnOf);
  const key = keyOf(type);
  const fields = fieldsOf(type).map((field) => `value ->> '${field}'`);
  const present = own.map((column) => `${name}.${column}`).join(', ');
  const excluded = own.map((column) => `excluded.${column}`).join(', ');
  return write(`insert into ${name} (${key.columns}, ${own.join(', ')})
    select ${key.values}, ${fields.join(', ')} from json_each(:json) where true
    on conflict (${key.columns}) do update set (${own.join(', ')}) = (${excluded}) where (${present}) is not (${excluded})`);
});

/** The records that an upsert would create (`found` is null) or change. */
export const FIND_DIFFERING_RECORDS = forEachType((type) => {
  const fields = fieldsOf(type);
  const present = fields.map((field) => `present.${columnOf(field)}`).join(', ');
  const wanted = fields.map((field) => `value ->> '${field}'`).join(', ');
  return find(`select value ->> 'id' as id, present.id as found
    from json_each(:json) left join ${TABLES[type]} as present on ${inOrganization(type, 'present')} and present.id = value ->> 'id'
    where present.id is null or (${present}) is not (${wanted})`);
});

/** Vacates unique values before they are set, or an upsert in which two users swap email addresses would fail. */
export const VACATE_EMAILS = write(`
  update users set email = 'released-' || lower(hex(users.id)) || '@directory.invalid', is_service = 0
  from (select value ->> 'id' as id, value ->> 'email' as email, value ->> 'service' as service from json_each(:json)) as incoming
  where users.organization_id = :organizationId and users.id = incoming.id
    and (users.email, users.is_service) is not (incoming.email, incoming.service)`);

/** If the records name a service account, the previous one becomes an inactive, ordinary user. */
export const RETIRE_SERVICE_ACCOUNT = write(`
  update users set is_service = 0, active = 0
  where organization_id = :organizationId and is_service = 1
    and id <> (select value ->> 'id' from json_each(:json) where value ->> 'service' = 1)`);

/** Deactivates agreements that are about to change, so that another can become the active one. */
export const DEACTIVATE_AGREEMENTS = write(`
  update agreements set active = 0
  from (select value ->> 'id' as id, value ->> 'company' as company, value ->> 'active' as active from json_each(:json)) as incoming
  where agreements.organization_id = :organizationId and agreements.id = incoming.id and agreements.active = 1
    and (agreements.company_id, agreements.active) is not (incoming.company, incoming.active)`);

/** Adds the default service account if the directory names none. Takes no JSON. */
export const ENSURE_SERVICE_ACCOUNT = statement<{ organizationId: string }>(`
  insert into users (organization_id, id, email, name, is_admin, is_technician, is_service, active)
  select :organizationId, 'service-account', 'service-account@' || lower(:organizationId) || '.invalid', 'Automation', 0, 0, 1, 1
  where not exists (select 1 from users where organization_id = :organizationId and is_service = 1)
  on conflict (organization_id, id) do update set is_admin = 0, is_technician = 0, is_service = 1, active = 1`);

/** For a list of organization ids: those that exist, with the id of their service account. */
export const FIND_ORGANIZATIONS = find(`
  select organizations.id, users.id as found from json_each(:json) join organizations on organizations.id = value
  left join users on users.organization_id = organizations.id and users.is_service = 1`);

/** The erasures of the organization that keep it from being changed; `found` is `open` or `closed`. Takes no JSON. */
export const FIND_ERASURES = find(`
  select organization_id as id, iif(open = 1, 'open', 'closed') as found from erasures
  where organization_id = :organizationId and recreated_at is null`);

/** For a list of company ids: those that exist. */
export const FIND_COMPANIES = find(`
  select companies.id, null as found from json_each(:json)
  join companies on companies.organization_id = :organizationId and companies.id = value`);

/** The email addresses of these users that other users have, each with that user's id. */
export const FIND_HELD_EMAILS = find(`
  select users.email as id, users.id as found from json_each(:json)
  join users on users.organization_id = :organizationId and users.email = value ->> 'email' and users.id <> value ->> 'id'`);

/** The companies of these agreements that have another active agreement, each with its id. */
export const FIND_HELD_COMPANIES = find(`
  select agreements.company_id as id, agreements.id as found from json_each(:json)
  join agreements on agreements.organization_id = :organizationId and agreements.company_id = value ->> 'company' and agreements.active = 1
    and agreements.id <> value ->> 'id'
  where value ->> 'active' = 1`);

/** Deactivates records and returns those that were active. Skips service accounts, which are always active. */
export const DEACTIVATE_RECORDS = forEachType((type) =>
  statement<DirectoryValues, { id: string }>(`update ${TABLES[type]} set active = 0
    where ${inOrganization(type, TABLES[type])} and id in (select value from json_each(:json)) and active = 1
    ${type === 'user' ? 'and is_service = 0' : ''} returning id`),
);

/** Which of these ids exist, and whether they are active (1) or not (0). */
export const FIND_RECORDS = forEachType((type) =>
  statement<DirectoryValues, { id: string; active: number }>(
    `select id, active from ${TABLES[type]} where ${inOrganization(type, TABLES[type])} and id in (select value from json_each(:json))`,
  ),
);

/** Flags are true or false, and rates are in major units, as a PSA writes them. */
const asSent = {
  text: (column: string) => column,
  flag: (column: string) => `json(iif(${column} = 1, 'true', 'false'))`,
  rate: (column: string) => `${column} / 100.0`,
};

/** The records of an organization after an id, in the order of their ids, each as JSON. */
export const LIST_RECORDS = forEachType((type) => {
  const name = TABLES[type];
  const owner = type === 'organization' ? '' : "'organization', organization_id, ";
  const pairs = fieldsOf(type).map((field) => {
    const { column, contains } = DIRECTORY_FIELDS[field];
    return `'${field}', ${asSent[contains](column)}`;
  });
  return statement<{ organizationId: string; after: string; limit: number }, { id: string; record: string }>(`
    select id, json_object('type', '${type}', ${owner}'id', id, ${pairs.join(', ')}) as record from ${name}
    where ${inOrganization(type, name)} and id > :after order by id limit :limit`);
});
