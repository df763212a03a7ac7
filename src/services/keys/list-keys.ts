import { findLatestDay, type OrganizationDay } from '../../db/audit/read-audit-log.ts';
import { findKeyPage, findLiveKeys, findRefusedKeys, type KeyDetailsRow } from '../../db/keys/read-keys.ts';
import { type Fact, REFUSED_ATTENTION_MS } from '../../domain/facts.ts';
import { readAll, readBatch } from '../call-d1.ts';
import type { ActorContext, AdminActor } from '../context.ts';
import { bindPageFacts, type FactOptions, toFact } from '../facts.ts';
import { readUsage, recordsOf, type Usage } from './key-usage.ts';
import { type KeyDetails, toKeyDetails } from './read-keys.ts';
import { type KeyQuery, matchingKeys, sortedKeys, stateInList } from './select-keys.ts';

export type { OrganizationDay } from '../../db/audit/read-audit-log.ts';

/** How many keys a page of the list has. */
export const KEYS_PER_PAGE = 25;
/** How many keys a list of ended keys examines, newest first. */
export const EXAMINED_KEYS = 200;
/** Sorts after every id: ids are lower-case hex. */
const END = 'g';

/** A key of the list. */
export interface ListedKey extends KeyDetails {
  usage: Usage;
}

/** One page of the list of keys. */
export interface KeyList {
  keys: readonly ListedKey[];
  /** How many keys match, on all pages. */
  matching: number;
  /** The page, at most `pages`. */
  page: number;
  pages: number;
  /** The last key that was examined, if there are older ones. */
  older: string | undefined;
  /** How many live keys there are, also by their state. */
  counts: { live: number; active: number; expiring: number; replaced: number };
  /** Who created the keys from which the filters chose, by name. */
  creators: readonly { id: string; name: string }[];
  /** What needs attention; empty if the list was not asked for it. */
  facts: readonly Fact[];
  /** What all keys have written on the latest day on which one wrote; null for an empty audit log. */
  latestDay: OrganizationDay | null;
}

/**
 * One page of the organization's keys. The live ones are read in full: their number is limited. Of
 * the others, a list examines the newest `EXAMINED_KEYS` and says where to continue. What it reads
 * does not depend on how much the keys have written. `today` is in the organization's time zone.
 * With `factOptions` it also reads what needs attention.
 */
export async function listKeys(
  ctx: ActorContext<AdminActor>,
  query: KeyQuery,
  today: string,
  factOptions?: FactOptions,
): Promise<KeyList> {
  const now = ctx.now();
  const [{ live, latestDay, facts }, others] = await Promise.all([
    readOverview(ctx, now, factOptions),
    readOtherKeys(ctx, query, now),
  ]);
  const examined = others?.keys ?? live;
  const matching = matchingKeys(examined, query, now);
  const { sorted, usages } = await inOrder(ctx, matching, query, today);
  const pages = Math.max(1, Math.ceil(sorted.length / KEYS_PER_PAGE));
  const page = Math.min(query.page, pages);
  const shown = sorted.slice((page - 1) * KEYS_PER_PAGE, page * KEYS_PER_PAGE);
  const usageOf = usages ?? (await readUsage(ctx, idsOf(shown), today));
  const inState = (state: string) => live.filter((key) => stateInList(key) === state).length;
  return {
    keys: shown.map((key) => ({ ...key, usage: usageOf.get(key.id) ?? [] })),
    matching: sorted.length,
    page,
    pages,
    older: others?.older,
    counts: {
      live: live.length,
      active: inState('active'),
      expiring: inState('expiring'),
      replaced: inState('replaced'),
    },
    creators: creatorsOf(examined),
    facts,
    latestDay,
  };
}

const idsOf = (keys: readonly KeyDetails[]) => keys.map(({ id }) => id);

/** The live keys, the totals of the latest day, and what needs attention. */
async function readOverview(ctx: ActorContext<AdminActor>, now: number, options: FactOptions | undefined) {
  const { organizationId } = ctx.actor;
  const [live, [latest], ...facts] = await readBatch<[KeyDetailsRow, OrganizationDay, ...Fact[]]>(ctx, [
    findLiveKeys.bind({ organizationId, now }),
    findLatestDay.bind({ organizationId }),
    ...(options ? bindPageFacts(ctx, options, organizationId) : []),
  ]);
  return {
    live: live.map((row) => toKeyDetails(row, now)),
    latestDay: latest ?? null,
    facts: facts.flat().flatMap((row) => toFact(row, now) ?? []),
  };
}

/** How many refused uses a list of refused keys examines, latest first. */
const EXAMINED_REFUSED_USES = 500;

const recentUses = (now: number) => ({ since: now - REFUSED_ATTENTION_MS, examine: EXAMINED_REFUSED_USES });

/** The keys from which a query chooses, unless the live ones are enough. */
async function readOtherKeys(
  ctx: ActorContext<AdminActor>,
  { refused, state, before = END }: KeyQuery,
  now: number,
): Promise<{ keys: KeyDetails[]; older: string | undefined } | undefined> {
  const { organizationId } = ctx.actor;
  if (refused !== undefined) {
    const statement = findRefusedKeys.bind({ organizationId, reason: refused, ...recentUses(now) });
    const results = await readAll(ctx, statement);
    return { keys: results.map((row) => toKeyDetails(row, now)), older: undefined };
  }
  if (state !== 'all' && state !== 'expired' && state !== 'revoked') return undefined;
  const statement = findKeyPage.bind({ organizationId, before, limit: EXAMINED_KEYS + 1 });
  const results = await readAll(ctx, statement);
  const keys = results.slice(0, EXAMINED_KEYS).map((row) => toKeyDetails(row, now));
  return { keys, older: results.length > EXAMINED_KEYS ? keys.at(-1)?.id : undefined };
}

/** The keys in the order of the query, with the use of all of them if the order depends on it. */
async function inOrder(
  ctx: ActorContext<AdminActor>,
  keys: readonly KeyDetails[],
  query: KeyQuery,
  today: string,
): Promise<{ sorted: KeyDetails[]; usages?: Map<string, Usage> }> {
  if (query.sort !== 'writes') return { sorted: sortedKeys(keys, query) };
  const usages = await readUsage(ctx, idsOf(keys), today);
  const writes = new Map(Array.from(usages, ([id, usage]) => [id, recordsOf(usage)]));
  return { sorted: sortedKeys(keys, query, writes), usages };
}

function creatorsOf(keys: readonly KeyDetails[]): { id: string; name: string }[] {
  const names = new Map(keys.map(({ createdById, createdBy }) => [createdById, createdBy]));
  return Array.from(names, ([id, name]) => ({ id, name })).sort((a, b) => a.name.localeCompare(b.name, 'en'));
}
