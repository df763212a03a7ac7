import { IS_BEING_ERASED } from '../directory/erasure.ts';
import { columns, number, numberOrNull, type RowOf, statement, text, textOrNull } from '../statement.ts';

interface Report {
  organizationId: string;
  /** The UUID that an adapter generated for itself. */
  adapterId: string;
  failure: string | null;
  /** 1 if it writes nothing until a person resumes it. */
  isStopped: number;
  /** 1 if it replaces the adapter that has reported before. */
  takesOver: number;
  now: number;
}

/** Records a report, unless another adapter has reported for the organization. */
export const saveConnection = statement<Report>(`
  insert into connections (organization_id, adapter_id, reported_at, failing_since, failure, stopped_at)
  select id, :adapterId, :now, iif(:failure is null, null, :now), :failure, iif(:isStopped = 1, :now, null)
  from organizations where id = :organizationId and not ${IS_BEING_ERASED}
  on conflict (organization_id) do update set adapter_id = excluded.adapter_id, reported_at = excluded.reported_at,
    failing_since = iif(excluded.failure is null, null, coalesce(failing_since, excluded.failing_since)),
    failure = excluded.failure, stopped_at = iif(excluded.stopped_at is null, null, coalesce(stopped_at, excluded.stopped_at))
  where adapter_id = excluded.adapter_id or :takesOver = 1`);

/** Deletes the last report of an adapter that was removed. */
export const forgetConnection = statement<{ organizationId: string }>(
  'delete from connections where organization_id = :organizationId',
);

const CONNECTION = {
  organizationId: text('organization_id'),
  adapterId: text('adapter_id'),
  reportedAt: number('reported_at'),
  failingSince: numberOrNull('failing_since'),
  failure: textOrNull('failure'),
  stoppedAt: numberOrNull('stopped_at'),
};

/** The connections of organizations with ids between `from` and `to`. */
export const findConnections = statement<{ from: string; to: string }, RowOf<typeof CONNECTION>>(
  `select ${columns(CONNECTION)} from connections where organization_id between :from and :to order by organization_id`,
);
