import { RECORD_KIND_NAMES } from '../../domain/record-kinds.ts';
import { statement } from '../statement.ts';
import { RECORD_TABLES } from '../work/record-tables.ts';

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
 * Referencing tables before the tables they reference, and the audit log last. In each table, the
 * rows of an organization are one range of the primary key.
 */
const TABLES = [
  ...RECORD_KIND_NAMES.map((kind) => RECORD_TABLES[kind].table),
  'refused_uses',
  'api_keys',
  'agreements',
  'tickets',
  'companies',
  'users',
  'audit_log',
];

/** Deletes the organization, table by table, then closes the erasure. */
export const ERASE = [
  ...TABLES.map((table) => `delete from ${table} where organization_id = :organizationId and ${IS_OPEN}`),
  `delete from organizations where id = :organizationId and ${IS_OPEN}`,
  'update erasures set open = 0 where organization_id = :organizationId and request_id = :requestId and open = 1',
].map((sql) => statement<ErasureValues>(sql));

/** The erasure of this request, if it was committed. */
export const findErasure = statement<ErasureValues, { lastSeq: number }>(
  'select last_seq as lastSeq from erasures where organization_id = :organizationId and request_id = :requestId',
);
