import { columns, insertInto, statement } from '../../db/statement.ts';
import type { AlertChannel } from './alert.ts';

// The state of the alerts: a row for each fact that exists and each channel.

interface AlertKey {
  /** Empty for an alert about the deployment. */
  organizationId: string;
  type: string;
  subject: string;
  channel: AlertChannel;
}

const KEY = { organizationId: 'organization_id', type: 'type', subject: 'subject', channel: 'channel' };

/** An alert whose fact existed when the facts were last compared. */
export type StoredAlert = AlertKey & { level: number };

/** The oldest alerts about these types of facts, with shares as those of the facts. `types` is a JSON array. */
export const findStoredAlerts = statement<{ types: string; each: number; limit: number }, StoredAlert>(`
  select ${columns<StoredAlert>({ ...KEY, level: 'level' })} from (
    select *, row_number() over (partition by organization_id order by found_at, subject, channel) as place
    from alerts indexed by alerts_type where type in (select value from json_each(:types)))
  where place <= :each order by place, organization_id limit :limit`);

export interface NewAlert extends StoredAlert {
  id: string;
  message: object;
}

const field = (name: keyof NewAlert) => `a.value ->> '${name}'`;
const IS_ACTIVE = (id: string) =>
  `(${id} = '' or exists (select 1 from organizations o where o.id = ${id} and o.active = 1))`;

/** Stores alerts, a JSON array of `NewAlert`, unless they are stored with the same level or a higher one. */
export const saveAlerts = statement<{ alerts: string; now: number }>(`
  ${insertInto('alerts', {
    organization_id: field('organizationId'),
    type: field('type'),
    subject: field('subject'),
    channel: field('channel'),
    level: field('level'),
    id: field('id'),
    found_at: ':now',
    data: field('message'),
    attempts: '0',
    next_attempt_at: ':now',
  })}
  from json_each(:alerts) a where ${IS_ACTIVE(`(${field('organizationId')})`)}
  on conflict do update set level = excluded.level, id = excluded.id, found_at = excluded.found_at, data = excluded.data,
    attempts = 0, next_attempt_at = excluded.next_attempt_at, sent_at = null
  where excluded.level > alerts.level`);

/** Deletes alerts, a JSON array of `StoredAlert`: their facts are gone. */
export const withdrawAlerts = statement<{ alerts: string }>(`
  delete from alerts where (organization_id, type, subject, channel) in (
    select ${['organizationId', 'type', 'subject', 'channel'].map((name) => `value ->> '${name}'`).join(', ')} from json_each(:alerts))`);

export interface DueAlert extends AlertKey {
  id: string;
  foundAt: number;
  /** The message as JSON, and its text if it is for a chat or the log. */
  message: string;
  text: string | null;
  attempts: number;
}

const DUE = columns<DueAlert>({
  ...KEY,
  id: 'id',
  foundAt: 'found_at',
  message: 'data',
  text: "data ->> 'text'",
  attempts: 'attempts',
});

/**
 * Claims at most `limit` alerts that are due on a channel, and at most `each` of one organization: no
 * other run sends them until `claimedUntil`. The first alert of each organization comes before the
 * second of any, and alerts that failed come last. Alerts for the receiver wait while the push of
 * their organization is stopped.
 */
export const claimAlerts = statement<
  { channel: AlertChannel; now: number; claimedUntil: number; each: number; limit: number },
  DueAlert
>(`
  update alerts set next_attempt_at = :claimedUntil
  where channel = :channel and (organization_id, type, subject) in (
    select organization_id, type, subject from (
      select *, row_number() over (partition by organization_id order by attempts, found_at, type, subject) as place
      from alerts indexed by alerts_waiting
      where channel = :channel and sent_at is null and next_attempt_at <= :now and ${IS_ACTIVE('organization_id')}
        and not (:channel = 'push' and exists (
          select 1 from pushes p where p.organization_id = alerts.organization_id and p.stopped_at is not null)))
    where place <= :each order by attempts, place, random() limit :limit)
  returning ${DUE}`);

/** Alerts of one organization on one channel that were sent or tried. `alerts` is a JSON array of them. */
interface Tried {
  organizationId: string;
  channel: AlertChannel;
  alerts: string;
  now: number;
}

/** Also by its id: the fact may have become more urgent since the alert was claimed. */
const THESE = `organization_id = :organizationId and channel = :channel and (type, subject, id) in (
    select value ->> 'type', value ->> 'subject', value ->> 'id' from json_each(:alerts))`;

/** The alerts were sent, or are given up. */
export const endAlerts = statement<Tried>(`update alerts set sent_at = :now where ${THESE}`);

/**
 * They are sent again after 5 minutes, then after twice as long each time, up to an hour, and not before
 * `retryAt`. A minute less, so that the run that is due then finds them.
 */
export const postponeAlerts = statement<Tried & { retryAt: number }>(`
  update alerts set attempts = attempts + 1,
    next_attempt_at = max(:now + (min(5 << min(attempts, 4), 60) - 1) * 60000, :retryAt)
  where ${THESE}`);
