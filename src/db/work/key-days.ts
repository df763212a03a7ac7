import { forEachKind, RECORD_KIND_NAMES, type RecordKind } from '../../domain/record-kinds.ts';
import { columns, number, type RowOf, statement, text, textOrNull } from '../statement.ts';

// The daily ledger: one row for each key and day, written in the transaction of each record.

const COUNTS: Record<RecordKind, string> = { note: 'notes', time_entry: 'time_entries' };

export const ALL_RECORDS = RECORD_KIND_NAMES.map((kind) => COUNTS[kind]).join(' + ');

export const sum = (expression: string) => `coalesce(sum(${expression}), 0)`;

const CHAIN_DAY = { records: number(sum(ALL_RECORDS)), minutes: number(sum('minutes')), bytes: number(sum('bytes')) };

export type ChainDay = RowOf<typeof CHAIN_DAY>;

/** The writes of `:keyId`'s chain on `:day`: always one row. */
export const findChainDay = statement<{ organizationId: string; keyId: string; day: string }, ChainDay>(`
  select ${columns(CHAIN_DAY)} from key_days where organization_id = :organizationId and day = :day
    and chain_id = (select chain_id from api_keys where organization_id = :organizationId and id = :keyId)`);

export type KeyDayRow = Record<RecordKind, number> & {
  keyId: string;
  day: string;
  minutes: number;
  lastAddress: string | null;
};

/** The writes of each of these keys (a JSON array) on each day since `since`: one range of the ledger for each key. */
export const findKeyDays = statement<{ organizationId: string; keyIds: string; since: string }, KeyDayRow>(`
  select ${columns<KeyDayRow>({
    keyId: 'd.key_id',
    day: 'd.day',
    minutes: 'd.minutes',
    lastAddress: 'd.last_address',
    ...forEachKind((kind) => `d.${COUNTS[kind]}`),
  })}
  from json_each(:keyIds) i
  cross join api_keys k on k.organization_id = :organizationId and k.id = i.value
  cross join key_days d on d.organization_id = k.organization_id and d.chain_id = k.chain_id and d.day >= :since
    and d.key_id = k.id`);

/** What one key of a chain wrote on one day, and when and from where it wrote last. */
const CHAIN_USE = {
  day: text('d.day'),
  records: number(ALL_RECORDS),
  minutes: number('d.minutes'),
  lastAt: number('d.last_at'),
  lastAddress: textOrNull('d.last_address'),
};

/** What the key's chain wrote on each day since `since`, latest first. */
export const findChainUse = statement<
  { organizationId: string; keyId: string; since: string },
  RowOf<typeof CHAIN_USE>
>(`
  select ${columns(CHAIN_USE)}
  from key_days d
  where d.organization_id = :organizationId and d.day >= :since
    and d.chain_id = (select chain_id from api_keys where organization_id = :organizationId and id = :keyId)
  order by d.last_at desc`);

export interface CountedRecord {
  organizationId: string;
  chainId: string;
  keyId: string;
  /** Calendar date in the organization's time zone, `YYYY-MM-DD`. */
  day: string;
  now: number;
  minutes: number;
  bytes: number;
  sourceAddress: string | null;
}

/** Counts a new record: the statement after its audit row, which does nothing if that one did nothing. */
export const countRecord = forEachKind((kind) =>
  statement<CountedRecord>(`
    insert into key_days (
      organization_id, chain_id, day, key_id, ${RECORD_KIND_NAMES.map((each) => COUNTS[each]).join(', ')},
      minutes, bytes, first_seq, last_seq, last_at, last_address)
    select
      :organizationId, :chainId, :day, :keyId, ${RECORD_KIND_NAMES.map((each) => Number(each === kind)).join(', ')},
      :minutes, :bytes, seq, seq, :now, :sourceAddress
    from (select max(seq) as seq from audit_log where organization_id = :organizationId)
    where changes() = 1
    on conflict (organization_id, chain_id, day, key_id) do update set
      ${COUNTS[kind]} = ${COUNTS[kind]} + 1, minutes = minutes + excluded.minutes, bytes = bytes + excluded.bytes,
      last_seq = excluded.last_seq, last_at = excluded.last_at, last_address = excluded.last_address`),
);

export interface StoredTextRow {
  organizationId: string;
  records: number;
  bytes: number;
  /** Those of the days from `since` on. */
  bytesSince: number;
}

/** The writes of each organization, the largest first. Reads the whole ledger. */
export const findStoredText = statement<{ since: string }, StoredTextRow>(`
  select o.id as organizationId, coalesce(sum(${ALL_RECORDS}), 0) as records, coalesce(sum(d.bytes), 0) as bytes,
    coalesce(sum(d.bytes) filter (where d.day >= :since), 0) as bytesSince
  from organizations o left join key_days d on d.organization_id = o.id group by o.id order by bytes desc, o.id`);
