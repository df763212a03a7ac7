import { columns, statement } from '../../db/statement.ts';
import { DAY_MS } from '../../domain/calendar.ts';

// Which organizations were examined for notices. Runs of the sweep share one round: each continues
// where the one before it ended.

/** The present round. Times are UTC milliseconds. */
export interface NoticeRound {
  /** The last organization that was examined; empty if the round has ended, or has just begun. */
  after: string;
  beganAt: number;
  /** When the round before it began: every organization was examined since. */
  since: number;
}

/** No row before the first round. */
export const findRound = statement<Record<never, never>, NoticeRound>(
  `select ${columns<NoticeRound>({ after: 'after_id', beganAt: 'began_at', since: 'since' })} from notice_rounds where id = 1`,
);

export const saveRound = statement<NoticeRound>(`
  insert into notice_rounds (id, after_id, began_at, since) values (1, :after, :beganAt, :since)
  on conflict (id) do update set after_id = excluded.after_id, began_at = excluded.began_at, since = excluded.since`);

/** The notices of all organizations begin again with the present. */
export const forgetPositions = statement<Record<never, never>>('delete from notice_positions');

/** Sets up to which audit row the notices of the organization have been made. Never goes back. */
export const savePosition = statement<{ organizationId: string; seq: number }>(`
  insert into notice_positions (organization_id, seq) select id, :seq from organizations where id = :organizationId and active = 1
  on conflict (organization_id) do update set seq = max(seq, excluded.seq)`);

/** What an organization may have notices about. Times are UTC milliseconds. */
export interface NoticeFacts {
  organizationId: string;
  timeZone: string;
  /** Up to which audit row notices have been made; null if the organization is new. */
  position: number | null;
  /** The latest audit row that is not of a key; null if there is none. */
  latestActionSeq: number | null;
  /** The latest audit row, with the organization's totals of the day. */
  latestAt: number | null;
  day: string | null;
  records: number | null;
  bytes: number | null;
  lastRefusedAt: number | null;
  /** 1 if a live key has come closer to its expiry than one of the days, since `since`. */
  isExpiring: number;
  failingSince: number | null;
  failure: string | null;
  stoppedAt: number | null;
}

/**
 * Condition: an unrevoked key `k` has come closer to its expiry than `days.value` days, between
 * `:since` and `:now`.
 */
const COMES_CLOSER = `k.revoked_at is null and k.expires_at > :since + days.value * ${DAY_MS}
    and k.expires_at <= :now + days.value * ${DAY_MS}`;
/** Named: SQLite would read all keys of the organization. `days` is a JSON array. */
const fromKeysNearExpiry = (organizationId: string) => `from json_each(:days) days
  cross join api_keys k indexed by api_keys_unrevoked on k.organization_id = ${organizationId} and ${COMES_CLOSER}`;

/** The ids of the organization's keys that come closer to their expiry, see `COMES_CLOSER`. */
export const KEYS_NEAR_EXPIRY = `select k.id ${fromKeysNearExpiry(':organizationId')}`;

/**
 * The active organizations after `after`, in the order of their ids. Reads a few rows of each,
 * however much it has written.
 */
export const findNoticeFacts = statement<
  { after: string; limit: number; since: number; now: number; days: string },
  NoticeFacts
>(`
  select ${columns<NoticeFacts>({
    organizationId: 'o.id',
    timeZone: 'o.time_zone',
    position: 'w.seq',
    latestActionSeq: `(select max(seq) from audit_log indexed by audit_log_not_by_keys
      where organization_id = o.id and actor_type <> 'api_key')`,
    latestAt: 'a.at',
    day: 'a.day',
    records: 'a.day_records',
    bytes: 'a.day_bytes',
    lastRefusedAt: '(select max(last_at) from refused_uses where organization_id = o.id)',
    isExpiring: `exists (select 1 ${fromKeysNearExpiry('o.id')})`,
    failingSince: 'p.failing_since',
    failure: 'p.failure',
    stoppedAt: 'p.stopped_at',
  })}
  from organizations o
  left join audit_log a on a.organization_id = o.id
    and a.seq = (select max(seq) from audit_log where organization_id = o.id)
  left join notice_positions w on w.organization_id = o.id
  left join pushes p on p.organization_id = o.id
  where o.id > :after and o.active = 1 order by o.id limit :limit`);
