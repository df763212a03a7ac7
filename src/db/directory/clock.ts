import { eq, type SQL, type SQLWrapper, sql } from 'drizzle-orm';
import { type Database, excluded, valuesFor } from '../query.ts';
import { directoryClock, erasures } from '../schema/directory.ts';

// How far each organization's directory has come in the time of those who send it. A signed message
// can be captured and sent again within minutes, so one that is older than what was applied since
// must not undo it. The trigger `directory_clock_forward` aborts the transaction of such a message.

const { at, messages } = directoryClock;

/** The messages with this one added, unless it is the last of them. */
const withMessage = (message: string | SQL) =>
  sql`iif(${messages} ->> '$[#-1]' is ${message}, ${messages}, json_insert(${messages}, '$[#]', ${message}))`;

/** Records that a message is applied. Fails with `OLDER_MESSAGE` after one with a later time or place. */
export const applyMessage = (db: Database, organizationId: string, message: { at: number; id: string }) =>
  db
    .insert(directoryClock)
    .values({ organizationId, at: message.at, messages: JSON.stringify([message.id]) })
    .onConflictDoUpdate({
      target: directoryClock.organizationId,
      set: {
        at: excluded(at),
        messages: sql`iif(${excluded(at)} > ${at}, ${excluded(messages)}, ${withMessage(message.id)})`,
      },
    });

/** The time of the newest change of an organization's directory; no row if there was none. */
export const findClock = (db: Database, organizationId: string) =>
  db.select({ at }).from(directoryClock).where(eq(directoryClock.organizationId, organizationId));

/** Stands for a change without a signed message (import, adapter). */
const UNSIGNED = sql`''`;

const applyAtDatabaseTime = (db: Database, organizationId: string | SQLWrapper, from: SQL) =>
  db
    .insert(directoryClock)
    .select(
      sql`select ${valuesFor(directoryClock, {
        organizationId,
        at: sql`unixepoch() * 1000`,
        messages: sql`json_array(${UNSIGNED})`,
      })} ${from}`,
    )
    .onConflictDoUpdate({
      target: directoryClock.organizationId,
      set: {
        at: sql`max(${at}, ${excluded(at)})`,
        messages: sql`iif(${excluded(at)} > ${at}, ${excluded(messages)}, ${withMessage(UNSIGNED)})`,
      },
    });

/** Records an unsigned change, which is never refused, at the database's time: an operator's clock may be wrong. */
export const applyUnsigned = (db: Database, organizationId: string) =>
  applyAtDatabaseTime(db, organizationId, sql`where true`);

/** Records the erasure that satisfies a condition, so that a message from before it does not bring the organization back. */
export const applyErasure = (db: Database, isTheErasure: SQL) =>
  applyAtDatabaseTime(db, erasures.organizationId, sql`from ${erasures} where ${isTheErasure}`);
