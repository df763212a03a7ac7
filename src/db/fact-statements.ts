import { sql } from 'drizzle-orm';
import { DAY_MS } from '../domain/calendar.ts';
import { WARNED_FROM } from '../domain/database-limit.ts';
import {
  DAY_LIMIT_PERCENT,
  EXPIRING_DAYS,
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
import { NEEDS_ATTENTION } from './keys/refused-use-statements.ts';
import type { Database } from './query.ts';
import { type BoundStatement, columns, type Fields, type Statement, statement } from './statement.ts';
import { waitingEntries } from './work/time-queue-statements.ts';

// The statements of the facts in domain/facts.ts.

const ALL_RECORDS = 'notes + time_entries';
const sum = (expression: string) => `coalesce(sum(${expression}), 0)`;
const LIVE_KEYS = ['is null', '> :now']
  .map(
    (expiry) =>
      `select id from api_keys indexed by api_keys_unrevoked where organization_id = o.id and revoked_at is null and expires_at ${expiry}`,
  )
  .join(' union all ');

interface CommonValues {
  now: number;
  /** The largest number of facts, the latest first where there may be many. */
  limit: number;
  /** 1 if changes are pushed: without a receiver, an old failure means nothing. */
  isPushed: number;
  /** The first day of the daily ledger to examine, `YYYY-MM-DD`. */
  firstDay: string;
  keyRecords: number;
  keyBytes: number;
  organizationRecords: number;
  organizationBytes: number;
  databaseBytes: number;
  databaseLimit: number;
}

interface FactValues extends CommonValues {
  from: string;
  to: string;
  /** The largest number of facts of one organization. */
  each: number;
}

/** The ids between which all organizations are: `~` sorts after every other character of an id. */
export const ALL_ORGANIZATIONS = { from: '', to: '~'.repeat(65) } as const;

/** The ids between which the organizations are, or only one of them. */
export const organizationRange = (only?: string) => (only === undefined ? ALL_ORGANIZATIONS : { from: only, to: only });

/** The facts that one statement finds. */
export interface FactSource {
  /** The kinds of these facts, by type. */
  kinds: Readonly<Record<string, FactKind>>;
  /**
   * Finds the facts of all organizations whose ids are between `from` and `to`: the first of each organization before
   * the second of any, so that no organization takes the place of another.
   */
  statement: Statement<FactValues, Fact>;
  /** Finds the facts of the organizations in a JSON array of ids. Undefined if no page shows them. */
  ofPage: Statement<CommonValues & { organizationIds: string }, Fact> | undefined;
}

const OMITTED = {
  organizationId: 'o.id',
  subject: "''",
  keyId: 'null',
  keyName: 'null',
  keyHint: 'null',
  keyExpiresAt: 'null',
  level: '1',
  count: '0',
  lastAt: 'null',
  detail: 'null',
};
const FIELDS = ['type', 'since', ...Object.keys(OMITTED)].join(', ');

/** The select list of a fact about the organization `o`, of a type in SQL. Omitted columns are empty. */
export const fact = (type: string, fields: Partial<Fields<Fact>> & Pick<Fields<Fact>, 'since'>) =>
  columns<Fact>({ ...OMITTED, type, ...fields });

/** The facts that a statement finds, for a batch with other statements of Drizzle. */
export const selectFacts = (db: Database, statement: BoundStatement<Fact>) =>
  db
    .select({
      type: sql<string>`type`,
      organizationId: sql<string>`organizationId`,
      subject: sql<string>`subject`,
      keyId: sql<string | null>`keyId`,
      keyName: sql<string | null>`keyName`,
      keyHint: sql<string | null>`keyHint`,
      keyExpiresAt: sql<number | null>`keyExpiresAt`,
      since: sql<number>`since`,
      level: sql<number>`level`,
      count: sql<number>`count`,
      lastAt: sql<number | null>`lastAt`,
      detail: sql<string | null>`detail`,
    })
    .from(statement.toSubquery());

/** The source of the facts of these kinds. Its text restricts the organization's id by `RANGE`. */
export function factSource(kinds: FactSource['kinds'], text: string): FactSource {
  const isShown = Object.values(kinds).some((kind) => kind.isShown);
  const ofPage = isShown
    ? statement(text.replaceAll(RANGE, 'in (select value from json_each(:organizationIds))'))
    : undefined;
  const shared = `
    select ${FIELDS} from (
      select *, row_number() over (
        partition by organizationId order by level desc, coalesce(lastAt, since) desc, subject) as place
      from (${text.replaceAll('limit :limit', '')}))
    where place <= :each order by place, organizationId limit :limit`;
  return { kinds, statement: statement(shared), ofPage };
}

const KEY = { subject: 'k.id', keyId: 'k.id', keyName: 'k.name', keyHint: 'k.hint', keyExpiresAt: 'k.expires_at' };

/** Joins keep their order: SQLite would read all keys of the database instead. */
const RANGE = 'between :from and :to';
export const IN_RANGE = `o.id ${RANGE} and o.active = 1`;
/** The live keys `k` of the organization `o` that no other key has replaced. */
const CURRENT_KEYS = `api_keys k on k.organization_id = o.id and k.id in (${LIVE_KEYS}) and k.successor_id is null`;

const [SOON, VERY_SOON] = EXPIRY_LEVELS;
const used = (amount: string, limit: string) => `${amount} * 100 / ${limit}`;
const SHARE = `max(${used('k.records', 'k.maxRecords')}, ${used('k.minutes', 'k.maxMinutes')}, ${used('k.bytes', 'k.maxBytes')})`;
const NO_LIMIT = Number.MAX_SAFE_INTEGER;

const REFUSED_USES = `
  select ${fact("'refused_' || r.reason", {
    ...KEY,
    since: 'r.first_at',
    count: 'r.count',
    lastAt: 'r.last_at',
    detail: 'r.source_address',
  })}
  from organizations o
  cross join refused_uses r indexed by refused_uses_latest on r.organization_id = o.id and r.last_at >= :now - ${REFUSED_ATTENTION_MS}
  cross join api_keys k on k.organization_id = r.organization_id and k.id = r.key_id
  where ${IN_RANGE} and ${NEEDS_ATTENTION}
  order by r.last_at desc limit :limit`;

/** The SQL that finds the facts of each type. */
const TEXTS: Readonly<Record<FactType, string>> = {
  // An adapter that does not fail reports every minute.
  push_failing: `
    select ${fact("'push_failing'", {
      subject: 's.adapter_id',
      since: 'coalesce(s.failing_since, s.stopped_at)',
      level: 'iif(s.stopped_at is null, 1, 2)',
      detail: 's.failure',
    })}
    from (
      select organization_id, '' as adapter_id, failing_since, stopped_at, failure
      from pushes indexed by pushes_in_trouble
      where :isPushed = 1 and organization_id ${RANGE} and (failing_since is not null or stopped_at is not null)
      union all
      select organization_id, adapter_id, coalesce(c.failing_since, c.reported_at), stopped_at,
        coalesce(failure, 'the adapter no longer reports')
      from connections c where organization_id ${RANGE}) s
    cross join organizations o on o.id = s.organization_id
    where o.active = 1 and (s.stopped_at is not null or s.failing_since <= :now - ${FAILING_MS})
    limit :limit`,
  refused_by_psa: `
    select ${fact("'refused_by_psa'", {
      subject: 'f.kind',
      since: 'min(f.refused_at)',
      level: 'length(count(*))',
      count: 'count(*)',
      lastAt: 'max(f.refused_at)',
    })}
    from psa_refusals f cross join organizations o on o.id = f.organization_id
    where f.organization_id ${RANGE} and f.refused_at >= :now - ${PSA_REFUSAL_DAYS * DAY_MS} and o.active = 1
    group by o.id, f.kind order by lastAt desc limit :limit`,
  ...fromKeys(
    REASONS_FOR_ATTENTION.map((reason) => `refused_${reason}` as const),
    () => REFUSED_USES,
  ),
  key_expiring: `
    select ${fact("'key_expiring'", {
      ...KEY,
      since: `k.expires_at - ${EXPIRING_DAYS * DAY_MS}`,
      level: `1 + (k.expires_at <= :now + ${SOON * DAY_MS}) + (k.expires_at <= :now + ${VERY_SOON * DAY_MS})`,
    })}
    from organizations o
    cross join api_keys k indexed by api_keys_unrevoked on k.organization_id = o.id and k.revoked_at is null
      and k.expires_at > :now and k.expires_at <= :now + ${EXPIRING_DAYS * DAY_MS}
    where ${IN_RANGE} and k.successor_id is null
    order by k.expires_at limit :limit`,
  // The ledger is read by chain: of each current key, and for the organization of every key.
  daily_limit: `
    select ${fact("'daily_limit'", {
      ...KEY,
      organizationId: 'k.organization',
      subject: "coalesce(k.id, '') || ' ' || k.day",
      since: ':now',
      level: `1 + (${SHARE} >= 100)`,
      count: SHARE,
      detail: `case ${SHARE}
        when ${used('k.records', 'k.maxRecords')} then printf('%,d new records', k.maxRecords)
        when ${used('k.minutes', 'k.maxMinutes')} then printf('%,d minutes', k.maxMinutes)
        else printf('%,d MB of text', k.maxBytes / 1000000) end || ', on ' || k.day`,
    })}
    from (
      select o.id as organization, k.id, k.name, k.hint, k.expires_at, d.day,
        ${sum(ALL_RECORDS)} as records, ${sum('d.minutes')} as minutes, ${sum('d.bytes')} as bytes,
        min(coalesce(k.day_limit_records, :keyRecords), :keyRecords) as maxRecords,
        coalesce(k.day_limit_minutes, ${NO_LIMIT}) as maxMinutes, :keyBytes as maxBytes
      from organizations o cross join ${CURRENT_KEYS}
      cross join key_days d on d.organization_id = k.organization_id and d.chain_id = k.chain_id and d.day >= :firstDay
      where ${IN_RANGE} group by o.id, k.id, d.day
      union all
      select o.id, null, null, null, null, d.day, ${sum(ALL_RECORDS)}, 0, ${sum('d.bytes')},
        :organizationRecords, ${NO_LIMIT}, :organizationBytes
      from organizations o cross join api_keys k on k.organization_id = o.id and k.id = k.chain_id
      cross join key_days d on d.organization_id = k.organization_id and d.chain_id = k.chain_id and d.day >= :firstDay
      where ${IN_RANGE} group by o.id, d.day) k
    where ${SHARE} >= ${DAY_LIMIT_PERCENT}
    order by k.day desc, k.organization, k.id limit :limit`,
  time_waiting: `
    select ${fact("'time_waiting'", {
      since: 'min(o.at)',
      count: 'count(*)',
    })}
    from (${waitingEntries(IN_RANGE)}) o group by o.id limit :limit`,
  database_size: `
    select ${fact("'database_size'", {
      organizationId: "''",
      since: ':now',
      level: `1 + (:databaseBytes >= :databaseLimit * ${WARNED_FROM[1]})`,
      count: ':databaseBytes',
      detail: "printf('%,d MB', :databaseLimit / 1000000)",
    })}
    where '' ${RANGE} and :databaseBytes >= :databaseLimit * ${WARNED_FROM[0]}`,
};

/** The sources of the core's facts, one for each statement, by the first of their types. */
export const FACT_SOURCES: Readonly<Record<string, FactSource>> = Object.fromEntries(
  Array.from(
    Map.groupBy(FACT_TYPES, (type) => TEXTS[type]),
    ([text, types]) => [types[0], factSource(pick(FACTS, types), text)],
  ),
);
