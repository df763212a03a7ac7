import { findLatestDay, type OrganizationDay } from '../../db/audit/audit-log-statements.ts';
import { findOpenReviewProgress, type OpenReviewProgress } from '../../db/keys/access-review-statements.ts';
import { findKeyPage, findLiveKeys, findRefusedKeys, type KeyDetailsRow } from '../../db/keys/read-keys-statements.ts';
import { isLive } from '../../domain/api-key.ts';
import { type Fact, REFUSED_ATTENTION_MS } from '../../domain/facts.ts';
import { AFTER_ALL_IDS } from '../../domain/record-id.ts';
import { bindPageFacts, type FactOptions, toPageFacts } from '../bind-facts.ts';
import { readAll, readBatch } from '../call-d1.ts';
import type { ActorContext, AdminActor } from '../service-context.ts';
import { readUsage } from './key-usage.ts';
import { toKeyDetails } from './read-keys.ts';
import { type KeyQuery, selectKeys, stateInList, stateOf } from './select-keys.ts';

/** How many keys a list of ended keys examines, newest first. */
export const EXAMINED_KEYS = 200;

/** How many refused uses a list of refused keys examines, latest first. */
const EXAMINED_REFUSED_USES = 500;

export type KeyList = Awaited<ReturnType<typeof listKeys>>;

/**
 * The organization's keys. The live ones are all listed: their number is limited. Of the ended keys, a list examines the
 * newest `EXAMINED_KEYS` and says where to continue. What it reads does not depend on how much the keys have written.
 * `today` is in the organization's time zone. With `factOptions` it also reads what needs attention.
 */
export async function listKeys(
  ctx: ActorContext<AdminActor>,
  query: KeyQuery,
  today: string,
  factOptions?: FactOptions,
) {
  const now = ctx.now();
  const [{ live, ...overview }, others] = await Promise.all([
    readOverview(ctx, now, factOptions),
    readOtherKeys(ctx, query, now),
  ]);
  const hasLive = query.refused === undefined && query.before === undefined;
  const shown = selectKeys([...(hasLive ? live : []), ...others.keys], query, now);
  const usageOf = await readUsage(
    ctx,
    shown.map(({ id }) => id),
    today,
  );
  return {
    ...overview,
    keys: shown.map((key) => ({ ...key, usage: usageOf.get(key.id) ?? [] })),
    /** The last key that was examined, if there are older ones. */
    older: others.older,
    counts: { live: live.length, expiring: live.filter((key) => stateInList(key) === 'expiring').length },
  };
}

/** The live keys, the totals of the latest day, the progress of a review, and what needs attention. */
async function readOverview(ctx: ActorContext<AdminActor>, now: number, options: FactOptions | undefined) {
  const { organizationId } = ctx.actor;
  const [live, [latest], [open], ...facts] = await readBatch<
    [KeyDetailsRow, OrganizationDay, OpenReviewProgress, ...Fact[]]
  >(ctx, [
    findLiveKeys.bind({ organizationId, now }),
    findLatestDay.bind({ organizationId }),
    findOpenReviewProgress.bind({ organizationId, reviewId: null, now }),
    ...(options ? bindPageFacts(ctx, options, [organizationId]) : []),
  ]);
  return {
    live: live.map((row) => toKeyDetails(row, now)),
    /** What all keys have written on the latest day on which one wrote; null for an empty audit log. */
    latestDay: latest ?? null,
    /** How many keys the open access review has, and how many are decided or need no decision. */
    review: open ? { keys: open.keys, decided: open.keys - open.undecided } : null,
    /** Empty if the list was not asked for it. */
    facts: options ? toPageFacts(facts.flat(), options, now) : [],
  };
}

/** The refused keys or a page of the ended keys, from which a query also chooses. */
async function readOtherKeys(ctx: ActorContext<AdminActor>, query: KeyQuery, now: number) {
  const { organizationId } = ctx.actor;
  const { refused, before = AFTER_ALL_IDS } = query;
  if (refused !== undefined) {
    const recentUses = { since: now - REFUSED_ATTENTION_MS, examine: EXAMINED_REFUSED_USES };
    const rows = await readAll(ctx, findRefusedKeys.bind({ organizationId, reason: refused, ...recentUses }));
    return { keys: rows.map((row) => toKeyDetails(row, now)) };
  }
  if (!['all', 'ended'].includes(stateOf(query))) return { keys: [] };
  const rows = await readAll(ctx, findKeyPage.bind({ organizationId, before, limit: EXAMINED_KEYS + 1 }));
  const keys = rows.slice(0, EXAMINED_KEYS).map((row) => toKeyDetails(row, now));
  const older = rows.length > EXAMINED_KEYS ? keys.at(-1)?.id : undefined;
  return { keys: keys.filter(({ state }) => !isLive(state)), older };
}
