import { and, desc, eq, gte, type SQLWrapper, sql } from 'drizzle-orm';
import { forEachKind, type RecordKind } from '../../domain/record-kinds.ts';
import { anyDay } from '../aliases.ts';
import { type Database, excluded, type Input, once, valuesFor } from '../query.ts';
import { organizations } from '../schema/directory.ts';
import { apiKeys } from '../schema/keys.ts';
import { keyDays } from '../schema/work.ts';
import { COUNT_COLUMNS } from './record-tables.ts';

// The daily ledger: one row for each key and day, written in the transaction of each record.

export const ALL_RECORDS = sql<number>`${keyDays.notes} + ${keyDays.timeEntries}`;

export const sum = (value: SQLWrapper) => sql<number>`coalesce(sum(${value}), 0)`;

/** The day of a key's last write. After a change of the time zone it need not be its latest day: three are compared. */
export const lastDay = (key: typeof apiKeys) => sql<string>`(
  select ${anyDay.day} from (
    select ${anyDay.day}, ${anyDay.lastAt} from ${keyDays} ${anyDay}
    where ${anyDay.organizationId} = ${key.organizationId} and ${anyDay.chainId} = ${key.chainId}
      and ${anyDay.keyId} = ${key.id}
    order by ${anyDay.day} desc limit 3) ${anyDay}
  order by ${anyDay.lastAt} desc limit 1)`;

/** The rotation chain of a key. */
const chainOf = (organizationId: string, keyId: string) =>
  sql`(select ${apiKeys.chainId} from ${apiKeys} where ${apiKeys.organizationId} = ${organizationId} and ${apiKeys.id} = ${keyId})`;

/** The writes of a key's chain on a day: always one row. */
export const findChainDay = (db: Database, organizationId: string, keyId: string, day: string) =>
  db
    .select({
      records: sum(ALL_RECORDS).as('records'),
      minutes: sum(keyDays.minutes).as('minutes'),
      bytes: sum(keyDays.bytes).as('bytes'),
    })
    .from(keyDays)
    .where(
      and(
        eq(keyDays.organizationId, organizationId),
        eq(keyDays.day, day),
        sql`${keyDays.chainId} = ${chainOf(organizationId, keyId)}`,
      ),
    );

export type ChainDay = Awaited<ReturnType<typeof findChainDay>>[number];

/** The writes of each of these keys on each day since `since`: one range of the ledger for each key. */
export const findKeyDays = (db: Database, organizationId: string, keyIds: readonly string[], since: string) =>
  db
    .select({
      keyId: keyDays.keyId,
      day: keyDays.day,
      minutes: keyDays.minutes,
      lastAddress: keyDays.lastAddress,
      ...COUNT_COLUMNS,
    })
    .from(apiKeys)
    .crossJoin(keyDays)
    .where(
      and(
        eq(apiKeys.organizationId, organizationId),
        // One value, because D1 binds at most 100.
        sql`${apiKeys.id} in (select value from json_each(${JSON.stringify(keyIds)}))`,
        eq(keyDays.organizationId, organizationId),
        eq(keyDays.chainId, apiKeys.chainId),
        eq(keyDays.keyId, apiKeys.id),
        gte(keyDays.day, since),
      ),
    );

export type KeyDayRow = Awaited<ReturnType<typeof findKeyDays>>[number];

/** What the key's chain wrote on each day since `since`, and when and from where each key wrote last, latest first. */
export const findChainUse = (db: Database, organizationId: string, keyId: string, since: string) =>
  db
    .select({
      day: keyDays.day,
      records: ALL_RECORDS.as('records'),
      minutes: keyDays.minutes,
      lastAt: keyDays.lastAt,
      lastAddress: keyDays.lastAddress,
    })
    .from(keyDays)
    .where(
      and(
        eq(keyDays.organizationId, organizationId),
        gte(keyDays.day, since),
        sql`${keyDays.chainId} = ${chainOf(organizationId, keyId)}`,
      ),
    )
    .orderBy(desc(keyDays.lastAt));

type KeyDay = typeof keyDays.$inferSelect;

export interface CountedRecord
  extends Pick<KeyDay, 'organizationId' | 'chainId' | 'keyId' | 'day' | 'minutes' | 'bytes'> {
  now: KeyDay['lastAt'];
  sourceAddress: KeyDay['lastAddress'];
}

/** Counts a new record: the statement after its audit row, which does nothing if that one did nothing. */
export const countRecord = forEachKind((kind) =>
  once((db, values: Input<CountedRecord>) => {
    const one = (counted: RecordKind) => sql.raw(kind === counted ? '1' : '0');
    const row = valuesFor(keyDays, {
      organizationId: values.organizationId,
      chainId: values.chainId,
      day: values.day,
      keyId: values.keyId,
      notes: one('note'),
      timeEntries: one('time_entry'),
      minutes: values.minutes,
      bytes: values.bytes,
      lastAt: values.now,
      lastAddress: values.sourceAddress,
    });
    return db
      .insert(keyDays)
      .select(sql`select ${row} where changes() = 1`)
      .onConflictDoUpdate({
        target: [keyDays.organizationId, keyDays.chainId, keyDays.day, keyDays.keyId],
        set: {
          notes: sql`${keyDays.notes} + ${excluded(keyDays.notes)}`,
          timeEntries: sql`${keyDays.timeEntries} + ${excluded(keyDays.timeEntries)}`,
          minutes: sql`${keyDays.minutes} + ${excluded(keyDays.minutes)}`,
          bytes: sql`${keyDays.bytes} + ${excluded(keyDays.bytes)}`,
          lastAt: excluded(keyDays.lastAt),
          lastAddress: excluded(keyDays.lastAddress),
        },
      });
  }),
);

/** The writes of each organization, the largest first. Reads the whole ledger. */
export const findStoredText = (db: Database, since: string) =>
  db
    .select({
      organizationId: organizations.id,
      records: sum(ALL_RECORDS).as('records'),
      bytes: sum(keyDays.bytes).as('bytes'),
      /** Those of the days from `since` on. */
      bytesSince: sql<number>`coalesce(sum(${keyDays.bytes}) filter (where ${keyDays.day} >= ${since}), 0)`.as(
        'bytesSince',
      ),
    })
    .from(organizations)
    .leftJoin(keyDays, eq(keyDays.organizationId, organizations.id))
    .groupBy(organizations.id)
    .orderBy(sql`bytes desc`, organizations.id);
