import { columns, number, type RowOf, statement, text } from '../statement.ts';

const MAX_REFUSED = 100;

const UNREVOKED = `from api_keys k indexed by api_keys_unrevoked
  where k.organization_id = i.value and k.revoked_at is null and k.expires_at`;

const COUNTS = {
  organizationId: text('i.value'),
  /** Keys that are neither revoked nor expired. */
  live: number(`(select count(*) ${UNREVOKED} is null) + (select count(*) ${UNREVOKED} > :now)`),
  /** Live keys that expire soon and have no successor. */
  expiring: number(`(select count(*) ${UNREVOKED} > :now and k.expires_at <= :soon and k.successor_id is null)`),
  /** Refused uses of keys that need attention: one for each key and reason, at most `MAX_REFUSED`. */
  refused: number(`(select count(*) from (select reason from refused_uses r where r.organization_id = i.value
      and r.last_at >= :since order by r.last_at desc limit ${MAX_REFUSED}) where reason in (select value from json_each(:reasons)))`),
};

export type OrganizationCounts = RowOf<typeof COUNTS>;

/** The counts of these organizations (a JSON array of ids), from a limited number of rows for each. */
export const countOrganizations = statement<
  { organizationIds: string; now: number; soon: number; since: number; reasons: string },
  OrganizationCounts
>(`
  select ${columns(COUNTS)}
  from json_each(:organizationIds) i`);
