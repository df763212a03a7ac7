import { RECORD_KIND_NAMES } from '../../domain/record-kinds.ts';
import { statement } from '../statement.ts';
import { RECORD_TABLES } from '../work/record-tables.ts';
import { applyErasure } from './clock.ts';

// The statements of an erasure, sent as one transaction in the order of `ERASE`. They do nothing
// unless `openErasure` opened the erasure: the organization exists, and the caller has read to the
// end of its audit log. The triggers of the audit log allow deletes only while the erasure is open
// and nothing else of the organization is left.

interface ErasureValues {
  organizationId: string;
  requestId: string;
}

/**
 * Opens the erasure. `seq` and `cursorRequestId` are the number and request id of the last audit
 * row that the caller read; 0 and null for none.
 */
export const openErasure = statement<
  ErasureValues & { now: number; by: string; seq: number; cursorRequestId: string | null }
>(`
  insert into erasures (organization_id, request_id, erased_at, erased_by, last_seq, open)
  select :organizationId, :requestId, :now, :by, :seq, 1 from organizations where id = :organizationId
    and (select coalesce(max(seq), 0) from audit_log where organization_id = :organizationId) = :seq
    and (select request_id from audit_log where organization_id = :organizationId and seq = :seq) is :cursorRequestId`);

const IS_OPEN =
  'exists (select 1 from erasures where organization_id = :organizationId and request_id = :requestId and open = 1)';

/**
 * The tables that an erasure deletes from: referencing tables before the tables they reference,
 * then the audit log, then the organization itself. In each table, the rows of an organization are
 * one range of the primary key.
 */
export const ERASED_TABLES = [
  ...RECORD_KIND_NAMES.flatMap((kind) => [RECORD_TABLES[kind].table, RECORD_TABLES[kind].archived.table]),
  'releases',
  'key_days',
  'refused_uses',
  'pushes',
  'key_review_decisions',
  'key_reviews',
  'key_policies',
  'api_keys',
  'agreements',
  'tickets',
  'companies',
  'users',
  'audit_log',
  'archives',
  'organizations',
];

const rowsOf = (table: string) =>
  `from ${table} where ${table === 'organizations' ? 'id' : 'organization_id'} = :organizationId`;

/** Deletes the organization, table by table as in `ERASED_TABLES`, then closes the erasure. */
export const ERASE = [
  ...ERASED_TABLES.map((table) => `delete ${rowsOf(table)} and ${IS_OPEN}`),
  applyErasure(IS_OPEN),
  'update erasures set open = 0 where organization_id = :organizationId and request_id = :requestId and open = 1',
].map((sql) => statement<ErasureValues>(sql));

/** The erasure of this request, if it was committed. */
export const findErasure = statement<ErasureValues, { lastSeq: number }>(
  'select last_seq as lastSeq from erasures where organization_id = :organizationId and request_id = :requestId',
);

/** How many rows of each of `ERASED_TABLES` the organization has. */
export const countErasableRows = statement<{ organizationId: string }, Record<string, number>>(
  `select ${ERASED_TABLES.map((table) => `(select count(*) ${rowsOf(table)}) as ${table}`).join(', ')}`,
);
