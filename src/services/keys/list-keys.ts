import { findLatestDay } from '../../db/audit/audit-log-statements.ts';
import { findKeyPage, findLiveKeys } from '../../db/keys/read-keys-statements.ts';
import { isLive } from '../../domain/api-key.ts';
import type { Fact } from '../../domain/facts.ts';
import { AFTER_ALL_IDS } from '../../domain/record-id.ts';
import { query as queryD1 } from '../call-d1.ts';
import { type FactOptions, findPageFacts, toPageFacts } from '../facts.ts';
import type { AdminContext } from '../service-context.ts';
import { readUsage } from './key-usage.ts';
import { type KeyDetails, listKeysById, toKeyDetails } from './read-keys.ts';
import { hasNote, KEY_NOTE_NAMES, type KeyQuery, noteOf, selectKeys, stateInList, stateOf } from './select-keys.ts';

/** How many keys a list of ended keys examines, live ones included, newest first. */
export const EXAMINED_KEYS = 200;

export type KeyList = Awaited<ReturnType<typeof listKeys>>;

/**
 * The organization's keys. The live ones are all listed: their number is limited. A list of ended keys examines the newest
 * `EXAMINED_KEYS` keys and says where to continue. What it reads does not depend on how much the keys have written.
 * `today` is in the organization's time zone.
 */
export async function listKeys(ctx: AdminContext, query: KeyQuery, today: string, factOptions: FactOptions) {
  const now = ctx.now();
  const [{ live, ...overview }, others] = await Promise.all([
    readOverview(ctx, now, factOptions),
    readOtherKeys(ctx, query, now),
  ]);
  const found = query.before === undefined ? [...live, ...others.keys] : others.keys;
  const type = noteOf(query) ? undefined : query.fact;
  const keys = type === undefined ? found : await keysOfFacts(ctx, overview.facts, type, live);
  const shown = selectKeys(keys, query, now);
  const ids = shown.map(({ id }) => id);
  const usageOf = await readUsage(ctx, ids, today);
  return {
    ...overview,
    keys: shown.map((key) => ({ ...key, usage: usageOf.get(key.id) ?? [] })),
    /** The last key that was examined, if there are older ones. */
    older: others.older,
    counts: { live: live.length, expiring: live.filter((key) => stateInList(key) === 'expiring').length },
    notes: KEY_NOTE_NAMES.map((note) => ({ note, count: live.filter((key) => hasNote(key, note, now)).length })),
  };
}

/** The live keys, the totals of the latest day and what needs attention. */
async function readOverview(ctx: AdminContext, now: number, options: FactOptions) {
  const { organizationId } = ctx.actor;
  const [live, [latest], ...others] = await queryD1(ctx, 'nothing_written', (db) =>
    db.batch([
      findLiveKeys(db, organizationId, now),
      findLatestDay(db, organizationId),
      ...findPageFacts(ctx, db, options, [organizationId]),
    ]),
  );
  return {
    live: live.map((row) => toKeyDetails(row, now)),
    /** What all keys have written on the latest day on which one wrote; null for an empty audit log. */
    latestDay: latest ?? null,
    facts: toPageFacts(others.flat(), options),
  };
}

/** The keys that facts of a type are about. Those that are not live are read. */
async function keysOfFacts(ctx: AdminContext, facts: readonly Fact[], type: string, live: readonly KeyDetails[]) {
  const ids = new Set(facts.flatMap((fact) => (fact.type === type ? (fact.keyId ?? []) : [])));
  const found = live.filter(({ id }) => ids.delete(id));
  return [...found, ...(await listKeysById(ctx, [...ids]))];
}

/** A page of the ended keys, from which a query also chooses. */
async function readOtherKeys(ctx: AdminContext, query: KeyQuery, now: number) {
  const { before = AFTER_ALL_IDS, fact } = query;
  if (fact !== undefined || !['all', 'ended'].includes(stateOf(query))) return { keys: [] };
  const rows = await queryD1(ctx, 'nothing_written', (db) =>
    findKeyPage(db, ctx.actor.organizationId, before, EXAMINED_KEYS + 1),
  );
  const keys = rows.slice(0, EXAMINED_KEYS).map((row) => toKeyDetails(row, now));
  const older = rows.length > EXAMINED_KEYS ? keys.at(-1)?.id : undefined;
  return { keys: keys.filter(({ state }) => !isLive(state)), older };
}
