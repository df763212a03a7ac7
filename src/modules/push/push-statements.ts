import { IS_BEING_ERASED } from '../../db/directory/directory-conditions.ts';
import { columns, type Fields, statement } from '../../db/statement.ts';

// What the database knows of the pushes: a copy of the state of each organization's object, for the
// sweep, the commands and the settings area, and what an operator has ordered.

/** The state of an organization's push, as its object reports it. Times are UTC milliseconds. */
export interface PushRow {
  /** The last change that the receiver has confirmed, or an operator skipped; 0 for none. */
  confirmedSeq: number;
  confirmedAt: number | null;
  failingSince: number | null;
  attempts: number;
  failure: string | null;
  nextAttemptAt: number | null;
  stoppedAt: number | null;
}

const STATE: Fields<PushRow> = {
  confirmedSeq: 'p.confirmed_seq',
  confirmedAt: 'p.confirmed_at',
  failingSince: 'p.failing_since',
  attempts: 'p.attempts',
  failure: 'p.failure',
  nextAttemptAt: 'p.next_attempt_at',
  stoppedAt: 'p.stopped_at',
};

/** What an operator has ordered. `orderId` identifies it when it is acknowledged. */
export interface PushOrder {
  orderId: string;
  /** Whether a stopped push goes on: 1 or 0. */
  resume: number;
  skipToSeq: number | null;
  skipToCursor: string | null;
}

const IS_DONE = 'pushes.order_id is :doneOrderId';

/**
 * Writes the state, and removes the order with the id `doneOrderId` (null: none). Does nothing if
 * the organization was or is being erased.
 */
export const savePush = statement<PushRow & { organizationId: string; doneOrderId: string | null }>(`
  insert into pushes (organization_id, confirmed_seq, confirmed_at, failing_since, attempts, failure, next_attempt_at, stopped_at)
  select :organizationId, :confirmedSeq, :confirmedAt, :failingSince, :attempts, :failure, :nextAttemptAt, :stoppedAt
  from organizations where id = :organizationId and not ${IS_BEING_ERASED}
  on conflict (organization_id) do update set
    confirmed_seq = excluded.confirmed_seq, confirmed_at = excluded.confirmed_at, failing_since = excluded.failing_since,
    attempts = excluded.attempts, failure = excluded.failure, next_attempt_at = excluded.next_attempt_at,
    stopped_at = excluded.stopped_at,
    resume = iif(${IS_DONE}, 0, pushes.resume), skip_to_seq = iif(${IS_DONE}, null, pushes.skip_to_seq),
    skip_to_cursor = iif(${IS_DONE}, null, pushes.skip_to_cursor), order_id = iif(${IS_DONE}, null, pushes.order_id)`);

/** The order for an organization; no row if there is none. */
export const findPushOrder = statement<{ organizationId: string }, PushOrder>(`
  select ${columns<PushOrder>({
    orderId: 'order_id',
    resume: 'resume',
    skipToSeq: 'skip_to_seq',
    skipToCursor: 'skip_to_cursor',
  })}
  from pushes where organization_id = :organizationId and order_id is not null`);

/** An organization whose object has something to do. */
export interface DuePush {
  organizationId: string;
  /** Whether an operator has ordered something: 1 or 0. */
  isOrdered: number;
  /** Whether it was erased: 1 or 0. */
  isErased: number;
}

/**
 * Organizations whose latest change is not confirmed, unless their push is stopped or waits for its
 * next attempt, and those with an order. Also those that were erased since `erasedSince`: their objects
 * then delete what they have stored. Which ones are found is random if there are more than `limit`, so
 * that none is left out every time.
 */
export const findDuePushes = statement<{ now: number; erasedSince: number; limit: number }, DuePush>(`
  select organizationId, isOrdered, isErased from (
    select o.id as organizationId, p.order_id is not null as isOrdered, 0 as isErased
    from organizations o left join pushes p on p.organization_id = o.id
    where p.order_id is not null
      or (p.stopped_at is null and coalesce(p.next_attempt_at, 0) <= :now
        and coalesce(p.confirmed_seq, 0) < (select max(seq) from audit_log where organization_id = o.id))
    union all
    select e.organization_id, 0, 1 from erasures e where e.open = 0 and e.erased_at > :erasedSince
      and not exists (select 1 from organizations where id = e.organization_id))
  order by random() limit :limit`);

/** An organization with its push. Null fields: it was never pushed. */
export type PushStatusRow = { [Field in keyof PushRow]: PushRow[Field] | null } & {
  organizationId: string;
  /** The `seq` of its latest change; 0 for none. */
  newestSeq: number;
  /** When the oldest change was made that is not confirmed. */
  waitingSince: number | null;
  /** Whether an operator's order waits for the object: 1 or 0. */
  isOrdered: number;
};

/** The organizations after `after`, in the order of their ids; only one if `only` is not null. */
export const findPushStatus = statement<{ only: string | null; after: string; limit: number }, PushStatusRow>(`
  select o.id as organizationId, ${columns(STATE)}, p.order_id is not null as isOrdered,
    coalesce((select max(seq) from audit_log where organization_id = o.id), 0) as newestSeq,
    (select at from audit_log where organization_id = o.id and seq > coalesce(p.confirmed_seq, 0) order by seq limit 1) as waitingSince
  from organizations o left join pushes p on p.organization_id = o.id
  where o.id = coalesce(:only, o.id) and o.id > :after order by o.id limit :limit`);

/**
 * Orders that a push goes on at once: it is no longer stopped, and its next attempt is not awaited.
 * Does nothing if the organization was never pushed.
 */
export const orderResume = statement<{ organizationId: string; orderId: string }>(`
  update pushes set order_id = :orderId, resume = 1
  where organization_id = :organizationId and order_id is not :orderId`);

/**
 * Orders that the changes up to a cursor are not pushed. Does nothing if the confirmed change is no
 * longer the one that the operator was told.
 */
export const orderSkip = statement<{
  organizationId: string;
  orderId: string;
  confirmedSeq: number;
  skipToSeq: number;
  skipToCursor: string;
}>(`
  insert into pushes (organization_id, confirmed_seq, attempts, order_id, skip_to_seq, skip_to_cursor)
  select id, 0, 0, :orderId, :skipToSeq, :skipToCursor from organizations where id = :organizationId
  on conflict (organization_id) do update
  set order_id = excluded.order_id, skip_to_seq = excluded.skip_to_seq, skip_to_cursor = excluded.skip_to_cursor
  where pushes.confirmed_seq = :confirmedSeq and pushes.order_id is not :orderId`);
