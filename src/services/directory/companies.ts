import { type CompanyRow, findCompanies, findFirstCompanies } from '../../db/directory/company-statements.ts';
import type { FieldError } from '../../domain/fields.ts';
import { companyIds, MAX_COMPANIES, settingInputs } from '../../domain/key-settings.ts';
import { compareNaturally } from '../../lib/natural-order.ts';
import { query } from '../call-d1.ts';
import { searchable } from '../keys/select-keys.ts';
import type { AdminContext } from '../service-context.ts';

export type Company = CompanyRow;

/** How many companies a search by name examines, in the order of their ids, and how many it finds. */
const EXAMINED_COMPANIES = 5_000;
const MAX_FOUND = 20;

export async function listCompanies(ctx: AdminContext, ids: readonly string[]): Promise<Company[]> {
  if (ids.length === 0) return [];
  const { organizationId } = ctx.actor;
  return byName(await query(ctx, 'nothing_written', (db) => findCompanies(db, organizationId, ids)));
}

/** The companies that a form offers, and whether these are all that it could offer. */
export interface OfferedCompanies {
  companies: readonly Company[];
  areAll: boolean;
  /** Whether a search has found more of them. */
  hasMore: boolean;
}

/**
 * The chosen companies, and with a text the active ones whose name contains it, or whose id it is. Without a text all
 * companies of an organization that has few.
 */
export async function searchCompanies(
  ctx: AdminContext,
  chosen: readonly string[],
  text?: string,
): Promise<OfferedCompanies> {
  // A form with too many companies shows them all.
  const ids = [...new Set(chosen)].slice(0, 2 * MAX_COMPANIES);
  const { organizationId } = ctx.actor;
  const [known, examined] = await query(ctx, 'nothing_written', (db) =>
    db.batch([
      findCompanies(db, organizationId, text === undefined ? ids : [...ids, text]),
      findFirstCompanies(db, organizationId, text === undefined ? MAX_FOUND + 1 : EXAMINED_COMPANIES),
    ]),
  );
  if (text === undefined && examined.length > MAX_FOUND)
    return { companies: byName(known), areAll: false, hasMore: false };
  const isKnown = new Set(known.map(({ id }) => id));
  const found = examined.filter(
    ({ id, name, active }) => active === 1 && !isKnown.has(id) && searchable(name).includes(searchable(text ?? '')),
  );
  const companies = [...byName(known), ...byName(found).slice(0, MAX_FOUND)];
  return { companies, areAll: text === undefined, hasMore: found.length > MAX_FOUND };
}

const byName = (companies: readonly Company[]) => companies.toSorted((a, b) => compareNaturally(a.name, b.name));

/** The error about entered companies that the organization does not have. A company never disappears after this. */
export async function unknownCompanies(ctx: AdminContext, input: unknown): Promise<FieldError[]> {
  const ids = companyIds(settingInputs.companies.safeParse(input).data ?? '');
  const known = new Set((await listCompanies(ctx, ids)).map(({ id }) => id));
  const unknown = ids
    .filter((id) => !known.has(id))
    .map((id) => `has ${JSON.stringify(id)}, which is not a company of your organization`);
  if (unknown.length === 0) return [];
  return [{ pointer: '/companies', code: 'unknown', detail: `companies ${unknown.join('; ')}` }];
}
