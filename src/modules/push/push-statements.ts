import { IS_BEING_ERASED } from '../../db/directory/erasure.ts';
import { columns, number, numberOrNull, type RowOf, statement, textOrNull } from '../../db/statement.ts';

// A copy of the state of each object, for the push job, the commands and the settings area.

/** The state of an organization's push, as its object reports it. Times are UTC milliseconds. */
const STATE = {
  /** The last change that the receiver has confirmed; 0 for none. */
  confirmedSeq: number('p.confirmed_seq'),
  failingSince: numberOrNull('p.failing_since'),
  attempts: number('p.attempts'),
  failure: textOrNull('p.failure'),
  nextAttemptAt: numberOrNull('p.next_attempt_at'),
  stoppedAt: numberOrNull('p.stopped_at'),
};
export type PushRow = RowOf<typeof STATE>;

/** Writes the state. Does nothing if the organization was or is being erased. */
export const savePush = statement<PushRow & { organizationId: string }>(`
  insert into pushes (
    organization_id, confirmed_seq, failing_since, attempts, failure, next_attempt_at, stopped_at)
  select
    :organizationId, :confirmedSeq, :failingSince, :attempts, :failure, :nextAttemptAt, :stoppedAt
  from organizations where id = :organizationId and not ${IS_BEING_ERASED}
  on conflict (organization_id) do update set
    confirmed_seq = excluded.confirmed_seq, failing_since = excluded.failing_since, attempts = excluded.attempts,
    failure = excluded.failure, next_attempt_at = excluded.next_attempt_at, stopped_at = excluded.stopped_at`);

export interface DuePush {
  organizationId: string;
  /** Whether it was erased: 1 or 0. */
  isErased: number;
}

/**
 * Organizations with an unconfirmed change whose push is not stopped and does not wait, and those
 * erased since `erasedSince`, whose objects delete their storage. More than `limit`: a random choice.
 */
export const findDuePushes = statement<{ now: number; erasedSince: number; limit: number }, DuePush>(`
  select organizationId, isErased from (
    select o.id as organizationId, 0 as isErased
    from organizations o left join pushes p on p.organization_id = o.id
    where p.stopped_at is null and coalesce(p.next_attempt_at, 0) <= :now
      and coalesce(p.confirmed_seq, 0) < (select max(seq) from audit_log where organization_id = o.id)
    union all
    select e.organization_id, 1 from erasures e where e.open = 0 and e.erased_at > :erasedSince
      and not exists (select 1 from organizations where id = e.organization_id))
  order by random() limit :limit`);

/** An organization with its push. Null fields: it was never pushed. */
export type PushStatusRow = { [Field in keyof PushRow]: PushRow[Field] | null } & {
  organizationId: string;
  /** The `seq` of its latest change; 0 for none. */
  newestSeq: number;
  /** When the oldest change was made that is not confirmed. */
  waitingSince: number | null;
};

/** All organizations, in the order of their ids. */
export const findPushStatus = statement<Record<never, never>, PushStatusRow>(`
  select o.id as organizationId, ${columns(STATE)},
    coalesce((select max(seq) from audit_log where organization_id = o.id), 0) as newestSeq,
    (select at from audit_log where organization_id = o.id and seq > coalesce(p.confirmed_seq, 0) order by seq limit 1) as waitingSince
  from organizations o left join pushes p on p.organization_id = o.id
  order by o.id`);

/** Changes no value, and the row once for each request: so each order to resume gets its audit row. */
export const touchPush = statement<{ organizationId: string; requestId: string }>(`
  insert into pushes (organization_id, confirmed_seq, attempts)
  select id, 0, 0 from organizations where id = :organizationId and :requestId is not
    (select request_id from audit_log where organization_id = :organizationId order by seq desc limit 1)
  on conflict (organization_id) do update set confirmed_seq = confirmed_seq`);
