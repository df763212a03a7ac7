import { columns, insertInto, statement } from '../../db/statement.ts';

// The alerts: a row for each fact that exists.

interface AlertKey {
  /** Empty for an alert about the deployment. */
  organizationId: string;
  type: string;
  subject: string;
}

const KEY = { organizationId: 'organization_id', type: 'type', subject: 'subject' };

/** An alert whose fact existed when the facts were last compared. */
export type StoredAlert = AlertKey & { level: number };

/** The oldest alerts about these types of facts, with shares as those of the facts. `types` is a JSON array. */
export const findStoredAlerts = statement<{ types: string; each: number; limit: number }, StoredAlert>(`
  select ${columns<StoredAlert>({ ...KEY, level: 'level' })} from (
    select *, row_number() over (partition by organization_id order by found_at, subject) as place
    from alerts indexed by alerts_type where type in (select value from json_each(:types)))
  where place <= :each order by place, organization_id limit :limit`);

export interface NewAlert extends StoredAlert {
  id: string;
  text: string;
}

const field = (name: keyof NewAlert) => `a.value ->> '${name}'`;
const IS_ACTIVE = (id: string) =>
  `(${id} = '' or exists (select 1 from organizations o where o.id = ${id} and o.active = 1))`;

/** Which outlets an alert still has to be sent to: 1 or 0. */
interface Unsent {
  toReceiver: number;
  toChat: number;
}

/** Stores alerts, a JSON array of `NewAlert`, unless they are stored with the same level or a higher one. */
export const saveAlerts = statement<Unsent & { alerts: string; now: number }>(`
  ${insertInto('alerts', {
    organization_id: field('organizationId'),
    type: field('type'),
    subject: field('subject'),
    level: field('level'),
    id: field('id'),
    found_at: ':now',
    text: field('text'),
    to_receiver: ':toReceiver',
    to_chat: ':toChat',
    tried_at: '0',
  })}
  from json_each(:alerts) a where ${IS_ACTIVE(`(${field('organizationId')})`)}
  on conflict do update set level = excluded.level, id = excluded.id, found_at = excluded.found_at, text = excluded.text,
    to_receiver = excluded.to_receiver, to_chat = excluded.to_chat, tried_at = 0
  where excluded.level > alerts.level`);

/** Deletes alerts, a JSON array of `StoredAlert`: their facts are gone. */
export const withdrawAlerts = statement<{ alerts: string }>(`
  delete from alerts where (organization_id, type, subject) in (
    select value ->> 'organizationId', value ->> 'type', value ->> 'subject' from json_each(:alerts))`);

export interface DueAlert extends AlertKey, Unsent {
  id: string;
  foundAt: number;
  text: string;
}

const DUE = columns<DueAlert>({
  ...KEY,
  id: 'id',
  foundAt: 'found_at',
  text: 'text',
  toReceiver: 'to_receiver',
  toChat: 'to_chat',
});

/**
 * Claims at most `limit` unsent alerts that were found after `givenUpUntil`, and at most `each` of one organization: no
 * other run sends those that were claimed after `claimedUntil`. The first alert of each organization comes before the
 * second of any, and the alert that was tried least recently before the others.
 */
export const claimAlerts = statement<
  { now: number; givenUpUntil: number; claimedUntil: number; each: number; limit: number },
  DueAlert
>(`
  update alerts set tried_at = :now where (organization_id, type, subject) in (
    select organization_id, type, subject from (
      select *, row_number() over (partition by organization_id order by tried_at, found_at, type, subject) as place
      from alerts indexed by alerts_unsent
      where to_receiver + to_chat > 0 and found_at > :givenUpUntil and tried_at <= :claimedUntil
        and ${IS_ACTIVE('organization_id')})
    where place <= :each order by place, tried_at limit :limit)
  returning ${DUE}`);

/** Records what is still unsent. Also by its id: the fact may have become more urgent since the alert was claimed. */
export const recordAttempt = statement<Omit<DueAlert, 'foundAt' | 'text'>>(`
  update alerts set to_receiver = :toReceiver, to_chat = :toChat
  where organization_id = :organizationId and type = :type and subject = :subject and id = :id`);
