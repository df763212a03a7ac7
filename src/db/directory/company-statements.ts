import { columns, number, type RowOf, statement, text } from '../statement.ts';

const COMPANY = { id: text('c.id'), name: text('c.name'), active: number('c.active') };

/** A company of the directory. `active` is 0 or 1. */
export type CompanyRow = RowOf<typeof COMPANY>;

/** The organization's companies among a JSON array of ids. */
export const findCompanies = statement<{ organizationId: string; ids: string }, CompanyRow>(`
  select ${columns(COMPANY)} from json_each(:ids) i
  cross join companies c on c.organization_id = :organizationId and c.id = i.value`);

export const findFirstCompanies = statement<{ organizationId: string; limit: number }, CompanyRow>(
  `select ${columns(COMPANY)} from companies c where c.organization_id = :organizationId order by c.id limit :limit`,
);
