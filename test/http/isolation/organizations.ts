import { env } from 'cloudflare:workers';
import type { DirectoryRecordInput } from '../../../src/domain/directory.ts';
import { fromKeys } from '../../../src/lib/objects.ts';
import { directory } from '../../support/psa-calls.ts';
import { type EventOf, ORGANIZATIONS } from './events.ts';

// The organizations are as alike as they can be: they share ids of users, companies, agreements and
// tickets, email addresses, names of keys, Idempotency-Keys and form tokens. Only the mark in
// their names and texts, and their hourly rates, tell them apart.

/** The tables that hold rows of organizations and that a request may change. */
export const TABLES = [
  'users',
  'companies',
  'agreements',
  'tickets',
  'api_keys',
  'notes',
  'time_entries',
  'audit_log',
  'refused_uses',
  'refused_requests',
] as const;
export type Table = (typeof TABLES)[number];
export type Row = Record<string, string | number | null>;
/** All rows of one organization. */
export type Contents = Record<Table, Row[]>;

export interface Key {
  id: string;
  value: string;
  hint: string;
}

export interface Organization {
  id: string;
  /** Is in all of its names and texts, and in no other organization's. */
  mark: string;
  /** The address of its administrator. */
  email: string;
  keys: Key[];
}

/** Makes the organization with this number in a world of its own. */
export async function makeOrganization(world: string, number: number): Promise<Organization> {
  const organization = `org-${world}-${number}`;
  const mark = `mark-${world}-${number}-`;
  const email = `ada@${organization}.example`;
  const user = { type: 'user' as const, organization };
  const others: DirectoryRecordInput[] = [
    { ...user, id: 'ada', email, name: `${mark} Ada`, admin: true },
    // Administers the first two organizations. In the third the same address belongs to a user
    // without that right.
    { ...user, id: 'both', email: `both@${world}.example`, name: `${mark} Both`, admin: number < 2 },
    { ...user, id: 'tom', email: 'tom@shared.example', name: `${mark} Tom`, technician: true },
    { ...user, id: `${mark}own`, email: `own@${organization}.example`, name: `${mark} Own`, technician: true },
    { ...user, id: `${mark}service`, email: 'automation@shared.example', name: `${mark} Automation`, service: true },
    { type: 'company', organization, id: 'acme', name: `${mark} Acme` },
    { type: 'company', organization, id: `${mark}own`, name: `${mark} Own` },
    { type: 'ticket', organization, id: '1001', company: 'acme' },
    // Inactive in the second organization only.
    { type: 'ticket', organization, id: '1003', company: 'acme', active: number !== 1 },
    { type: 'ticket', organization, id: `${mark}own`, company: `${mark}own` },
  ];
  // Each of these starts inactive in a different organization.
  const changing = (['ticket', 'company', 'user', 'agreement'] as const).map((type, index) =>
    changingRecord(type, { id: organization, mark }, index % ORGANIZATIONS !== number),
  );
  await upsert(organization, [
    {
      type: 'organization',
      id: organization,
      name: organization,
      psa: true,
      timeZone: 'UTC',
      defaultHourlyRate: defaultRate(organization),
      approvals: number === 1 ? 'settings' : 'psa',
    },
    ...others,
    ...changing,
  ]);
  return { id: organization, mark, email, keys: [] };
}

/**
 * The record of a type that events activate and deactivate: the same in each organization, except
 * for names, rates and Tess's id.
 */
export function changingRecord(
  type: EventOf<'directory'>['type'],
  { id: organization, mark }: Pick<Organization, 'id' | 'mark'>,
  active: boolean,
  company = 'globex',
): DirectoryRecordInput {
  switch (type) {
    case 'user': {
      const tess = { id: `${mark}tess`, email: 'tess@shared.example', name: `${mark} Tess` };
      return { type, organization, ...tess, technician: true, active };
    }
    case 'company':
      return { type, organization, id: 'globex', name: `${mark} Globex`, active };
    case 'agreement':
      return { type, organization, id: 'support', company: 'acme', hourlyRate: agreedRate(organization), active };
    default:
      return { type, organization, id: '1002', company, active };
  }
}

export const agreedRate = (organization: string) => 100 + Number(organization.at(-1));
export const defaultRate = (organization: string) => 200 + Number(organization.at(-1));

/** Writes directory records; throws if one of them is refused. */
export async function upsert(organization: string, records: DirectoryRecordInput[]): Promise<void> {
  const answer = await directory.upsert(organization, records);
  if (!answer.ok || !answer.value.written) throw new Error(JSON.stringify(answer));
}

/**
 * Adds organizations that no event happens in. One has as many live keys as are allowed: counted
 * together with another organization's they would leave no room. The other one, which may not use
 * the API, comes first in every table: a query without an organization would find its row.
 */
export async function addBystanders({ id: full }: Organization): Promise<void> {
  await env.DB.prepare(
    `insert into api_keys (organization_id, id, chain_id, name, hash, hint, scopes, created_at, created_by)
     select ?1, 'key-' || value, 'key-' || value, 'Shared ' || value, lower(hex(randomblob(32))), 'twb_Full…Full',
       'tickets:note:write', 0, 'ada' from json_each(?2)`,
  )
    .bind(full, JSON.stringify(Array.from({ length: 100 }, (_, number) => number)))
    .run();
  const closed = { id: '0', name: 'Closed', psa: false, timeZone: 'UTC', defaultHourlyRate: 1, active: false };
  await upsert(closed.id, [{ type: 'organization', ...closed }]);
}

/** All rows of each of the organizations. */
export async function contentsOf(organizations: readonly Organization[]): Promise<Contents[]> {
  const ids = organizations.map(({ id }) => id);
  const select = (table: string) => `select * from ${table} where organization_id in (${ids.map(() => '?').join()})`;
  const results = await env.DB.batch<Row>(TABLES.map((table) => env.DB.prepare(select(table)).bind(...ids)));
  return ids.map((id) => {
    const rows = (table: Table) =>
      (results[TABLES.indexOf(table)]?.results ?? []).filter((row) => row['organization_id'] === id);
    return fromKeys(TABLES, rows);
  });
}

/** What belongs to one organization alone and must never be shown to another one. */
export function privateTexts({ mark, keys }: Organization, { notes, time_entries, audit_log }: Contents): string[] {
  const ids = [...notes, ...time_entries].map(({ id }) => String(id));
  const requests = audit_log.map((row) => String(row['request_id']));
  return [mark, ...keys.flatMap(({ id, value, hint }) => [id, value, hint]), ...ids, ...requests];
}
