import { findKeyRules } from '../../db/keys/key-rules-statements.ts';
import {
  type DecisionRow,
  type FinishedReviewRow,
  findDecisions,
  findFinishedReviews,
  findKeysOfReview,
  findOpenReview,
  findReview,
  findReviewStatus,
  type ReviewRow,
  type ReviewStatusRow,
} from '../../db/keys/reviews.ts';
import { isLive } from '../../domain/api-key.ts';
import { dateIn, daysBetween } from '../../domain/calendar.ts';
import { ServiceError } from '../../domain/errors.ts';
import { type ReviewDecision, reviewDueDate } from '../../domain/key-review.ts';
import { readAll, readBatch } from '../call-d1.ts';
import type { ActorContext, AdminActor } from '../context.ts';
import { requireKeyRules, type StoredKeyRules } from './change-key-rules.ts';
import { type KeyDetails, toKeyDetails } from './read-keys.ts';

/** A review. `finishedAt` is null while it is open. Times are UTC milliseconds. */
export type Review = ReviewRow;
/** A finished review with the number of its decisions. */
export type FinishedReview = FinishedReviewRow;
/** A decision on a key, with the name and the last write of the key at that time. */
export type Decision = DecisionRow;

/** A key of a review. */
export interface ReviewedKey {
  key: KeyDetails;
  decision: Decision | null;
  /** What the review still needs for this key, or what has become of it. */
  status: 'undecided' | ReviewDecision | 'ended';
}

/** A review with its keys, by name. */
export interface ReviewWithKeys {
  review: Review;
  keys: readonly ReviewedKey[];
}

/** Until when the next review has to be finished. */
export interface ReviewDue {
  /** Calendar date in the organization's time zone. */
  date: string;
  /** Negative if the date has passed. */
  daysLeft: number;
}

/** How many finished reviews one page lists. */
const LISTED_REVIEWS = 8;
/** Sorts after every id: ids are lower-case hex. */
const END = 'g';

/** When the next review is due, from the results of its statements; null if none is required. */
export function toReviewDue(rules: StoredKeyRules, status: ReviewStatusRow | undefined, now: number): ReviewDue | null {
  if (!status) throw new Error('the organization does not exist');
  const date = reviewDueDate(rules, status.lastFinishedAt, status.timeZone);
  return date === null ? null : { date, daysLeft: daysBetween(dateIn(status.timeZone, now), date) };
}

/** The open review, the key rules, and when the next review is due. */
export interface ReviewOverview {
  open: Review | null;
  rules: StoredKeyRules;
  due: ReviewDue | null;
}

/** The open review, the key rules, and when the next review is due. */
export async function readReviewOverview(ctx: ActorContext<AdminActor>): Promise<ReviewOverview> {
  const { organizationId } = ctx.actor;
  const [[open], [rulesRow], [status]] = await readBatch(ctx, [
    findOpenReview.bind({ organizationId }),
    findKeyRules.bind({ organizationId }),
    findReviewStatus.bind({ organizationId }),
  ]);
  const rules = requireKeyRules(rulesRow);
  return { open: open ?? null, rules, due: toReviewDue(rules, status, ctx.now()) };
}

/** Finished reviews, latest first. */
export interface FinishedReviews {
  finished: readonly FinishedReview[];
  /** The last listed review, if there are older ones. */
  older: string | undefined;
}

/** The latest finished reviews, or those that began before the one with the id `before`. */
export async function listFinishedReviews(ctx: ActorContext<AdminActor>, before = END): Promise<FinishedReviews> {
  const values = { organizationId: ctx.actor.organizationId, before, limit: LISTED_REVIEWS + 1 };
  const results = await readAll(ctx, findFinishedReviews.bind(values));
  const finished = results.slice(0, LISTED_REVIEWS);
  return { finished, older: results.length > LISTED_REVIEWS ? finished.at(-1)?.id : undefined };
}

/**
 * A review with its keys. An organization has a limited number of live keys, so a review has too.
 * @throws ServiceError `review_not_found`
 */
export async function readReview(ctx: ActorContext<AdminActor>, reviewId: string): Promise<ReviewWithKeys> {
  const values = { organizationId: ctx.actor.organizationId, reviewId };
  const [[review], keys, decisions] = await readBatch(ctx, [
    findReview.bind(values),
    findKeysOfReview.bind(values),
    findDecisions.bind(values),
  ]);
  if (!review) throw reviewNotFound();
  const decisionOn = new Map(decisions.map((decision) => [decision.keyId, decision]));
  // A key that ended after the review was finished had not ended in it.
  const now = review.finishedAt ?? ctx.now();
  return {
    review,
    keys: keys.map((row) => {
      const decision = decisionOn.get(row.id) ?? null;
      const key = toKeyDetails(row, now);
      return { key, decision, status: decision?.decision ?? (isLive(key.state) ? 'undecided' : 'ended') };
    }),
  };
}

/**
 * A review that is open.
 * @throws ServiceError `review_not_found`, `review_finished`
 */
export async function readOpenReview(ctx: ActorContext<AdminActor>, reviewId: string): Promise<ReviewWithKeys> {
  const found = await readReview(ctx, reviewId);
  if (found.review.finishedAt !== null) throw reviewFinished();
  return found;
}

/** The keys that finishing the review revokes. */
export const keysToRevoke = (keys: readonly ReviewedKey[]): ReviewedKey[] =>
  keys.filter(({ key, status }) => status === 'revoke' && key.revokedAt === null);

/** The organization has no such review, even if another organization does. */
export function reviewNotFound(): ServiceError {
  return new ServiceError('review_not_found', 'The organization has no such review.');
}

export function reviewFinished(): ServiceError {
  return new ServiceError('review_finished', 'The review is finished; its decisions cannot be changed.');
}
