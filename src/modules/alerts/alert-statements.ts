import { columns, insertInto, statement } from '../../db/statement.ts';
import type { NoticeChannel, NoticeType } from './notice.ts';

// The notices that were made: inserted once, claimed before each attempt, kept for a while after
// they were sent.

const field = (name: string) => `n.value ->> '${name}'`;

/**
 * Makes notices of one organization (empty: of the deployment), a row for each channel, in the order
 * of the JSON array `notices`. Leaves out a notice if there is one of its topic that is as urgent
 * and not from before its `quietSince`, and all if the organization is inactive or erased.
 */
export const insertNotices = statement<{ organizationId: string; notices: string; channels: string; now: number }>(`
  ${insertInto('notices', {
    organization_id: ':organizationId',
    subject: field('subject'),
    id: field('id'),
    channel: 'c.value',
    type: field('type'),
    topic: field('topic'),
    level: field('level'),
    at: field('at'),
    made_at: ':now',
    rank: 'n.key',
    data: field('data'),
    attempts: '0',
    next_attempt_at: ':now',
  })}
  from json_each(:notices) n cross join json_each(:channels) c
  where (:organizationId = '' or exists (select 1 from organizations where id = :organizationId and active = 1))
    and not exists (select 1 from notices made where made.organization_id = :organizationId
      and made.subject = ${field('subject')} and made.channel = c.value and made.type = ${field('type')}
      and made.topic = ${field('topic')} and made.level >= ${field('level')} and made.made_at > ${field('quietSince')})
  on conflict do nothing`);

/** A notice that waits on one channel. Times are UTC milliseconds. */
export interface WaitingNotice {
  /** Empty for a notice about the deployment. */
  organizationId: string;
  subject: string;
  id: string;
  channel: NoticeChannel;
  type: NoticeType;
  at: number;
  madeAt: number;
  rank: number;
  /** JSON. */
  data: string;
  /** Attempts that have begun. */
  attempts: number;
  nextAttemptAt: number;
  failure: string | null;
}

const WAITING = columns<WaitingNotice>(
  {
    organizationId: 'organization_id',
    subject: 'subject',
    id: 'id',
    channel: 'channel',
    type: 'type',
    at: 'at',
    madeAt: 'made_at',
    rank: 'rank',
    data: 'data',
    attempts: 'attempts',
    nextAttemptAt: 'next_attempt_at',
    failure: 'failure',
  },
  'n',
);

/**
 * Notices that wait, with their organization and its push. That of a failing push is withdrawn when
 * the push works again.
 */
const FROM_WAITING = `from notices n indexed by notices_waiting
  left join organizations o on o.id = n.organization_id
  left join pushes p on p.organization_id = n.organization_id
  where n.sent_at is null and (n.organization_id = '' or o.active = 1)
    and (n.type <> 'push_failing' or n.at = coalesce(p.failing_since, p.stopped_at))`;

/**
 * At most `limit` notices that are due on a channel, and at most `each` of one organization: those
 * with the fewest attempts, then the oldest. Which organizations are found is random if there are
 * too many, so that none is left out every time. A notice waits for the earlier ones with its
 * subject; those for the receiver wait while the push is stopped.
 */
export const findDueNotices = statement<
  { channel: NoticeChannel; now: number; each: number; limit: number },
  WaitingNotice
>(`
  select * from (
    select ${WAITING}, row_number() over (partition by n.organization_id order by n.attempts, n.made_at, n.rank) as place
    ${FROM_WAITING} and n.next_attempt_at <= :now
      and n.channel = :channel and (n.channel <> 'push' or p.stopped_at is null)
      and not exists (select 1 from notices earlier where earlier.organization_id = n.organization_id
        and earlier.subject = n.subject and earlier.channel = n.channel and earlier.sent_at is null
        and (earlier.made_at, earlier.rank) < (n.made_at, n.rank))
  ) where place <= :each order by random() limit :limit`);

/** The notices that wait, oldest first, of all organizations or of one (empty: the deployment). */
export const findWaitingNotices = statement<{ only: string | null; limit: number }, WaitingNotice>(`
  select ${WAITING} ${FROM_WAITING} and n.organization_id = coalesce(:only, n.organization_id)
  order by n.made_at, n.organization_id, n.rank, n.channel limit :limit`);

/** Notices of one organization on one channel: `notices` is a JSON array of their subjects and ids. */
interface SomeNotices {
  organizationId: string;
  channel: NoticeChannel;
  notices: string;
}

const SOME = `organization_id = :organizationId and channel = :channel and sent_at is null
  and (subject, id) in (select value ->> 'subject', value ->> 'id' from json_each(:notices))`;

/**
 * Begins an attempt: until `retryAt`, no other run sends these notices. Returns those that were due
 * and may still be sent.
 */
export const claimNotices = statement<SomeNotices & { now: number; retryAt: number }, { id: string }>(`
  update notices set attempts = attempts + 1, next_attempt_at = :retryAt
  where ${SOME} and next_attempt_at <= :now
    and (:organizationId = '' or exists (select 1 from organizations where id = :organizationId and active = 1))
  returning id`);

/** Ends an attempt: they were sent. `failure` says why they are given up instead. */
export const endNotices = statement<SomeNotices & { now: number; failure: string | null }>(
  `update notices set sent_at = :now, failure = :failure where ${SOME}`,
);

/** Ends an attempt that failed; the next one is at `retryAt` or later. */
export const postponeNotices = statement<SomeNotices & { failure: string; retryAt: number }>(
  `update notices set failure = :failure, next_attempt_at = max(next_attempt_at, :retryAt) where ${SOME}`,
);

/** Deletes the notices that were made before an instant, whether or not they were sent. */
export const forgetNotices = statement<{ before: number; limit: number }>(`
  delete from notices where (organization_id, subject, id, channel) in (
    select organization_id, subject, id, channel from notices where made_at < :before limit :limit)`);
