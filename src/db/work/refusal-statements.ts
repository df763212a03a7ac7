import { forEachKind, type RecordKind } from '../../domain/record-kinds.ts';
import { statement } from '../statement.ts';
import { idBytes } from './record-table.ts';
import { RECORD_TABLES } from './record-tables.ts';

// The records that the PSA could not take. Nothing is written about a record that it takes.

interface RecordValues {
  organizationId: string;
  id: string;
}

const exists = (table: string, id: string) =>
  `exists (select 1 from ${table} r where r.organization_id = :organizationId and r.id = ${id})`;
/** Condition: the record exists, archived or not. */
const HAS_RECORD = forEachKind((kind) => {
  const { table, archived } = RECORD_TABLES[kind];
  return `(${exists(table, ':id')} or ${exists(archived.table, idBytes(':id'))})`;
});

/** Records that the PSA refused an existing record, unless it is recorded with the same reason. */
export const recordRefusal = forEachKind((kind) =>
  statement<RecordValues & { reason: string; now: number }>(`
    insert into psa_refusals (organization_id, record_id, kind, reason, refused_at)
    select :organizationId, :id, '${kind}', :reason, :now where ${HAS_RECORD[kind]}
    on conflict (organization_id, record_id) do update set reason = excluded.reason, refused_at = excluded.refused_at
    where psa_refusals.reason <> excluded.reason`),
);

/** Removes the recorded refusal of a record by the PSA. */
export const withdrawRefusal = statement<RecordValues & { kind: RecordKind }>(
  'delete from psa_refusals where organization_id = :organizationId and record_id = :id and kind = :kind',
);

/** The record, archived or not; no row if the organization does not have it. */
export const findReported = forEachKind((kind) =>
  statement<RecordValues, { id: string }>(`select :id as id where ${HAS_RECORD[kind]}`),
);

/** How many records the PSA refused, and since when: of all organizations with ids between `from` and `to`. */
export const countRefusals = statement<{ from: string; to: string }, { refused: number; since: number | null }>(
  'select count(*) as refused, min(refused_at) as since from psa_refusals where organization_id between :from and :to',
);
