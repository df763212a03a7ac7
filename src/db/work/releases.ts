import type { ChangeCursor } from '../../domain/change.ts';
import { IS_BEING_ERASED } from '../directory/erasure.ts';
import { columns, number, numberOrNull, type RowOf, statement, text } from '../statement.ts';

// How far the PSA has stored the changes of an organization.

/**
 * Records that the PSA has stored everything up to an audit row. Does nothing unless the row is in
 * this database, and after the one that was released before. Does nothing while the organization is
 * being erased: a new row would stop the removal of the organization.
 */
export const markReleased = statement<ChangeCursor & { organizationId: string }>(`
  insert into releases (organization_id, seq)
  select a.organization_id, a.seq from audit_log a cross join database_epoch d
  where a.organization_id = :organizationId and a.seq = :seq and a.request_id = :requestId and d.epoch = :epoch
    and :seq > coalesce((select seq from releases where organization_id = :organizationId), 0)
    and not ${IS_BEING_ERASED}
  on conflict (organization_id) do update set seq = excluded.seq`);

const RELEASED = 'coalesce(r.seq, 0)';
const timeOf = (seq: string) => `(select at from audit_log where organization_id = o.id and seq = ${seq})`;

/** How much of an organization's changes the PSA has stored. */
const RELEASE = {
  organizationId: text('o.id'),
  /** The `seq` of the last change, and of the last one that is released; 0 for none. */
  newestSeq: number('coalesce((select max(seq) from audit_log where organization_id = o.id), 0)'),
  releasedSeq: number(RELEASED),
  /** When the first unreleased change was made. */
  unreleasedSince: numberOrNull(timeOf(`${RELEASED} + 1`)),
};

export type ReleaseRow = RowOf<typeof RELEASE>;

/** The organizations with ids between `from` and `to`, in the order of their ids. */
export const findReleases = statement<{ from: string; to: string }, ReleaseRow>(`
  select ${columns(RELEASE)}
  from organizations o
  left join releases r on r.organization_id = o.id
  where o.id between :from and :to order by o.id`);
