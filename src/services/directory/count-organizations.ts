import { countOrganizations, type OrganizationCounts } from '../../db/directory/organization-counts.ts';
import { DAY_MS } from '../../domain/calendar.ts';
import { EXPIRING_DAYS, REASONS_FOR_ATTENTION, REFUSED_ATTENTION_MS } from '../../domain/facts.ts';
import { readAll } from '../call-d1.ts';
import type { ServiceContext } from '../service-context.ts';
import type { Administration } from './administrators.ts';

export type { OrganizationCounts } from '../../db/directory/organization-counts.ts';

export async function countAdministered(
  ctx: ServiceContext,
  administrations: readonly Administration[],
): Promise<Map<string, OrganizationCounts>> {
  const now = ctx.now();
  const values = {
    organizationIds: JSON.stringify(administrations.map(({ organization }) => organization.id)),
    now,
    soon: now + EXPIRING_DAYS * DAY_MS,
    since: now - REFUSED_ATTENTION_MS,
    reasons: JSON.stringify(REASONS_FOR_ATTENTION),
  };
  const results = await readAll(ctx, countOrganizations.bind(values));
  return new Map(results.map((counts) => [counts.organizationId, counts]));
}
