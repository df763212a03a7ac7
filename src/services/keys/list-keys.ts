import { findLatestDay, type OrganizationDay } from '../../db/audit/audit-log-statements.ts';
import { findOpenReviewProgress, type OpenReviewProgress } from '../../db/keys/access-review-statements.ts';
import { findKeyPage, findLiveKeys, findRefusedKeys, type KeyDetailsRow } from '../../db/keys/read-keys-statements.ts';
import { type Fact, REFUSED_ATTENTION_MS } from '../../domain/facts.ts';
import { AFTER_ALL_IDS } from '../../domain/record-id.ts';
import { bindPageFacts, type FactOptions, toFact } from '../bind-facts.ts';
import { readAll, readBatch } from '../call-d1.ts';
import type { ActorContext, AdminActor } from '../service-context.ts';
import { readUsage } from './key-usage.ts';
import { type KeyDetails, toKeyDetails } from './read-keys.ts';
import { type KeyQuery, matchingKeys, sortedKeys, stateInList } from './select-keys.ts';

export type { OrganizationDay } from '../../db/audit/audit-log-statements.ts';

/** How many keys a list of ended keys examines, newest first. */
export const EXAMINED_KEYS = 200;

/**
 * The organization's keys. The live ones are all listed: their number is limited. Of the others, a list examines the
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
  const [{ live, latestDay, review, facts }, others] = await Promise.all([
    readOverview(ctx, now, factOptions),
    readOtherKeys(ctx, query, now),
  ]);
  const shown = sortedKeys(matchingKeys(examinedKeys(live, others?.keys, query), query, now), query);
  const usageOf = await readUsage(
    ctx,
    shown.map(({ id }) => id),
    today,
  );
  return {
    keys: shown.map((key) => ({ ...key, usage: usageOf.get(key.id) ?? [] })),
    /** The last key that was examined, if there are older ones. */
    older: others?.older,
    counts: { live: live.length, expiring: live.filter((key) => stateInList(key) === 'expiring').length },
    /** Empty if the list was not asked for it. */
    facts,
    /** What all keys have written on the latest day on which one wrote; null for an empty audit log. */
    latestDay,
    /** How many keys the open access review has, and how many are decided or need no decision. */
    review,
  };
}

export type KeyList = Awaited<ReturnType<typeof listKeys>>;
export type ListedKey = KeyList['keys'][number];

/** The keys from which a query chooses. The first list of all keys has every live one, however old. */
function examinedKeys(live: KeyDetails[], others: KeyDetails[] | undefined, query: KeyQuery): KeyDetails[] {
  if (!others) return live;
  if (query.state !== 'all' || query.refused !== undefined || query.before !== undefined) return others;
  const newest = new Set(others.map(({ id }) => id));
  return [...others, ...live.filter(({ id }) => !newest.has(id))];
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
    latestDay: latest ?? null,
    review: open ? { keys: open.keys, decided: open.keys - open.undecided } : null,
    facts: facts.flat().flatMap((row) => toFact(row, now) ?? []),
  };
}

/** How many refused uses a list of refused keys examines, latest first. */
const EXAMINED_REFUSED_USES = 500;

const recentUses = (now: number) => ({ since: now - REFUSED_ATTENTION_MS, examine: EXAMINED_REFUSED_USES });

/** The keys from which a query chooses, unless the live ones are enough. */
async function readOtherKeys(
  ctx: ActorContext<AdminActor>,
  { refused, state, before = AFTER_ALL_IDS }: KeyQuery,
  now: number,
): Promise<{ keys: KeyDetails[]; older: string | undefined } | undefined> {
  const { organizationId } = ctx.actor;
  if (refused !== undefined) {
    const statement = findRefusedKeys.bind({ organizationId, reason: refused, ...recentUses(now) });
    const results = await readAll(ctx, statement);
    return { keys: results.map((row) => toKeyDetails(row, now)), older: undefined };
  }
  if (state !== 'all' && state !== 'ended') return undefined;
  const statement = findKeyPage.bind({ organizationId, before, limit: EXAMINED_KEYS + 1 });
  const results = await readAll(ctx, statement);
  const keys = results.slice(0, EXAMINED_KEYS).map((row) => toKeyDetails(row, now));
  return { keys, older: results.length > EXAMINED_KEYS ? keys.at(-1)?.id : undefined };
}
