import * as z from 'zod';
import {
  type AccessReviewRow,
  type DecisionRow,
  decideKey,
  type FinishedReviewRow,
  findDecisions,
  findFinishedReviews,
  findKeysOfReview,
  findLaterSuccessors,
  findOpenReview,
  findReview,
  findReviewStatus,
  finishReview,
  type ReviewStatusRow,
  revokeDecided,
  startReview,
} from '../../db/keys/access-review-statements.ts';
import { findKeyRules } from '../../db/keys/key-rules-statements.ts';
import { accessReviewDueDate, keyDecision, type ReviewDecision } from '../../domain/access-review.ts';
import { isLive } from '../../domain/api-key.ts';
import { dateIn, daysBetween } from '../../domain/calendar.ts';
import { ServiceError } from '../../domain/errors.ts';
import { MAX_KEYS_IN_GRACE, MAX_LIVE_KEYS } from '../../domain/key-input.ts';
import { type KeyRules, lifetimeDays } from '../../domain/key-rules.ts';
import { timeOrderedId } from '../../domain/record-id.ts';
import { byAdministrator, hasChanged, writeWithAudit } from '../audit/write-with-audit.ts';
import { readAll, readBatch } from '../call-d1.ts';
import { administratorsTimeZone } from '../directory/administrators.ts';
import { parseInput } from '../parse-input.ts';
import type { ActorContext, AdminActor } from '../service-context.ts';
import { requireKeyRules, type StoredKeyRules } from './change-key-rules.ts';
import { type KeyDetails, toKeyDetails } from './read-keys.ts';
import { isUnused } from './select-keys.ts';

/** An access review. `finishedAt` is null while it is open. Times are UTC milliseconds. */
export type AccessReview = AccessReviewRow;
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
  /** Its successors by rotations since the review began. The decision applies to them too. */
  successors: readonly KeyDetails[];
  /** Whether the key or one of its successors works. */
  works: boolean;
}

/** A review with its keys, by name. */
export interface ReviewWithKeys {
  review: AccessReview;
  keys: readonly ReviewedKey[];
}

/** Until when the next review has to be finished. */
export interface ReviewDue {
  /** Calendar date in the organization's time zone. */
  date: string;
  /** Negative if the date has passed. */
  daysLeft: number;
}

/** The most keys of a review, and the most decisions at a time. */
export const MAX_REVIEWED_KEYS = MAX_LIVE_KEYS + MAX_KEYS_IN_GRACE;
/** How many finished reviews are listed at a time. */
const LISTED_REVIEWS = 8;
/** Sorts after every id: ids are lower-case hex. */
const END = 'g';

// --- read ----------------------------------------------------------------------------------------

/** When the next review is due, from the results of its statements; null if none is required. */
export function toReviewDue(rules: StoredKeyRules, status: ReviewStatusRow | undefined, now: number): ReviewDue | null {
  if (!status) throw new Error('the organization does not exist');
  const date = accessReviewDueDate(rules, status.lastFinishedAt, status.timeZone);
  return date === null ? null : { date, daysLeft: daysBetween(dateIn(status.timeZone, now), date) };
}

/** The open review, the key rules, and when the next review is due. */
export interface ReviewOverview {
  open: AccessReview | null;
  rules: StoredKeyRules;
  due: ReviewDue | null;
}

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
 * A review with its keys, and their successors since it began.
 * @throws ServiceError `access_review_not_found`
 */
export async function readReview(ctx: ActorContext<AdminActor>, reviewId: string): Promise<ReviewWithKeys> {
  const values = { organizationId: ctx.actor.organizationId, reviewId };
  const [[review], keys, later, decisions] = await readBatch(ctx, [
    findReview.bind(values),
    findKeysOfReview.bind(values),
    findLaterSuccessors.bind(values),
    findDecisions.bind(values),
  ]);
  if (!review) throw new ServiceError('access_review_not_found', 'The organization has no such review.');
  const decisionOn = new Map(decisions.map((decision) => [decision.keyId, decision]));
  // A key that ended or was created after the review was finished had not done so in it.
  const now = review.finishedAt ?? ctx.now();
  const successorOf = new Map(later.map((row) => [row.predecessorId, toKeyDetails(row, now)]));
  return {
    review,
    keys: keys.map((row) => {
      const decision = decisionOn.get(row.id) ?? null;
      const key = toKeyDetails(row, now);
      const successors: KeyDetails[] = [];
      for (let next = successorOf.get(row.id); next && next.createdAt <= now; next = successorOf.get(next.id)) {
        successors.push(next);
      }
      const works = [key, ...successors].some(({ state }) => isLive(state));
      const status = decision?.decision ?? (works ? 'undecided' : 'ended');
      return { key, decision, status, successors, works };
    }),
  };
}

/** A key that finishing the review revokes, with the decision that says so. */
export interface KeyToRevoke {
  key: KeyDetails;
  decision: Decision | null;
}

/** The keys that finishing the review revokes: the decided ones and their successors. */
export const keysToRevoke = (keys: readonly ReviewedKey[]): KeyToRevoke[] =>
  keys.flatMap(({ key, decision, status, successors }) =>
    status === 'revoke'
      ? [key, ...successors].filter(({ revokedAt }) => revokedAt === null).map((one) => ({ key: one, decision }))
      : [],
  );

/** What an administrator should check about a key. It never decides. */
export type ReviewCheck = 'unused' | 'former_creator' | 'never_expires' | 'long_lifetime';

/** What to check about a live key: without I/O. */
export function reviewChecks(key: KeyDetails, rules: KeyRules, timeZone: string, now: number): ReviewCheck[] {
  const { createdAt, expiresAt, creatorActive } = key;
  const longest = rules.maxLifetimeDays ?? Number.POSITIVE_INFINITY;
  const found: Record<ReviewCheck, boolean> = {
    unused: isUnused(key, rules.unusedDays, now),
    former_creator: !creatorActive,
    never_expires: rules.expiryRequired && expiresAt === null,
    long_lifetime: expiresAt !== null && lifetimeDays(expiresAt, timeZone, createdAt) > longest,
  };
  const checks: readonly ReviewCheck[] = ['unused', 'former_creator', 'never_expires', 'long_lifetime'];
  return checks.filter((check) => found[check]);
}

// --- start, decide, finish -----------------------------------------------------------------------

/**
 * Begins a review of the keys that are live now, unless one is open.
 * @throws ServiceError `not_administrator`
 */
export async function startAccessReview(ctx: ActorContext<AdminActor>): Promise<'started' | 'already_open'> {
  const reviewId = timeOrderedId(ctx.now());
  const [started] = await writeWithAudit(ctx, byAdministrator(ctx), 'may_have_written', (now) => [
    { statement: startReview.bind({ ...ctx.actor, reviewId, now }), action: 'key_review.started', targetId: reviewId },
  ]);
  if (hasChanged(started)) return 'started';
  await administratorsTimeZone(ctx);
  const { open } = await readReviewOverview(ctx);
  return open?.id === reviewId ? 'started' : 'already_open';
}

const keyDecisions = z.array(keyDecision).min(1).max(MAX_REVIEWED_KEYS);

/** How many decisions were saved, and how many were not. */
export interface DecisionCounts {
  saved: number;
  notSaved: number;
}

/**
 * Records decisions in an open review, each with its audit row. Nothing is revoked before the review
 * is finished. A decision replaces only the one of its time `shownAt` (null: none). Decisions on keys
 * that another administrator has decided on since, or that have ended, are not saved.
 * @throws ServiceError `invalid`, `access_review_not_found`, `access_review_finished`,
 *   `not_administrator`
 */
export async function decideKeys(
  ctx: ActorContext<AdminActor>,
  reviewId: string,
  input: readonly z.input<typeof keyDecision>[],
): Promise<DecisionCounts> {
  const decisions = parseInput(keyDecisions, input);
  const results = await writeWithAudit(ctx, byAdministrator(ctx), 'may_have_written', (now) =>
    decisions.map((decision) => ({
      statement: decideKey.bind({ ...ctx.actor, ...decision, reviewId, now }),
      action: 'api_key.reviewed',
      targetId: decision.keyId,
      detail: `${decision.decision}: ${decision.reason}`,
    })),
  );
  const rest = decisions.filter((_, index) => !hasChanged(results[index]));
  if (rest.length === 0) return { saved: decisions.length, notSaved: 0 };
  await administratorsTimeZone(ctx);
  const { review, keys } = await readReview(ctx, reviewId);
  if (review.finishedAt !== null) throw reviewFinished();
  // Equal: the decision was committed but the acknowledgement was lost.
  const stored = new Map(keys.map(({ key, decision }) => [key.id, decision]));
  const notSaved = rest.filter(({ keyId, decision, reason }) => {
    const made = stored.get(keyId);
    return made?.decision !== decision || made.reason !== reason || made.byId !== ctx.actor.userId;
  }).length;
  return { saved: decisions.length - notSaved, notSaved };
}

/**
 * Finishes a review and revokes the keys on which it decided so, with their successors, in one
 * transaction. `revoke` has the ids of the keys that the administrator has confirmed: if another one
 * is to be revoked, or a key that works or whose successor works has no decision, nothing happens. Returns how many keys were
 * revoked.
 * @throws ServiceError `access_review_not_found`, `access_review_finished`,
 *   `access_review_changed_meanwhile`, `not_administrator`
 */
export async function finishAccessReview(
  ctx: ActorContext<AdminActor>,
  reviewId: string,
  revoke: readonly string[],
): Promise<number> {
  const { review, keys } = await readReview(ctx, reviewId);
  if (review.finishedAt !== null) throw reviewFinished();
  const confirmed = keysToRevoke(keys).flatMap(({ key }) => (revoke.includes(key.id) ? [key.id] : []));
  const [finished, ...revocations] = await writeWithAudit(ctx, byAdministrator(ctx), 'may_have_written', (now) => {
    const values = { ...ctx.actor, reviewId, now };
    return [
      {
        statement: finishReview.bind({ ...values, revoke: JSON.stringify(confirmed) }),
        action: 'key_review.finished' as const,
        targetId: reviewId,
        unlimited: true,
      },
      ...confirmed.map((keyId) => ({
        statement: revokeDecided.bind({ ...values, keyId }),
        action: 'api_key.revoked' as const,
        targetId: keyId,
        detail: 'decided in a review',
        unlimited: true,
      })),
    ];
  });
  if (hasChanged(finished)) return revocations.filter(hasChanged).length;

  await administratorsTimeZone(ctx);
  const { review: after } = await readReview(ctx, reviewId);
  if (after.finishedAt !== null) throw reviewFinished();
  const detail = 'A key has no decision, or a decision has changed; the review is still open, and nothing was revoked.';
  throw new ServiceError('access_review_changed_meanwhile', detail);
}

export function reviewFinished(): ServiceError {
  return new ServiceError('access_review_finished', 'The review is finished; its decisions cannot be changed.');
}
