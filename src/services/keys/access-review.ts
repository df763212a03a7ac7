import * as z from 'zod';
import {
  type AccessReviewRow,
  decideKey,
  findReviewedKeys,
  findReviews,
  finishReview,
  type ReviewedKeyRow,
  revokeDecided,
  startReview,
} from '../../db/keys/access-review-statements.ts';
import { findKeyRules } from '../../db/keys/key-rules-statements.ts';
import { accessReviewDueDate, keyDecision, type ReviewDecision } from '../../domain/access-review.ts';
import { isLive } from '../../domain/api-key.ts';
import { dateIn, daysBetween } from '../../domain/calendar.ts';
import { ServiceError } from '../../domain/errors.ts';
import { timeOrderedId } from '../../domain/record-id.ts';
import { compareNaturally } from '../../lib/natural-order.ts';
import { byAdministrator, hasChanged, writeWithAudit } from '../audit/write-with-audit.ts';
import { readBatch } from '../call-d1.ts';
import { administratorsTimeZone } from '../directory/administrators.ts';
import { parseInput } from '../parse-input.ts';
import type { ActorContext, AdminActor } from '../service-context.ts';
import { toKeyRules } from './change-key-rules.ts';
import { toKeyDetails } from './read-keys.ts';

export type { AccessReviewRow } from '../../db/keys/access-review-statements.ts';

/** A decision on a key. Times are UTC milliseconds. */
export type Decision = NonNullable<ReturnType<typeof toDecision>>;

/** A key of a review. In a finished review, its settings are those at the decision. */
export type AccessReviewKey = ReturnType<typeof reviewedKeys>[number];

export interface AccessReview {
  review: AccessReviewRow;
  /** By name. */
  keys: readonly AccessReviewKey[];
}

/** The open review with its keys, and the finished ones among the latest `limit` reviews. */
export async function readAccessReviews(ctx: ActorContext<AdminActor>, limit: number) {
  const open = { organizationId: ctx.actor.organizationId, reviewId: null };
  const [reviews, rows, [rulesRow]] = await readBatch(ctx, [
    findReviews.bind({ ...open, limit }),
    findReviewedKeys.bind(open),
    findKeyRules.bind(ctx.actor),
  ]);
  const rules = toKeyRules(rulesRow);
  const { timeZone } = rules;
  const finished = reviews.filter(({ finishedAt }) => finishedAt !== null);
  const review = reviews.find(({ finishedAt }) => finishedAt === null);
  const date = accessReviewDueDate(rules, finished[0]?.finishedAt ?? null, timeZone);
  return {
    open: review ? { review, keys: reviewedKeys(rows, ctx.now()) } : null,
    rules,
    /** Until when the next review has to be finished: a date in the organization's time zone. */
    due: date === null ? null : { date, daysLeft: daysBetween(dateIn(timeZone, ctx.now()), date) },
    /** Latest first. */
    finished,
    /** Whether there may be older ones. */
    hasMore: reviews.length === limit,
  };
}

export type AccessReviewOverview = Awaited<ReturnType<typeof readAccessReviews>>;

/** @throws ServiceError `access_review_not_found` */
export async function readAccessReview(ctx: ActorContext<AdminActor>, reviewId: string): Promise<AccessReview> {
  const values = { organizationId: ctx.actor.organizationId, reviewId };
  const [[review], rows] = await readBatch(ctx, [
    findReviews.bind({ ...values, limit: 1 }),
    findReviewedKeys.bind(values),
  ]);
  if (!review) throw new ServiceError('access_review_not_found', 'The organization has no such review.');
  return { review, keys: reviewedKeys(rows, review.finishedAt ?? ctx.now()) };
}

/** @throws ServiceError `access_review_not_found`, `access_review_finished` */
export async function readOpenReview(ctx: ActorContext<AdminActor>, reviewId: string): Promise<AccessReview> {
  const found = await readAccessReview(ctx, reviewId);
  if (found.review.finishedAt === null) return found;
  throw new ServiceError('access_review_finished', 'The review is finished; its decisions cannot be changed.');
}

/** The keys by name, as they were at `now`: an event after a review was finished did not happen in it. */
function reviewedKeys(rows: readonly ReviewedKeyRow[], now: number) {
  const isFirst = ({ id, reviewedId }: ReviewedKeyRow) => id === reviewedId;
  const later = rows.filter((row) => !isFirst(row) && row.createdAt <= now).sort((a, b) => a.createdAt - b.createdAt);
  const successorsOf = Map.groupBy(later, ({ reviewedId }) => reviewedId);
  return rows
    .filter(isFirst)
    .map((row) => {
      const key = toKeyDetails(row, now);
      /** By rotations since the review began. The decision applies to them too. */
      const successors = (successorsOf.get(row.id) ?? []).map((successor) => toKeyDetails(successor, now));
      /** Whether the key or one of its successors works. If so, it needs a decision. */
      const works = [key, ...successors].some(({ state }) => isLive(state));
      return { key, decision: toDecision(row), successors, works };
    })
    .sort((a, b) => compareNaturally(a.key.name, b.key.name));
}

function toDecision(row: ReviewedKeyRow) {
  const { decision, reason, decidedAt: at, decidedById: byId, decidedBy: by, decidedAfterWriteAt: lastWriteAt } = row;
  return decision === null || reason === null || at === null || byId === null || by === null
    ? null
    : { decision, reason, at, byId, by, lastWriteAt };
}

export const isUndecided = ({ decision, works }: AccessReviewKey) => works && decision === null;

/** The keys that finishing the review revokes, successors included. */
export const keysToRevoke = (keys: readonly AccessReviewKey[]) =>
  keys
    .flatMap(({ key, decision, successors }) => (decision?.decision === 'revoke' ? [key, ...successors] : []))
    .filter(({ revokedAt }) => revokedAt === null);

/** Begins a review of the keys that are live now, unless one is open. @throws ServiceError `not_administrator` */
export async function startAccessReview(ctx: ActorContext<AdminActor>): Promise<void> {
  const reviewId = timeOrderedId(ctx.now());
  const [started] = await writeWithAudit(ctx, byAdministrator(ctx), 'may_have_written', (now) => [
    {
      statement: startReview.bind({ ...ctx.actor, reviewId, now }),
      action: 'access_review.started',
      targetId: reviewId,
    },
  ]);
  if (!hasChanged(started)) await administratorsTimeZone(ctx);
}

const keyDecisions = z.array(keyDecision).min(1);

/**
 * Records decisions in an open review, each with its audit row. Nothing is revoked before the review is finished. A
 * decision replaces only the one of its time `shownAt` (null: none). Returns how many were not saved: another
 * administrator has decided on the key since, or it has ended.
 * @throws ServiceError `invalid`, `access_review_not_found`, `access_review_finished`, `not_administrator`
 */
export async function decideKeys(
  ctx: ActorContext<AdminActor>,
  reviewId: string,
  input: readonly (Omit<z.input<typeof keyDecision>, 'decision'> & { decision: ReviewDecision | undefined })[],
): Promise<number> {
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
  if (rest.length === 0) return 0;
  await administratorsTimeZone(ctx);
  const { keys } = await readOpenReview(ctx, reviewId);
  // Equal: the decision was committed but the acknowledgement was lost.
  const stored = new Map(keys.map(({ key, decision }) => [key.id, decision]));
  return rest.filter(({ keyId, decision, reason }) => {
    const made = stored.get(keyId);
    return made?.decision !== decision || made.reason !== reason || made.byId !== ctx.actor.userId;
  }).length;
}

/**
 * Finishes a review and revokes the keys on which it decided so, with their successors, in one transaction. `revoke`
 * has the ids of the keys that the administrator has confirmed: if another one is to be revoked, or a key that works or
 * whose successor works has no decision, nothing happens. Returns how many keys were revoked.
 * @throws ServiceError `access_review_not_found`, `access_review_finished`, `access_review_changed_meanwhile`,
 *   `not_administrator`
 */
export async function finishAccessReview(
  ctx: ActorContext<AdminActor>,
  reviewId: string,
  revoke: readonly string[],
): Promise<number> {
  const { keys } = await readOpenReview(ctx, reviewId);
  const confirmed = keysToRevoke(keys).flatMap(({ id }) => (revoke.includes(id) ? [id] : []));
  const [finished, ...revocations] = await writeWithAudit(ctx, byAdministrator(ctx), 'may_have_written', (now) => {
    const values = { ...ctx.actor, reviewId, now };
    return [
      {
        statement: finishReview.bind({ ...values, revoke: JSON.stringify(confirmed) }),
        action: 'access_review.finished' as const,
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
  await readOpenReview(ctx, reviewId);
  const detail = 'A key has no decision, or a decision has changed; the review is still open, and nothing was revoked.';
  throw new ServiceError('access_review_changed_meanwhile', detail);
}
