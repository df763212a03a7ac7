import { countLiveKeysOf } from '../../db/keys/read-keys-statements.ts';
import { isLostWork } from '../../domain/facts.ts';
import { query } from '../call-d1.ts';
import { type FactOptions, findPageFacts, toPageFacts } from '../facts.ts';
import type { ServiceContext } from '../service-context.ts';
import type { Administration } from './administrators.ts';

export type OverviewItem = Awaited<ReturnType<typeof readOrganizationOverview>>[number];

/**
 * The organizations whose keys are all refused first, then those that lose work, then those with the most types of facts,
 * and otherwise in the given order.
 */
export async function readOrganizationOverview(
  ctx: ServiceContext,
  administrations: readonly Administration[],
  options: FactOptions,
) {
  const now = ctx.now();
  const ids = administrations.map(({ organization }) => organization.id);
  const [counts, ...rows] = await query(ctx, 'nothing_written', (db) =>
    db.batch([countLiveKeysOf(db, ids, now), ...findPageFacts(ctx, db, options, ids)]),
  );
  const live = new Map(counts.map(({ organizationId, keys }) => [organizationId, keys]));
  const facts = Map.groupBy(toPageFacts(rows.flat(), options), ({ organizationId }) => organizationId);
  return administrations
    .map(({ organization }) => {
      const found = facts.get(organization.id) ?? [];
      const liveKeys = live.get(organization.id) ?? 0;
      return {
        organization,
        liveKeys,
        isRefused: !organization.hasPsa && liveKeys > 0,
        losesWork: found.some(isLostWork),
        /** What its list of keys shows under "Needs attention", by type, the most urgent first. */
        facts: Map.groupBy(found, ({ type }) => type),
      };
    })
    .sort(
      (a, b) =>
        Number(b.isRefused) - Number(a.isRefused) ||
        Number(b.losesWork) - Number(a.losesWork) ||
        b.facts.size - a.facts.size,
    );
}
