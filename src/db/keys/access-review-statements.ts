import type { ReviewDecision } from '../../domain/access-review.ts';
import { KEY_SETTING_NAMES, keySetting } from '../../domain/key-settings.ts';
import {
  type AdministratorValues,
  BY_ACTIVE_ADMINISTRATOR,
  IS_ACTIVE_ADMINISTRATOR,
} from '../directory/administrator-statements.ts';
import { columns, insertInto, number, numberOrNull, type RowOf, statement, text, textOrNull } from '../statement.ts';
import { LAST_WRITE } from '../work/key-days.ts';
import { THE_KEY } from './key-conditions.ts';
import { KEY_DETAILS, type KeyDetailsRow, LIVE_KEY_IDS } from './read-keys-statements.ts';

// Access reviews. A review has the list of the keys that were live when it began, and one row for
// each of them on which was decided.

interface ReviewValues {
  organizationId: string;
  reviewId: string;
}

const REVIEW_COLUMNS = {
  id: text('r.id'),
  startedAt: number('r.started_at'),
  startedBy: text('starter.name'),
  /** How many keys it has. */
  keys: number('json_array_length(r.key_ids)'),
  finishedAt: numberOrNull('r.finished_at'),
  finishedBy: textOrNull('finisher.name'),
};
const REVIEW = columns(REVIEW_COLUMNS);

/** A review. Times are UTC milliseconds; null while it is open. */
export type AccessReviewRow = RowOf<typeof REVIEW_COLUMNS>;

const FROM_REVIEWS = `from key_reviews r
  join users starter on starter.organization_id = r.organization_id and starter.id = r.started_by
  left join users finisher on finisher.organization_id = r.organization_id and finisher.id = r.finished_by`;

export const findOpenReview = statement<{ organizationId: string }, AccessReviewRow>(
  `select ${REVIEW} ${FROM_REVIEWS} where r.organization_id = :organizationId and r.finished_at is null`,
);

export const findReview = statement<ReviewValues, AccessReviewRow>(
  `select ${REVIEW} ${FROM_REVIEWS} where r.organization_id = :organizationId and r.id = :reviewId`,
);

export interface FinishedReviewRow extends AccessReviewRow {
  kept: number;
  revoked: number;
}

/** The finished reviews that began before the one with the id `before`, latest first. */
export const findFinishedReviews = statement<
  { organizationId: string; before: string; limit: number },
  FinishedReviewRow
>(`
  select ${REVIEW}, count(*) filter (where d.decision = 'keep') as kept, count(*) filter (where d.decision = 'revoke') as revoked
  ${FROM_REVIEWS} left join key_review_decisions d on d.organization_id = r.organization_id and d.review_id = r.id
  where r.organization_id = :organizationId and r.id < :before and r.finished_at is not null
  group by r.organization_id, r.id order by r.organization_id desc, r.id desc limit :limit`);

/** Begins a review of the keys that are live at `now`, unless one is open. */
export const startReview = statement<AdministratorValues & { reviewId: string; now: number }>(`
  ${insertInto('key_reviews', {
    organization_id: ':organizationId',
    id: ':reviewId',
    started_at: ':now',
    started_by: ':userId',
    key_ids: `(select json_group_array(id) from (${LIVE_KEY_IDS}))`,
    finished_at: 'null',
    finished_by: 'null',
  })}
  from users u where ${IS_ACTIVE_ADMINISTRATOR}
    and not exists (select 1 from key_reviews r where r.organization_id = :organizationId and r.finished_at is null)
    and not exists (select 1 from key_reviews r where r.organization_id = :organizationId and r.id = :reviewId)`);

const REVIEWED = `select i.value from key_reviews r, json_each(r.key_ids) i
    where r.organization_id = :organizationId and r.id = :reviewId`;

/** The keys of a review, by name. */
export const findKeysOfReview = statement<ReviewValues, KeyDetailsRow>(
  `${KEY_DETAILS} and k.id in (${REVIEWED}) order by k.name, k.id desc`,
);

/** The successors of keys by rotations since the review began; `first` selects the ids of the keys. */
const withSuccessors = (first: string, reviewId = ':reviewId') => `with recursive reached(id) as (
    ${first}
    union
    select k.successor_id from reached
    join api_keys k on k.organization_id = :organizationId and k.id = reached.id and k.successor_id is not null
    join key_reviews r on r.organization_id = :organizationId and r.id = ${reviewId}
    where not exists (select 1 from json_each(r.key_ids) i where i.value = k.successor_id)
  )`;
const IS_LIVE = 'k.revoked_at is null and (k.expires_at is null or k.expires_at > :now)';
/** A row for each of the keys `reached` that works. */
const LIVE_REACHED = `select 1 from reached cross join api_keys k on k.organization_id = :organizationId and k.id = reached.id
      where ${IS_LIVE}`;
const UNDECIDED = `${REVIEWED} and not exists (select 1 from key_review_decisions d
      where d.organization_id = :organizationId and d.review_id = :reviewId and d.key_id = i.value)`;
/** The keys that are to be revoked: those decided on, and their later successors. */
const TO_REVOKE = withSuccessors(`select d.key_id from key_review_decisions d
    where d.organization_id = :organizationId and d.review_id = :reviewId and d.decision = 'revoke'`);

const PROGRESS = {
  keys: number('json_array_length(o.key_ids)'),
  /** How many keys work, or have a successor that works, without a decision. */
  undecided: number(`(select count(*) from json_each(o.key_ids) u
    where not exists (select 1 from key_review_decisions d
        where d.organization_id = o.organization_id and d.review_id = o.id and d.key_id = u.value)
      and exists (${withSuccessors('select u.value', 'o.id')} ${LIVE_REACHED}))`),
};

export type OpenReviewProgress = RowOf<typeof PROGRESS>;

/** How many keys of the open review still need a decision; no row if none is open. */
export const findOpenReviewProgress = statement<{ organizationId: string; now: number }, OpenReviewProgress>(`
  select ${columns(PROGRESS)}
  from key_reviews o where o.organization_id = :organizationId and o.finished_at is null`);

/** The successors of the review's keys that are not in the review. */
export const findLaterSuccessors = statement<ReviewValues, KeyDetailsRow>(`${KEY_DETAILS} and k.id in (
    ${withSuccessors(REVIEWED)} select id from reached) and k.id not in (${REVIEWED})`);

const DECISION = {
  keyId: text('d.key_id'),
  decision: text<ReviewDecision>('d.decision'),
  reason: text('d.reason'),
  at: number('d.decided_at'),
  byId: text('d.decided_by'),
  by: text('u.name'),
  /** The name of the key and its last write, as they were at the decision. */
  keyName: text('d.key_name'),
  lastWriteAt: numberOrNull('d.last_write_at'),
  /** JSON object: the key's settings at the decision; null for a decision made before they were stored. */
  keySettings: textOrNull('d.key_settings'),
};

/** A decision on a key. Times are UTC milliseconds. */
export type DecisionRow = RowOf<typeof DECISION>;

/** The decisions of a review. */
export const findDecisions = statement<ReviewValues, DecisionRow>(`
  select ${columns(DECISION)}
  from key_review_decisions d join users u on u.organization_id = d.organization_id and u.id = d.decided_by
  where d.organization_id = :organizationId and d.review_id = :reviewId`);

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
  ${insertInto('key_review_decisions', {
    organization_id: 'r.organization_id',
    review_id: 'r.id',
    key_id: 'k.id',
    decision: ':decision',
    reason: ':reason',
    decided_at: ':now',
    decided_by: ':userId',
    key_name: 'k.name',
    last_write_at: LAST_WRITE,
    key_settings: `json_object(${KEY_SETTING_NAMES.map((name) => `'${name}', k.${keySetting(name).column}`).join(', ')})`,
  })}
  from key_reviews r join api_keys k on k.organization_id = r.organization_id and k.id = :keyId
  where r.organization_id = :organizationId and r.id = :reviewId and r.finished_at is null and ${BY_ACTIVE_ADMINISTRATOR}
    and exists (select 1 from json_each(r.key_ids) i where i.value = k.id)
    and exists (${withSuccessors('select :keyId')} ${LIVE_REACHED})
  on conflict (organization_id, review_id, key_id) do update set
    decision = excluded.decision, reason = excluded.reason, decided_at = excluded.decided_at,
    decided_by = excluded.decided_by, key_name = excluded.key_name, last_write_at = excluded.last_write_at,
    key_settings = excluded.key_settings
  where key_review_decisions.decided_at is :shownAt`);

/**
 * Finishes an open review if every key has a decision that works or that a later successor continues, and if `revoke`
 * (a JSON array of ids) has every key that is to be revoked.
 */
export const finishReview = statement<AdministratorValues & { reviewId: string; now: number; revoke: string }>(`
  update key_reviews set finished_at = :now, finished_by = :userId
  where organization_id = :organizationId and id = :reviewId and finished_at is null and ${BY_ACTIVE_ADMINISTRATOR}
    and not exists (${withSuccessors(UNDECIDED)} ${LIVE_REACHED})
    and not exists (
      ${TO_REVOKE}
      select 1 from reached cross join api_keys k on k.organization_id = :organizationId and k.id = reached.id
      where k.revoked_at is null and k.id not in (select value from json_each(:revoke)))`);

/** Revokes a key if a finished review has decided so, of it or of the key that it replaced. */
export const revokeDecided = statement<AdministratorValues & { reviewId: string; keyId: string; now: number }>(`
  update api_keys set revoked_at = :now, revoked_by = :userId, revision = revision + 1
  where ${THE_KEY} and revoked_at is null and ${BY_ACTIVE_ADMINISTRATOR}
    and exists (select 1 from key_reviews r
      where r.organization_id = :organizationId and r.id = :reviewId and r.finished_at is not null)
    and :keyId in (${TO_REVOKE} select id from reached)`);
