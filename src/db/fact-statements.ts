import { type Column, type SQL, sql } from 'drizzle-orm';
import { EXPIRING_DAYS } from '../domain/api-key.ts';
import { DAY_MS } from '../domain/calendar.ts';
import { WARNED_FROM } from '../domain/database-limit.ts';
import {
  DAY_LIMIT_PERCENT,
  EXPIRY_LEVELS,
  FACT_TYPES,
  FACTS,
  FAILING_MS,
  type Fact,
  type FactKind,
  type FactType,
  PSA_REFUSAL_DAYS,
} from '../domain/facts.ts';
import { REASONS_FOR_ATTENTION, REFUSED_ATTENTION_MS } from '../domain/refused-use.ts';
import { fromKeys, pick } from '../lib/objects.ts';
import { liveKeyIds } from './keys/read-keys-statements.ts';
import { isMinimum, needsAttention } from './keys/refused-use-statements.ts';
import { BoundStatement, type Database, fields } from './query.ts';
import { organizations } from './schema/directory.ts';
import { apiKeys, refusedUses } from './schema/keys.ts';
import { connections, pushes } from './schema/modules.ts';
import { keyDays, psaRefusals, timeEntries } from './schema/work.ts';
import { ALL_RECORDS, sum } from './work/key-days.ts';
import { isRejectedHere, waitingCount, waitingSince } from './work/time-queue-statements.ts';

// The statements of the facts in domain/facts.ts. Joins keep their order, with `cross join`: SQLite would read all keys of
// the database instead.

/** What facts depend on. */
export interface FactValues {
  now: number;
  /** The largest number of facts, the latest first where there may be many. */
  limit: number;
  /** 1 if changes are pushed: without a receiver, an old failure means nothing. */
  isPushed: number;
  /** The first day of the daily ledger to examine, `YYYY-MM-DD`. */
  firstDay: string;
  /** Records from before it are deleted (UTC milliseconds); 0 if all are kept. */
  keptSince: number;
  keyRecords: number;
  keyBytes: number;
  organizationRecords: number;
  organizationBytes: number;
  databaseBytes: number;
  databaseLimit: number;
}

/** Facts of which organizations a statement finds. */
export interface FactSearch extends FactValues {
  /** Condition: the organization with this id is one of them. */
  isIn: (organizationId: Column | SQL) => SQL;
  /** The end of the statement: at most `limit` facts, or all, if the statement around it has a limit. */
  upToLimit: SQL;
}

/** The ids between which all organizations are: `~` sorts after every other character of an id. */
const ALL_ORGANIZATIONS = { from: '', to: '~'.repeat(65) } as const;

/** The ids between which the organizations are, or only one of them. */
export const organizationRange = (only?: string) => (only === undefined ? ALL_ORGANIZATIONS : { from: only, to: only });

const name = (field: keyof Fact) => sql.identifier(field);

const selectFacts = (db: Database, facts: SQL) =>
  db
    .select({
      type: sql<string>`${name('type')}`,
      organizationId: sql<string>`${name('organizationId')}`,
      subject: sql<string>`${name('subject')}`,
      keyId: sql<string | null>`${name('keyId')}`,
      keyName: sql<string | null>`${name('keyName')}`,
      keyHint: sql<string | null>`${name('keyHint')}`,
      keyExpiresAt: sql<number | null>`${name('keyExpiresAt')}`,
      since: sql<number>`${name('since')}`,
      level: sql<number>`${name('level')}`,
      count: sql<number>`${name('count')}`,
      isMinimum: sql<number>`${name('isMinimum')}`,
      lastAt: sql<number | null>`${name('lastAt')}`,
      sourceAddress: sql<string | null>`${name('sourceAddress')}`,
      failure: sql<string | null>`${name('failure')}`,
      limitInWords: sql<string | null>`${name('limitInWords')}`,
    })
    .from(facts);

type FactQuery = ReturnType<typeof selectFacts>;

/** The facts that one statement finds. */
export interface FactSource {
  /** The kinds of these facts, by type. */
  kinds: Readonly<Record<string, FactKind>>;
  /**
   * Finds the facts of all organizations, at most `each` of one: the first of each organization before the second of any,
   * so that no organization takes the place of another.
   */
  ofAll: (db: Database, values: FactValues, each: number) => BoundStatement<Fact>;
  /** Finds the facts of these organizations. Undefined if no page shows them. */
  ofPage: ((db: Database, values: FactValues, organizationIds: readonly string[]) => FactQuery) | undefined;
}

/** Values that a fact about one of the `organizations` has unless its select list says otherwise. */
const OMITTED = {
  organizationId: sql`${organizations.id}`,
  subject: sql`''`,
  keyId: sql`null`,
  keyName: sql`null`,
  keyHint: sql`null`,
  keyExpiresAt: sql`null`,
  level: sql`1`,
  count: sql`0`,
  isMinimum: sql`0`,
  lastAt: sql`null`,
  sourceAddress: sql`null`,
  failure: sql`null`,
  limitInWords: sql`null`,
};

type FactFields = Readonly<Record<keyof Fact, Column | SQL>>;

/** The select list of a fact. Its type is SQL; omitted fields are empty. */
export const fact = (
  type: SQL,
  { since, ...others }: Partial<Omit<FactFields, 'type'>> & Pick<FactFields, 'since'>,
): SQL => {
  const selected: FactFields = { ...OMITTED, type, since, ...others };
  return fields(selected);
};

/** The source of the facts of these kinds. `find` is a statement that respects its search. */
export const factSource = (kinds: FactSource['kinds'], find: (search: FactSearch) => SQL): FactSource => ({
  kinds,
  ofAll: (db, values, each) => {
    const { from, to } = ALL_ORGANIZATIONS;
    const facts = find({ ...values, isIn: (id) => sql`${id} between ${from} and ${to}`, upToLimit: sql.empty() });
    const place = sql`row_number() over (partition by ${name('organizationId')}
      order by ${name('level')} desc, coalesce(${name('lastAt')}, ${name('since')}) desc, ${name('subject')})`;
    const query = selectFacts(db, sql`(select *, ${place} as place from (${facts}))`)
      .where(sql`place <= ${each}`)
      .orderBy(sql`place, ${name('organizationId')}`)
      .limit(values.limit)
      .toSQL();
    return new BoundStatement(query);
  },
  ofPage: Object.values(kinds).some(({ isShown }) => isShown)
    ? (db, values, organizationIds) => {
        const ids = JSON.stringify(organizationIds);
        const isIn = (id: Column | SQL) => sql`${id} in (select value from json_each(${ids}))`;
        return selectFacts(db, sql`(${find({ ...values, isIn, upToLimit: sql`limit ${values.limit}` })})`);
      }
    : undefined,
});

const KEY = {
  subject: apiKeys.id,
  keyId: apiKeys.id,
  keyName: apiKeys.name,
  keyHint: apiKeys.hint,
  keyExpiresAt: apiKeys.expiresAt,
};

/** Condition: the organization is active and one of the search. */
export const isActiveIn = ({ isIn }: FactSearch) => sql`${isIn(organizations.id)} and ${organizations.active} = 1`;

const findRefused = (search: FactSearch) => sql`
  select ${fact(sql`'refused_' || ${refusedUses.reason}`, {
    ...KEY,
    subject: sql`rtrim(${apiKeys.id} || ' ' || ${refusedUses.limitId})`,
    since: refusedUses.firstAt,
    count: refusedUses.count,
    isMinimum,
    lastAt: refusedUses.lastAt,
    sourceAddress: refusedUses.sourceAddress,
    limitInWords: sql`replace(${refusedUses.dayLimit} ->> 'what', 'bytes', 'text')
      || iif(${refusedUses.dayLimit} ->> 'name' = 'key-day', ' of the key', ' of the organization')`,
  })}
  from ${organizations}
  cross join ${refusedUses} indexed by refused_uses_latest on ${refusedUses.organizationId} = ${organizations.id}
    and ${refusedUses.lastAt} >= ${search.now - REFUSED_ATTENTION_MS}
  cross join ${apiKeys} on ${apiKeys.organizationId} = ${refusedUses.organizationId} and ${apiKeys.id} = ${refusedUses.keyId}
  where ${isActiveIn(search)} and ${needsAttention(search.now)}
  order by ${refusedUses.lastAt} desc ${search.upToLimit}`;

/** Pushes in trouble and all adapters, as rows like those of `connections`. An adapter that does not fail reports every minute. */
const findTroubles = ({ isIn, isPushed }: FactSearch) => sql`
  select ${pushes.organizationId}, '' as ${sql.identifier(connections.adapterId.name)}, ${pushes.failingSince},
    ${pushes.stoppedAt}, ${pushes.failure}
  from ${pushes} indexed by pushes_in_trouble
  where ${isPushed} = 1 and ${isIn(pushes.organizationId)} and (${pushes.failingSince} is not null or ${pushes.stoppedAt} is not null)
  union all
  select ${connections.organizationId}, ${connections.adapterId}, coalesce(${connections.failingSince}, ${connections.reportedAt}),
    ${connections.stoppedAt}, coalesce(${connections.failure}, 'the adapter no longer reports')
  from ${connections} where ${isIn(connections.organizationId)}`;

const findFailing = (search: FactSearch) => sql`
  select ${fact(sql`'push_failing'`, {
    subject: connections.adapterId,
    since: sql`coalesce(${connections.failingSince}, ${connections.stoppedAt})`,
    level: sql`iif(${connections.stoppedAt} is null, 1, 2)`,
    failure: connections.failure,
  })}
  from (${findTroubles(search)}) ${connections}
  cross join ${organizations} on ${organizations.id} = ${connections.organizationId}
  where ${organizations.active} = 1
    and (${connections.stoppedAt} is not null or ${connections.failingSince} <= ${search.now - FAILING_MS})
  ${search.upToLimit}`;

const findRefusedByPsa = ({ isIn, now, upToLimit }: FactSearch) => sql`
  select ${fact(sql`'refused_by_psa'`, {
    subject: psaRefusals.kind,
    since: sql`min(${psaRefusals.refusedAt})`,
    level: sql`length(count(*))`,
    count: sql`count(*)`,
    lastAt: sql`max(${psaRefusals.refusedAt})`,
  })}
  from ${psaRefusals} cross join ${organizations} on ${organizations.id} = ${psaRefusals.organizationId}
  where ${isIn(psaRefusals.organizationId)} and ${psaRefusals.refusedAt} >= ${now - PSA_REFUSAL_DAYS * DAY_MS}
    and ${organizations.active} = 1
    and not exists (select 1 from ${timeEntries} where ${timeEntries.id} = ${psaRefusals.recordId} and ${isRejectedHere})
  group by ${organizations.id}, ${psaRefusals.kind} order by ${name('lastAt')} desc ${upToLimit}`;

const [SOON, VERY_SOON] = EXPIRY_LEVELS;

function findExpiring(search: FactSearch): SQL {
  const endsWithin = (days: number) => sql`${apiKeys.expiresAt} <= ${search.now + days * DAY_MS}`;
  return sql`
    select ${fact(sql`'key_expiring'`, {
      ...KEY,
      since: sql`${apiKeys.expiresAt} - ${EXPIRING_DAYS * DAY_MS}`,
      level: sql`1 + (${endsWithin(SOON)}) + (${endsWithin(VERY_SOON)})`,
    })}
    from ${organizations}
    cross join ${apiKeys} indexed by api_keys_unrevoked on ${apiKeys.organizationId} = ${organizations.id}
      and ${apiKeys.revokedAt} is null and ${apiKeys.expiresAt} > ${search.now} and ${endsWithin(EXPIRING_DAYS)}
    where ${isActiveIn(search)} and ${apiKeys.successorId} is null
    order by ${apiKeys.expiresAt} ${search.upToLimit}`;
}

const NO_LIMIT = sql.raw(String(Number.MAX_SAFE_INTEGER));

/** What each current key, and each organization, has written on each day, with its limits. */
function findUsedLimits(search: FactSearch): SQL {
  const { now, firstDay, keyRecords, keyBytes, organizationRecords, organizationBytes } = search;
  const written = { day: keyDays.day, records: sum(ALL_RECORDS), bytes: sum(keyDays.bytes) };
  const ofKeys = fields({
    organizationId: organizations.id,
    keyId: apiKeys.id,
    keyName: apiKeys.name,
    keyHint: apiKeys.hint,
    keyExpiresAt: apiKeys.expiresAt,
    ...written,
    minutes: sum(keyDays.minutes),
    maxRecords: sql`min(coalesce(${apiKeys.dayLimitRecords}, ${keyRecords}), ${keyRecords})`,
    maxMinutes: sql`coalesce(${apiKeys.dayLimitMinutes}, ${NO_LIMIT})`,
    maxBytes: sql`${keyBytes}`,
  });
  const ofOrganizations = fields({
    organizationId: organizations.id,
    keyId: sql`null`,
    keyName: sql`null`,
    keyHint: sql`null`,
    keyExpiresAt: sql`null`,
    ...written,
    minutes: sql`0`,
    maxRecords: sql`${organizationRecords}`,
    maxMinutes: NO_LIMIT,
    maxBytes: sql`${organizationBytes}`,
  });
  // The ledger is read by chain: of each current key, and for the organization of every key.
  const ledger = sql`cross join ${keyDays} on ${keyDays.organizationId} = ${apiKeys.organizationId}
    and ${keyDays.chainId} = ${apiKeys.chainId} and ${keyDays.day} >= ${firstDay}`;
  return sql`
    select ${ofKeys} from ${organizations}
    cross join ${apiKeys} on ${apiKeys.organizationId} = ${organizations.id}
      and ${apiKeys.id} in (${liveKeyIds(sql`${organizations.id}`, now)}) and ${apiKeys.successorId} is null
    ${ledger} where ${isActiveIn(search)} group by ${organizations.id}, ${apiKeys.id}, ${keyDays.day}
    union all
    select ${ofOrganizations} from ${organizations}
    cross join ${apiKeys} on ${apiKeys.organizationId} = ${organizations.id} and ${apiKeys.id} = ${apiKeys.chainId}
    ${ledger} where ${isActiveIn(search)} group by ${organizations.id}, ${keyDays.day}`;
}

/** The used percentage of a limit of `findUsedLimits`. */
const RECORDS = sql`records * 100 / maxRecords`;
const MINUTES = sql`minutes * 100 / maxMinutes`;
const SHARE = sql`max(${RECORDS}, ${MINUTES}, bytes * 100 / maxBytes)`;

const findFullDays = (search: FactSearch) => sql`
  select ${fact(sql`'daily_limit'`, {
    organizationId: sql`organizationId`,
    subject: sql`coalesce(keyId, '') || ' ' || day`,
    keyId: sql`keyId`,
    keyName: sql`keyName`,
    keyHint: sql`keyHint`,
    keyExpiresAt: sql`keyExpiresAt`,
    since: sql`${search.now}`,
    level: sql`1 + (${SHARE} >= 100)`,
    count: SHARE,
    limitInWords: sql`case ${SHARE} when ${RECORDS} then printf('%,d new record%s', maxRecords, iif(maxRecords = 1, '', 's'))
      when ${MINUTES} then printf('%,d minute%s', maxMinutes, iif(maxMinutes = 1, '', 's'))
      else printf('%,d MB of text', maxBytes / 1000000) end || ', on ' || day`,
  })}
  from (${findUsedLimits(search)}) where ${SHARE} >= ${DAY_LIMIT_PERCENT}
  order by day desc, organizationId, keyId ${search.upToLimit}`;

const findWaiting = (search: FactSearch) => sql`
  select ${fact(sql`'time_waiting'`, {
    organizationId: sql`organizationId`,
    since: sql`since`,
    level: sql`1 + (since < ${search.keptSince})`,
    count: sql`waiting`,
  })}
  from (
    select ${fields({
      organizationId: organizations.id,
      since: waitingSince(organizations.id),
      waiting: waitingCount(organizations.id),
    })} from ${organizations} where ${isActiveIn(search)}
  ) where since is not null ${search.upToLimit}`;

const findFullDatabase = ({ isIn, now, databaseBytes, databaseLimit }: FactSearch) => sql`
  select ${fact(sql`'database_size'`, {
    organizationId: sql`''`,
    since: sql`${now}`,
    level: sql`1 + (${databaseBytes} >= ${databaseLimit * WARNED_FROM[1]})`,
    count: sql`${databaseBytes}`,
    limitInWords: sql`printf('%,d MB', ${databaseLimit / 1_000_000})`,
  })}
  where ${isIn(sql`''`)} and ${databaseBytes} >= ${databaseLimit * WARNED_FROM[0]}`;

/** What finds the facts of each type. */
const FINDERS: Readonly<Record<FactType, (search: FactSearch) => SQL>> = {
  push_failing: findFailing,
  refused_by_psa: findRefusedByPsa,
  ...fromKeys(
    REASONS_FOR_ATTENTION.map((reason) => `refused_${reason}` as const),
    () => findRefused,
  ),
  key_expiring: findExpiring,
  daily_limit: findFullDays,
  time_waiting: findWaiting,
  database_size: findFullDatabase,
};

/** The sources of the core's facts, one for each statement. */
export const FACT_SOURCES: readonly FactSource[] = Array.from(
  Map.groupBy(FACT_TYPES, (type) => FINDERS[type]),
  ([find, types]) => factSource(pick(FACTS, types), find),
);
