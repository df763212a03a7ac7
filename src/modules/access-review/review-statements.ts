import {
  type AdministratorValues,
  BY_ACTIVE_ADMINISTRATOR,
  IS_ACTIVE_ADMINISTRATOR,
} from '../../db/directory/administrator-statements.ts';
import { THE_KEY } from '../../db/keys/key-statements.ts';
import { DETAIL_COLUMNS, KEY_JOINS, type KeyDetailsRow, LIVE_KEY_IDS } from '../../db/keys/read-keys-statements.ts';
import {
  columns,
  insertInto,
  number,
  numberOrNull,
  type RowOf,
  statement,
  text,
  textOrNull,
} from '../../db/statement.ts';
import { LAST_WRITE } from '../../db/work/key-days.ts';
import type { ReviewDecision } from '../../domain/access-review.ts';
import { KEY_SETTING_NAMES, keySetting } from '../../domain/key-settings.ts';
import { fromKeys } from '../../lib/objects.ts';

// Access reviews. A review has the list of the keys that were live when it began, and one row for each of them on which
// was decided. A decision also applies to the key's successors by rotations since the review began.

interface ReviewValues {
  organizationId: string;
  /** Null for the open review. */
  reviewId: string | null;
}

/** A review. Times are UTC milliseconds; null while it is open. */
const REVIEW = {
  id: text('r.id'),
  startedAt: number('r.started_at'),
  startedBy: text('starter.name'),
  /** How many keys it has, and how many of them are to be kept and revoked. */
  keys: number('json_array_length(r.key_ids)'),
  kept: number("count(*) filter (where d.decision = 'keep')"),
  revoked: number("count(*) filter (where d.decision = 'revoke')"),
  finishedAt: numberOrNull('r.finished_at'),
  finishedBy: textOrNull('finisher.name'),
};

export type AccessReviewRow = RowOf<typeof REVIEW>;

/** The latest reviews, or the one with the id. The open one is the latest. */
export const findReviews = statement<ReviewValues & { limit: number }, AccessReviewRow>(`
  select ${columns(REVIEW)}
  from access_reviews r join users starter on starter.organization_id = r.organization_id and starter.id = r.started_by
    left join users finisher on finisher.organization_id = r.organization_id and finisher.id = r.finished_by
    left join access_review_decisions d on d.organization_id = r.organization_id and d.review_id = r.id
  where r.organization_id = :organizationId and r.id between coalesce(:reviewId, '') and coalesce(:reviewId, '~')
  group by r.organization_id, r.id order by r.organization_id desc, r.id desc limit :limit`);

/** Begins a review of the keys that are live at `now`, unless one is open. */
export const startReview = statement<AdministratorValues & { reviewId: string; now: number }>(`
  ${insertInto('access_reviews', {
    organization_id: ':organizationId',
    id: ':reviewId',
    started_at: ':now',
    started_by: ':userId',
    key_ids: `(select json_group_array(id) from (${LIVE_KEY_IDS}))`,
    finished_at: 'null',
    finished_by: 'null',
  })}
  from users u where ${IS_ACTIVE_ADMINISTRATOR} and not exists (select 1 from access_reviews r
    where r.organization_id = :organizationId and (r.finished_at is null or r.id = :reviewId))`);

/** The keys of a review (or `which` of them), and their later successors, each with the key of the review. */
const members = (which = '') => `with recursive members(review, finished, reviewed, id) as (
    select r.id, r.finished_at, i.value, i.value from access_reviews r, json_each(r.key_ids) i
    where r.organization_id = :organizationId and r.id = coalesce(:reviewId,
      (select o.id from access_reviews o where o.organization_id = :organizationId and o.finished_at is null))${which}
    union all
    select m.review, m.finished, m.reviewed, k.successor_id from members m
    cross join api_keys k on k.organization_id = :organizationId and k.id = m.id and k.successor_id is not null
    where not exists (select 1 from access_reviews r, json_each(r.key_ids) i
      where r.organization_id = :organizationId and r.id = m.review and i.value = k.successor_id)
  )`;
const FROM_MEMBERS = `from members m cross join api_keys k on k.organization_id = :organizationId and k.id = m.id
    left join access_review_decisions decided on decided.organization_id = :organizationId
      and decided.review_id = m.review and decided.key_id = m.reviewed`;
const IS_LIVE = 'k.revoked_at is null and (k.expires_at is null or k.expires_at > :now)';

/** The decision that applies to a key of a review or a later successor. Times are UTC milliseconds. */
const DECISION = {
  /** The key of the review: this one, or the one that it succeeded. */
  reviewedId: text('m.reviewed'),
  decision: textOrNull<ReviewDecision>('decided.decision'),
  reason: textOrNull('decided.reason'),
  decidedAt: numberOrNull('decided.decided_at'),
  decidedById: textOrNull('decided.decided_by'),
  decidedBy: textOrNull('decider.name'),
  /** The last write of the key at the decision. */
  decidedAfterWriteAt: numberOrNull('decided.last_write_at'),
};

export type ReviewedKeyRow = KeyDetailsRow & RowOf<typeof DECISION>;

/** In a finished review, the settings are those at the decision. A key that ended before it keeps its own. */
const SETTINGS = {
  ...fromKeys(
    KEY_SETTING_NAMES,
    (name) =>
      `iif(m.finished is null or decided.decision is null, k.${keySetting(name).column}, decided.key_settings ->> '${name}')`,
  ),
  name: 'coalesce(iif(m.finished is null, null, decided.key_name), k.name)',
};

export const findReviewedKeys = statement<ReviewValues, ReviewedKeyRow>(`${members()}
  select k.id as id, ${columns(SETTINGS)}, ${columns(DETAIL_COLUMNS)}, ${columns(DECISION)}
  ${FROM_MEMBERS} ${KEY_JOINS}
  left join users decider on decider.organization_id = :organizationId and decider.id = decided.decided_by`);

const PROGRESS = {
  total: number('count(distinct m.reviewed)'),
  done: number(
    `count(distinct m.reviewed) - count(distinct iif(decided.decision is null and ${IS_LIVE}, m.reviewed, null))`,
  ),
};

/** How many keys the open review has, and how many of them need no further decision. No row if no review is open, or if it has no keys. */
export const findOpenReviewProgress = statement<ReviewValues & { now: number }, RowOf<typeof PROGRESS>>(`
  ${members()}
  select ${columns(PROGRESS)}
  ${FROM_MEMBERS} group by m.review`);

/**
 * Decides on a key of an open review that works, or that a later successor continues. Replaces only the decision of the
 * time `shownAt`; null for none.
 */
export const decideKey = statement<
  AdministratorValues & {
    reviewId: string;
    keyId: string;
    decision: ReviewDecision;
    reason: string;
    now: number;
    shownAt: number | null;
  }
>(`
  ${insertInto('access_review_decisions', {
    organization_id: 'r.organization_id',
    review_id: 'r.id',
    key_id: 'k.id',
    decision: ':decision',
    reason: ':reason',
    decided_at: ':now',
    decided_by: ':userId',
    key_name: 'k.name',
    key_settings: `json_object(${KEY_SETTING_NAMES.map((name) => `'${name}', k.${keySetting(name).column}`).join(', ')})`,
    last_write_at: LAST_WRITE,
    of_former: `exists (select 1 from users c
      where c.organization_id = k.organization_id and c.id = k.created_by and (c.active = 0 or c.is_admin = 0))`,
  })}
  from access_reviews r join api_keys k on k.organization_id = r.organization_id and k.id = :keyId
  where r.organization_id = :organizationId and r.id = :reviewId and r.finished_at is null and ${BY_ACTIVE_ADMINISTRATOR}
    and exists (${members(' and i.value = :keyId')} select 1 ${FROM_MEMBERS} where ${IS_LIVE})
  on conflict (organization_id, review_id, key_id) do update set
    decision = excluded.decision, reason = excluded.reason, decided_at = excluded.decided_at, decided_by = excluded.decided_by,
    key_name = excluded.key_name, key_settings = excluded.key_settings, last_write_at = excluded.last_write_at,
    of_former = excluded.of_former
  where access_review_decisions.decided_at is :shownAt`);

/**
 * Finishes an open review if every key that works, or that a later successor continues, has a decision, and if `revoke`
 * (a JSON array of ids) has every key that is to be revoked.
 */
export const finishReview = statement<AdministratorValues & { reviewId: string; now: number; revoke: string }>(`
  update access_reviews set finished_at = :now, finished_by = :userId
  where organization_id = :organizationId and id = :reviewId and finished_at is null and ${BY_ACTIVE_ADMINISTRATOR}
    and not exists (
      ${members()} select 1 ${FROM_MEMBERS} where (decided.decision is null and ${IS_LIVE})
        or (decided.decision = 'revoke' and k.revoked_at is null and k.id not in (select value from json_each(:revoke))))`);

/** Revokes a key if a finished review has decided so, of it or of the key that it succeeded. */
export const revokeDecided = statement<AdministratorValues & { reviewId: string; keyId: string; now: number }>(`
  update api_keys set revoked_at = :now, revoked_by = :userId, revision = revision + 1
  where ${THE_KEY} and revoked_at is null and ${BY_ACTIVE_ADMINISTRATOR}
    and exists (select 1 from access_reviews r
      where r.organization_id = :organizationId and r.id = :reviewId and r.finished_at is not null)
    and :keyId in (${members()} select m.id ${FROM_MEMBERS} where decided.decision = 'revoke')`);
