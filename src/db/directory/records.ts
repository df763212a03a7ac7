import { type Column, type SQL, sql } from 'drizzle-orm';
import type { SQLiteTable } from 'drizzle-orm/sqlite-core';
import { DIRECTORY_FIELDS, type DirectoryField, type DirectoryType, fieldsOf } from '../../domain/directory.ts';
import { present } from '../aliases.ts';
import { type Database, excluded, type Statement, template } from '../query.ts';
import { agreements, companies, erasures, organizations, tickets, users } from '../schema/directory.ts';

// Statements of the directory. One statement carries thousands of records as one JSON array,
// because D1 allows only 100 parameters.

interface DirectoryTable {
  table: SQLiteTable;
  /** The column with the id of the organization, and the one with the record's id. An organization's id is both. */
  organization: Column;
  id: Column;
  active: Column;
  /** The column of each field. */
  columns: Readonly<Partial<Record<DirectoryField, Column>>>;
}

const TABLES: Readonly<Record<DirectoryType, DirectoryTable>> = {
  organization: {
    table: organizations,
    organization: organizations.id,
    id: organizations.id,
    active: organizations.active,
    columns: {
      name: organizations.name,
      psa: organizations.hasPsa,
      timeZone: organizations.timeZone,
      defaultHourlyRate: organizations.defaultHourlyRateMinor,
      approvals: organizations.approvals,
      active: organizations.active,
    },
  },
  company: {
    table: companies,
    organization: companies.organizationId,
    id: companies.id,
    active: companies.active,
    columns: { name: companies.name, active: companies.active },
  },
  user: {
    table: users,
    organization: users.organizationId,
    id: users.id,
    active: users.active,
    columns: {
      email: users.email,
      name: users.name,
      admin: users.isAdmin,
      technician: users.isTechnician,
      service: users.isService,
      active: users.active,
    },
  },
  agreement: {
    table: agreements,
    organization: agreements.organizationId,
    id: agreements.id,
    active: agreements.active,
    columns: { company: agreements.companyId, hourlyRate: agreements.hourlyRateMinor, active: agreements.active },
  },
  ticket: {
    table: tickets,
    organization: tickets.organizationId,
    id: tickets.id,
    active: tickets.active,
    columns: { company: tickets.companyId, active: tickets.active },
  },
};

/** The fields of a type with their columns. */
const columnsOf = (type: DirectoryType) =>
  fieldsOf(type).flatMap((field): [field: DirectoryField, column: Column][] => {
    const column = TABLES[type].columns[field];
    return column ? [[field, column]] : [];
  });

/** The primary key of a type, without the same column twice. */
const keyOf = ({ organization, id }: DirectoryTable) => (organization === id ? [id] : [organization, id]);

const list = (parts: readonly SQL[]) => sql.join([...parts], sql`, `);
const name = (column: Column) => sql`${sql.identifier(column.name)}`;
const column = (one: Column) => sql`${one}`;
/** A field of a record in a JSON array, which `json_each` reads. */
const sent = (field: string) => sql`value ->> ${sql.raw(`'${field}'`)}`;

interface DirectoryValues {
  organizationId: string;
  /** A JSON array of records, unless the statement says otherwise. */
  json: string;
}

/** A row of a statement that looks for something: its `id` and what was `found`. */
export interface FoundRow {
  id: string;
  found: string | null;
}

/** A statement of the directory. Its rows, if there are any, have the fields `id` and `found`. */
export type DirectoryStatement = (db: Database, values: DirectoryValues) => Statement<FoundRow>;

const statement =
  (build: (values: DirectoryValues) => SQL): DirectoryStatement =>
  (db, values) =>
    template<FoundRow>(db, build(values));

/** Inserts records and updates those that differ. Unchanged records are not written. */
export const upsertRecords = (type: DirectoryType): DirectoryStatement =>
  statement(({ organizationId, json }) => {
    const { table, ...ids } = TABLES[type];
    const own = columnsOf(type);
    const key = keyOf({ table, ...ids });
    const keyValues = key.length === 1 ? [sql`${organizationId}`] : [sql`${organizationId}`, sent('id')];
    const columns = own.map(([, column]) => column);
    const changed = list(columns.map(excluded));
    return sql`insert into ${table} (${list([...key, ...columns].map(name))})
      select ${list([...keyValues, ...own.map(([field]) => sent(field))])} from json_each(${json}) where true
      on conflict (${list(key.map(name))}) do update set (${list(columns.map(name))}) = (${changed})
      where (${list(columns.map(column))}) is not (${changed})`;
  });

/** The records that an upsert would create (`found` is null) or change. */
export const findDifferingRecords = (type: DirectoryType): DirectoryStatement =>
  statement(({ organizationId, json }) => {
    const { table, organization, id } = TABLES[type];
    const own = columnsOf(type);
    return sql`select ${sent('id')} as id, ${id} as found
      from json_each(${json}) left join ${table} on ${organization} = ${organizationId} and ${id} = ${sent('id')}
      where ${id} is null or (${list(own.map(([, one]) => column(one)))}) is not (${list(own.map(([field]) => sent(field)))})`;
  });

/** Vacates unique values before they are set, or an upsert in which two users swap email addresses would fail. */
export const vacateEmails = statement(
  ({ organizationId, json }) => sql`
    update ${users} set ${name(users.email)} = 'released-' || lower(hex(${users.id})) || '@directory.invalid', ${name(users.isService)} = 0
    from (select ${sent('id')} as id, ${sent('email')} as email, ${sent('service')} as service from json_each(${json})) as incoming
    where ${users.organizationId} = ${organizationId} and ${users.id} = incoming.id
      and (${users.email}, ${users.isService}) is not (incoming.email, incoming.service)`,
);

/** If the records name a service account, the previous one becomes an inactive, ordinary user. */
export const retireServiceAccount = statement(
  ({ organizationId, json }) => sql`
    update ${users} set ${name(users.isService)} = 0, ${name(users.active)} = 0
    where ${users.organizationId} = ${organizationId} and ${users.isService} = 1
      and ${users.id} <> (select ${sent('id')} from json_each(${json}) where ${sent('service')} = 1)`,
);

/** Deactivates agreements that are about to change, so that another can become the active one. */
export const deactivateAgreements = statement(
  ({ organizationId, json }) => sql`
    update ${agreements} set ${name(agreements.active)} = 0
    from (select ${sent('id')} as id, ${sent('company')} as company, ${sent('active')} as active from json_each(${json})) as incoming
    where ${agreements.organizationId} = ${organizationId} and ${agreements.id} = incoming.id and ${agreements.active} = 1
      and (${agreements.companyId}, ${agreements.active}) is not (incoming.company, incoming.active)`,
);

/** Adds the default service account if the directory names none. */
export const ensureServiceAccount = (db: Database, organizationId: string): Statement =>
  template(
    db,
    sql`insert into ${users} (${list(SERVICE_ACCOUNT_COLUMNS.map(name))})
      select ${organizationId}, 'service-account', 'service-account@' || lower(${organizationId}) || '.invalid', 'Automation', 0, 0, 1, 1
      where not exists (select 1 from ${users} ${present} where ${present.organizationId} = ${organizationId} and ${present.isService} = 1)
      on conflict (${name(users.organizationId)}, ${name(users.id)}) do update set ${name(users.isAdmin)} = 0,
        ${name(users.isTechnician)} = 0, ${name(users.isService)} = 1, ${name(users.active)} = 1`,
  );

const SERVICE_ACCOUNT_COLUMNS = [
  users.organizationId,
  users.id,
  users.email,
  users.name,
  users.isAdmin,
  users.isTechnician,
  users.isService,
  users.active,
];

/** One organization, if there is any. */
export const findAnyOrganization = (db: Database) => db.select({ id: organizations.id }).from(organizations).limit(1);

/** For a list of organization ids: those that exist, with the id of their service account. */
export const findOrganizations = statement(
  ({ json }) => sql`
    select ${organizations.id} as id, ${users.id} as found from json_each(${json}) join ${organizations} on ${organizations.id} = value
    left join ${users} on ${users.organizationId} = ${organizations.id} and ${users.isService} = 1`,
);

/** The erasures of the organization that keep it from being changed; `found` is `open` or `closed`. */
export const findErasures = statement(
  ({ organizationId }) => sql`
    select ${erasures.organizationId} as id, iif(${erasures.open} = 1, 'open', 'closed') as found from ${erasures}
    where ${erasures.organizationId} = ${organizationId} and ${erasures.recreatedAt} is null`,
);

/** For a list of company ids: those that exist. */
export const findKnownCompanies = statement(
  ({ organizationId, json }) => sql`
    select ${companies.id} as id, null as found from json_each(${json})
    join ${companies} on ${companies.organizationId} = ${organizationId} and ${companies.id} = value`,
);

/** The email addresses of these users that other users have, each with that user's id. */
export const findHeldEmails = statement(
  ({ organizationId, json }) => sql`
    select ${users.email} as id, ${users.id} as found from json_each(${json})
    join ${users} on ${users.organizationId} = ${organizationId} and ${users.email} = ${sent('email')} and ${users.id} <> ${sent('id')}`,
);

/** The companies of these agreements that have another active agreement, each with its id. */
export const findHeldCompanies = statement(
  ({ organizationId, json }) => sql`
    select ${agreements.companyId} as id, ${agreements.id} as found from json_each(${json})
    join ${agreements} on ${agreements.organizationId} = ${organizationId} and ${agreements.companyId} = ${sent('company')}
      and ${agreements.active} = 1 and ${agreements.id} <> ${sent('id')}
    where ${sent('active')} = 1`,
);

/** Deactivates records and returns those that were active. Skips service accounts, which are always active. */
export const deactivateRecords = (type: DirectoryType): DirectoryStatement =>
  statement(({ organizationId, json }) => {
    const { table, organization, id, active } = TABLES[type];
    return sql`update ${table} set ${name(active)} = 0
      where ${organization} = ${organizationId} and ${id} in (select value from json_each(${json})) and ${active} = 1
      ${type === 'user' ? sql`and ${users.isService} = 0` : sql``} returning ${name(id)} as id, null as found`;
  });

/** Which of these ids exist, and whether they are active: `found` is 1 or 0, as text. */
export const findRecords = (type: DirectoryType): DirectoryStatement =>
  statement(({ organizationId, json }) => {
    const { table, organization, id, active } = TABLES[type];
    return sql`select ${id} as id, cast(${active} as text) as found from ${table}
      where ${organization} = ${organizationId} and ${id} in (select value from json_each(${json}))`;
  });

/** Flags are true or false, and rates are in major units, as a PSA writes them. */
const asSent = {
  text: (one: Column) => sql`${one}`,
  flag: (one: Column) => sql`json(iif(${one} = 1, 'true', 'false'))`,
  rate: (one: Column) => sql`${one} / 100.0`,
};

/** The records of an organization after an id, in the order of their ids, each as JSON. */
export function listRecords(
  db: Database,
  type: DirectoryType,
  { organizationId, after, limit }: { organizationId: string; after: string; limit: number },
) {
  const { table, organization, id } = TABLES[type];
  const pair = (field: string, value: SQL) => sql`${sql.raw(`'${field}'`)}, ${value}`;
  const pairs = [
    pair('type', sql.raw(`'${type}'`)),
    ...(type === 'organization' ? [] : [pair('organization', sql`${organization}`)]),
    pair('id', sql`${id}`),
    ...columnsOf(type).map(([field, one]) => pair(field, asSent[DIRECTORY_FIELDS[field].contains](one))),
  ];
  return db
    .select({ id: sql<string>`${id}`.as('id'), record: sql<string>`json_object(${list(pairs)})`.as('record') })
    .from(sql`${table}`)
    .where(sql`${organization} = ${organizationId} and ${id} > ${after}`)
    .orderBy(sql`${id}`)
    .limit(limit);
}
