import { eq, sql } from 'drizzle-orm';
import { isBeingErased } from '../directory/erasure.ts';
import { type Database, excluded, valuesFor } from '../query.ts';
import { organizations } from '../schema/directory.ts';
import { connections } from '../schema/modules.ts';

interface Report {
  organizationId: string;
  adapterId: string;
  failure: string | null;
  /** Whether it writes nothing until a person resumes it. */
  isStopped: boolean;
  /** Whether it replaces the adapter that has reported before. */
  takesOver: boolean;
  psaName: string | null;
  now: number;
}

/** Records a report, unless another adapter has reported for the organization. */
export const saveConnection = (db: Database, report: Report) => {
  const { organizationId, adapterId, failure, isStopped, takesOver, psaName, now } = report;
  const { failingSince, stoppedAt } = connections;
  return db
    .insert(connections)
    .select(
      sql`select ${valuesFor(connections, {
        organizationId: organizations.id,
        adapterId,
        reportedAt: now,
        failingSince: failure === null ? sql`null` : now,
        failure,
        stoppedAt: isStopped ? now : sql`null`,
        psaName,
      })} from ${organizations} where ${organizations.id} = ${organizationId} and not ${isBeingErased(organizationId)}`,
    )
    .onConflictDoUpdate({
      target: connections.organizationId,
      set: {
        adapterId: excluded(connections.adapterId),
        reportedAt: excluded(connections.reportedAt),
        failingSince: sql`iif(${excluded(connections.failure)} is null, null, coalesce(${failingSince}, ${excluded(failingSince)}))`,
        failure: excluded(connections.failure),
        stoppedAt: sql`iif(${excluded(stoppedAt)} is null, null, coalesce(${stoppedAt}, ${excluded(stoppedAt)}))`,
        psaName: excluded(connections.psaName),
      },
      ...(!takesOver && { setWhere: sql`${connections.adapterId} = ${excluded(connections.adapterId)}` }),
    });
};

/** Deletes the last report of an adapter that was removed. */
export const forgetConnection = (db: Database, organizationId: string) =>
  db.delete(connections).where(eq(connections.organizationId, organizationId));

/** The connections of organizations with ids between `from` and `to`. */
export const findConnections = (db: Database, { from, to }: { from: string; to: string }) =>
  db
    .select()
    .from(connections)
    .where(sql`${connections.organizationId} between ${from} and ${to}`)
    .orderBy(connections.organizationId);
