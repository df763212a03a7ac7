import { and, eq, getTableColumns, type SQL, sql } from 'drizzle-orm';
import { getTableConfig, type SQLiteTable } from 'drizzle-orm/sqlite-core';
import { type Database, type Statement, valuesFor } from '../query.ts';
import { auditLog } from '../schema/audit.ts';
import { agreements, companies, erasures, organizations, tickets, users } from '../schema/directory.ts';
import { apiKeys, keyRules, refusedRequests, refusedUses } from '../schema/keys.ts';
import { alerts, connections, pushes } from '../schema/modules.ts';
import { deletions, keyDays, notes, psaRefusals, timeEntries } from '../schema/work.ts';
import { applyErasure } from './clock.ts';

/** Condition: an erasure of the organization is open, so part of its rows may be gone. */
export const isBeingErased = (organizationId: string) =>
  sql`exists (select 1 from ${erasures} where ${erasures.organizationId} = ${organizationId} and ${erasures.open} = 1)`;

// The statements of an erasure: one transaction opens it, many remove rows, and one closes it. The
// triggers of the audit log allow deletes only while the erasure is open and nothing else of the
// organization is left. From the opening on, they refuse every new audit row.

interface TheErasure {
  organizationId: string;
  requestId: string;
}

interface NewErasure extends TheErasure {
  by: string;
  /** The number and the request id of the last audit row that the caller read; 0 and null for none. */
  seq: number;
  cursorRequestId: string | null;
}

/** Opens the erasure if the organization exists and the caller has read to the end of its audit log, unless one is open. */
export const openErasure = (db: Database, { organizationId, requestId, by, seq, cursorRequestId }: NewErasure) =>
  db.insert(erasures).select(
    sql`select ${valuesFor(erasures, {
      organizationId,
      requestId,
      erasedAt: sql`unixepoch() * 1000`,
      erasedBy: by,
      lastSeq: seq,
      open: sql`1`,
      recreatedAt: sql`null`,
      recreatedBy: sql`null`,
    })}
    from ${organizations} where ${organizations.id} = ${organizationId}
      and (select coalesce(max(${auditLog.seq}), 0) from ${auditLog} where ${auditLog.organizationId} = ${organizationId}) = ${seq}
      and (select ${auditLog.requestId} from ${auditLog}
        where ${auditLog.organizationId} = ${organizationId} and ${auditLog.seq} = ${seq}) is ${cursorRequestId}
      and not ${isBeingErased(organizationId)}`,
  );

/** Records that an organization, if it was erased, is created again: the trigger of the clock then admits its directory. */
export const recordReturn = (db: Database, organizationId: string, by: string) =>
  db
    .update(erasures)
    .set({ recreatedAt: sql`unixepoch() * 1000`, recreatedBy: by })
    .where(
      sql`${erasures.organizationId} = ${organizationId} and ${erasures.open} = 0 and ${erasures.recreatedAt} is null`,
    );

export const deactivateErased = (db: Database, organizationId: string) =>
  db
    .update(organizations)
    .set({ active: 0 })
    .where(and(eq(organizations.id, organizationId), isBeingErased(organizationId)));

export const findOpenErasure = (db: Database, organizationId: string) =>
  db
    .select({
      organizationId: erasures.organizationId,
      requestId: erasures.requestId,
      /** When it was opened, in UTC milliseconds, and who asked for it. */
      erasedAt: erasures.erasedAt,
      erasedBy: erasures.erasedBy,
      lastSeq: erasures.lastSeq,
    })
    .from(erasures)
    .where(sql`${erasures.organizationId} = ${organizationId} and ${erasures.open} = 1`);

export type OpenErasure = Awaited<ReturnType<typeof findOpenErasure>>[number];

/** The erased organizations that exist, and who asked for their return; null if one is not recorded. */
export const findReturned = (db: Database) =>
  db
    .select({
      id: organizations.id,
      by: sql<string | null>`iif(max(${erasures.recreatedAt} is null), null, max(${erasures.recreatedBy}))`.as('by'),
    })
    .from(organizations)
    .innerJoin(erasures, eq(erasures.organizationId, organizations.id))
    .where(eq(erasures.open, 0))
    .groupBy(organizations.id);

const isTheOpenErasure = ({ organizationId, requestId }: TheErasure) =>
  sql`${erasures.organizationId} = ${organizationId} and ${erasures.requestId} = ${requestId} and ${erasures.open} = 1`;

const isOpen = (erasure: TheErasure) => sql`exists (select 1 from ${erasures} where ${isTheOpenErasure(erasure)})`;

/** The tables of which an erasure removes rows: referencing tables before the tables they reference, then the audit log. */
export const ERASED_TABLES = [
  notes,
  timeEntries,
  psaRefusals,
  deletions,
  keyDays,
  refusedUses,
  refusedRequests,
  pushes,
  connections,
  alerts,
  keyRules,
  apiKeys,
  agreements,
  tickets,
  companies,
  users,
  auditLog,
] as const satisfies readonly SQLiteTable[];

type ErasedTable = (typeof ERASED_TABLES)[number];

export const tableName = (table: SQLiteTable): string => getTableConfig(table).name;

/** Removes the first `limit` rows of a table. The rows of an organization are one range of its primary key. */
export function removeRows(db: Database, table: ErasedTable, erasure: TheErasure, limit: number): Statement {
  const key = sql.join(primaryKeyOf(table), sql`, `);
  return db.delete(table).where(
    sql`${isOpen(erasure)} and (${key}) in (
      select ${key} from ${table} where ${table.organizationId} = ${erasure.organizationId} order by ${key} limit ${limit})`,
  );
}

function primaryKeyOf(table: SQLiteTable): SQL[] {
  const [primaryKey] = getTableConfig(table).primaryKeys;
  const columns = primaryKey?.columns ?? Object.values(getTableColumns(table)).filter(({ primary }) => primary);
  return columns.map((column) => sql`${column}`);
}

/** Removes the organization itself, when nothing else of it is left, and closes the erasure. */
export const closeErasure = (db: Database, erasure: TheErasure): readonly Statement[] => [
  db.delete(organizations).where(and(eq(organizations.id, erasure.organizationId), isOpen(erasure))),
  applyErasure(db, isTheOpenErasure(erasure)),
  db.update(erasures).set({ open: 0 }).where(isTheOpenErasure(erasure)),
];
