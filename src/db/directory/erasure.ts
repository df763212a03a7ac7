import { RECORD_KIND_NAMES } from '../../domain/record-kinds.ts';
import { columns, number, type RowOf, statement, text } from '../statement.ts';
import { RECORD_TABLES } from '../work/record-tables.ts';
import { applyErasure } from './clock.ts';

/** Condition: an erasure of the organization is open, so part of its rows may be gone. */
export const IS_BEING_ERASED =
  'exists (select 1 from erasures where erasures.organization_id = :organizationId and erasures.open = 1)';

// The statements of an erasure: one transaction opens it, many remove rows, and one closes it. The
// triggers of the audit log allow deletes only while the erasure is open and nothing else of the
// organization is left. From the opening on, they refuse every new audit row.

interface ErasureValues {
  organizationId: string;
  requestId: string;
}

/**
 * Opens the erasure if the organization exists and the caller has read to the end of its audit log,
 * unless one is open. `seq` and `cursorRequestId` are the number and request id of the last audit
 * row that the caller read; 0 and null for none.
 */
export const openErasure = statement<ErasureValues & { by: string; seq: number; cursorRequestId: string | null }>(`
  insert into erasures (organization_id, request_id, erased_at, erased_by, last_seq, open)
  select :organizationId, :requestId, unixepoch() * 1000, :by, :seq, 1
  from organizations where id = :organizationId
    and (select coalesce(max(seq), 0) from audit_log where organization_id = :organizationId) = :seq
    and (select request_id from audit_log where organization_id = :organizationId and seq = :seq) is :cursorRequestId
    and not ${IS_BEING_ERASED}`);

/** Records that an organization, if it was erased, is created again: the trigger of the clock then admits its directory. */
export const recordReturn = statement<{ organizationId: string; by: string }>(`
  update erasures set recreated_at = unixepoch() * 1000, recreated_by = :by
  where organization_id = :organizationId and open = 0 and recreated_at is null`);

export const deactivateErased = statement<{ organizationId: string }>(
  `update organizations set active = 0 where id = :organizationId and ${IS_BEING_ERASED}`,
);

const OPEN_ERASURE = {
  organizationId: text('organization_id'),
  requestId: text('request_id'),
  /** When it was opened, in UTC milliseconds, and who asked for it. */
  erasedAt: number('erased_at'),
  erasedBy: text('erased_by'),
  lastSeq: number('last_seq'),
};

export type OpenErasure = RowOf<typeof OPEN_ERASURE>;

export const findOpenErasure = statement<{ organizationId: string }, OpenErasure>(
  `select ${columns(OPEN_ERASURE)} from erasures where organization_id = :organizationId and open = 1`,
);

const IS_OPEN =
  'exists (select 1 from erasures where organization_id = :organizationId and request_id = :requestId and open = 1)';

/**
 * The tables of which an erasure removes rows, with what follows the organization in their primary
 * keys: referencing tables before the tables they reference, then the audit log. In each table, the
 * rows of an organization are one range of the primary key.
 */
const TABLES: readonly (readonly [table: string, ...key: string[]])[] = [
  ...RECORD_KIND_NAMES.map((kind) => [RECORD_TABLES[kind].table, 'id'] as const),
  ['psa_refusals', 'record_id'],
  ['approval_marks'],
  ['key_days', 'chain_id', 'day', 'key_id'],
  ['refused_uses', 'key_id', 'reason'],
  ['pushes'],
  ['connections'],
  ['alerts', 'type', 'subject'],
  ['key_rules'],
  ['api_keys', 'id'],
  ['agreements', 'id'],
  ['tickets', 'id'],
  ['companies', 'id'],
  ['users', 'id'],
  ['audit_log', 'seq'],
];

/** For each table, in the order of the erasure: removes its first `limit` rows. */
export const REMOVE_ROWS = TABLES.map(([table, ...columns]) => {
  const key = ['organization_id', ...columns].join(', ');
  const first = `select ${key} from ${table} where organization_id = :organizationId order by ${key} limit :limit`;
  const remove = `delete from ${table} where ${IS_OPEN} and (${key}) in (${first})`;
  return { table, statement: statement<ErasureValues & { limit: number }>(remove) };
});

/** Removes the organization itself, when nothing else of it is left, and closes the erasure. */
export const CLOSE_ERASURE = [
  `delete from organizations where id = :organizationId and ${IS_OPEN}`,
  applyErasure(IS_OPEN),
  'update erasures set open = 0 where organization_id = :organizationId and request_id = :requestId and open = 1',
].map((sql) => statement<ErasureValues>(sql));

export const ERASED_TABLES = [...TABLES.map(([table]) => table), 'organizations'];
