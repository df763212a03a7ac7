import { and, eq, sql } from 'drizzle-orm';
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core';
import { type Database, excluded, type Input, once, selectTemplate, valuesFor } from '../../db/query.ts';
import { organizations } from '../../db/schema/directory.ts';
import { alerts } from '../../db/schema/modules.ts';

// The alerts: a row for each fact that exists.

type AlertRow = typeof alerts.$inferSelect;

/** Empty `organizationId`: an alert about the deployment. */
const KEY = { organizationId: alerts.organizationId, type: alerts.type, subject: alerts.subject };
const KEY_COLUMNS = sql`${KEY.organizationId}, ${KEY.type}, ${KEY.subject}`;

/** An alert whose fact existed when the facts were last compared. */
export type StoredAlert = Pick<AlertRow, keyof typeof KEY | 'level'>;

/** The oldest alerts about these types of facts, with shares as those of the facts. `types` is a JSON array. */
export const findStoredAlerts = once((db, values: Input<{ types: string; each: number; limit: number }>) =>
  selectTemplate(
    db,
    { ...KEY, level: alerts.level },
    // The numbered rows have the name of the table, as in `claimAlerts`.
    sql`from (
      select *, row_number() over (
        partition by ${alerts.organizationId} order by ${alerts.foundAt}, ${alerts.subject}) as place
      from ${alerts} indexed by alerts_type where ${alerts.type} in (select value from json_each(${values.types}))) as ${alerts}
    where place <= ${values.each} order by place, ${alerts.organizationId} limit ${values.limit}`,
  ),
);

export type NewAlert = StoredAlert & Pick<AlertRow, 'id' | 'text'>;

/** A field of the alert from a JSON array. */
const given = (name: keyof NewAlert) => sql`value ->> ${name}`;

const isActive = (organizationId: SQLiteColumn | ReturnType<typeof given>) =>
  sql`((${organizationId}) = '' or exists (
    select 1 from ${organizations} where ${organizations.id} = (${organizationId}) and ${organizations.active} = 1))`;

/** Which outlets an alert still has to be sent to: 1 or 0. */
type Unsent = Pick<AlertRow, 'toReceiver' | 'toChat'>;

/** Stores alerts unless they are stored with the same level or a higher one. */
export const saveAlerts = (db: Database, found: readonly NewAlert[], { toReceiver, toChat }: Unsent, now: number) =>
  db
    .insert(alerts)
    .select(
      sql`select ${valuesFor(alerts, {
        organizationId: given('organizationId'),
        type: given('type'),
        subject: given('subject'),
        level: given('level'),
        id: given('id'),
        foundAt: now,
        text: given('text'),
        toReceiver,
        toChat,
        triedAt: 0,
      })}
      from json_each(${JSON.stringify(found)}) where ${isActive(given('organizationId'))}`,
    )
    .onConflictDoUpdate({
      target: Object.values(KEY),
      set: {
        level: excluded(alerts.level),
        id: excluded(alerts.id),
        foundAt: excluded(alerts.foundAt),
        text: excluded(alerts.text),
        toReceiver: excluded(alerts.toReceiver),
        toChat: excluded(alerts.toChat),
        triedAt: 0,
      },
      setWhere: sql`${excluded(alerts.level)} > ${alerts.level}`,
    });

/** Deletes alerts whose facts are gone. */
export const withdrawAlerts = (db: Database, gone: readonly StoredAlert[]) =>
  db.delete(alerts).where(
    sql`(${KEY_COLUMNS}) in (
      select ${given('organizationId')}, ${given('type')}, ${given('subject')} from json_each(${JSON.stringify(gone)}))`,
  );

interface Claim {
  now: number;
  givenUpUntil: number;
  claimedUntil: number;
  each: number;
  limit: number;
}

/**
 * Claims at most `limit` unsent alerts that were found after `givenUpUntil`, and at most `each` of one organization: no
 * other run sends those that were claimed after `claimedUntil`. The first alert of each organization comes before the
 * second of any, and the alert that was tried least recently before the others.
 */
export const claimAlerts = (db: Database, { now, givenUpUntil, claimedUntil, each, limit }: Claim) =>
  db
    .update(alerts)
    .set({ triedAt: now })
    .where(
      sql`(${KEY_COLUMNS}) in (select ${KEY_COLUMNS} from (
        select *, row_number() over (partition by ${alerts.organizationId}
          order by ${alerts.triedAt}, ${alerts.foundAt}, ${alerts.type}, ${alerts.subject}) as place
        from ${alerts} indexed by alerts_unsent
        where ${alerts.toReceiver} + ${alerts.toChat} > 0 and ${alerts.foundAt} > ${givenUpUntil}
          and ${alerts.triedAt} <= ${claimedUntil} and ${isActive(alerts.organizationId)}) as ${alerts}
      where place <= ${each} order by place, ${alerts.triedAt} limit ${limit})`,
    )
    .returning({
      ...KEY,
      id: alerts.id,
      foundAt: alerts.foundAt,
      text: alerts.text,
      toReceiver: alerts.toReceiver,
      toChat: alerts.toChat,
    });

export type DueAlert = Awaited<ReturnType<typeof claimAlerts>>[number];

/** Records what is still unsent. Also by its id: the fact may have become more urgent since the alert was claimed. */
export const recordAttempt = (db: Database, alert: Omit<DueAlert, 'foundAt' | 'text'>) =>
  db
    .update(alerts)
    .set({ toReceiver: alert.toReceiver, toChat: alert.toChat })
    .where(
      and(
        eq(alerts.organizationId, alert.organizationId),
        eq(alerts.type, alert.type),
        eq(alerts.subject, alert.subject),
        eq(alerts.id, alert.id),
      ),
    );
