import * as z from 'zod';
import { findKeyRules } from '../../db/keys/key-rules-statements.ts';
import { REVIEW_DECISIONS, type ReviewDecision } from '../../domain/access-review.ts';
import { isLive } from '../../domain/api-key.ts';
import { decisionReason } from '../../domain/decision-reason.ts';
import { lazyObject, ruleError } from '../../domain/fields.ts';
import { recordId, timeOrderedId } from '../../domain/record-id.ts';
import { PageProblem } from '../../http/settings/page-problem.ts';
import { compareNaturally } from '../../lib/natural-order.ts';
import { byAdministrator, hasChanged, writeWithAudit } from '../../services/audit/write-with-audit.ts';
import { readBatch } from '../../services/call-d1.ts';
import { administratorsTimeZone } from '../../services/directory/administrators.ts';
import { toKeyRules } from '../../services/keys/change-key-rules.ts';
import { toKeyDetails } from '../../services/keys/read-keys.ts';
import { parseInput } from '../../services/parse-input.ts';
import type { AdminContext } from '../../services/service-context.ts';
import { nextReview } from './review-due.ts';
import {
  type AccessReviewRow,
  decideKey,
  findReviewedKeys,
  findReviews,
  finishReview,
  type ReviewedKeyRow,
  revokeDecided,
  startReview,
} from './review-statements.ts';

/** A decision on a key. Times are UTC milliseconds. */
export type StoredDecision = NonNullable<ReturnType<typeof toDecision>>;

/** A key of a review. In a finished review, its settings are those at the decision. */
export type AccessReviewKey = ReturnType<typeof reviewedKeys>[number];

export interface AccessReview {
  review: AccessReviewRow;
  /** By name. */
  keys: readonly AccessReviewKey[];
}

/** The open review with its keys, and the finished ones among the latest `limit` reviews. */
export async function readAccessReviews(ctx: AdminContext, limit: number) {
  const open = { organizationId: ctx.actor.organizationId, reviewId: null };
  const [reviews, rows, [rulesRow]] = await readBatch(ctx, [
    findReviews.bind({ ...open, limit }),
    findReviewedKeys.bind(open),
    findKeyRules.bind(ctx.actor),
  ]);
  const rules = toKeyRules(rulesRow);
  const finished = reviews.filter(({ finishedAt }) => finishedAt !== null);
  const review = reviews.find(({ finishedAt }) => finishedAt === null);
  const since = finished[0]?.finishedAt ?? rules.accessReviewsSince;
  return {
    open: review ? { review, keys: reviewedKeys(rows, ctx.now()) } : null,
    rules,
    due: nextReview(rules.accessReviewMonths, since, rules.timeZone, ctx.now()),
    /** Latest first. */
    finished,
    /** Whether there may be older ones. */
    hasMore: reviews.length === limit,
  };
}

export type AccessReviewOverview = Awaited<ReturnType<typeof readAccessReviews>>;

/** @throws PageProblem if there is no such review */
export async function readAccessReview(ctx: AdminContext, reviewId: string): Promise<AccessReview> {
  const values = { organizationId: ctx.actor.organizationId, reviewId };
  const [[review], rows] = await readBatch(ctx, [
    findReviews.bind({ ...values, limit: 1 }),
    findReviewedKeys.bind(values),
  ]);
  if (!review) throw new PageProblem(404, 'Not found', 'Your organization has no review with this ID.');
  return { review, keys: reviewedKeys(rows, review.finishedAt ?? ctx.now()) };
}

/** @throws PageProblem if there is no such review, or if it is finished */
export async function readOpenReview(ctx: AdminContext, reviewId: string): Promise<AccessReview> {
  const found = await readAccessReview(ctx, reviewId);
  if (found.review.finishedAt === null) return found;
  throw new PageProblem(
    409,
    'The review is finished',
    'An administrator has finished the review, so its decisions cannot be changed. Nothing was saved.',
  );
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

/** The keys that finishing the review revokes, successors included, with the reason of the decision. */
export const keysToRevoke = (keys: readonly AccessReviewKey[]) =>
  keys
    .flatMap(({ key, decision, successors }) =>
      decision?.decision === 'revoke' ? [key, ...successors].map((one) => ({ ...one, reason: decision.reason })) : [],
    )
    .filter(({ revokedAt }) => revokedAt === null);

/** Begins a review of the keys that are live now, unless one is open. @throws ServiceError `not_administrator` */
export async function startAccessReview(ctx: AdminContext): Promise<void> {
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

const keyDecision = lazyObject(() => ({
  keyId: recordId('the key'),
  decision: z.enum(REVIEW_DECISIONS, { error: ruleError('keep or revoke') }),
  reason: decisionReason(),
  /** The time of the decision that this one replaces; null if there was none. */
  shownAt: z.int().nullable().default(null),
}));

/** How the audit log says a decision. */
const IN_WORDS: Record<ReviewDecision, string> = { keep: 'Kept', revoke: 'To be revoked' };

const keyDecisions = z.lazy(() => z.array(keyDecision).min(1));

/**
 * Records decisions in an open review, each with its audit row. Nothing is revoked before the review is finished. A
 * decision replaces only the one of its time `shownAt` (null: none). Returns how many were not saved: another
 * administrator has decided on the key since, or it has ended.
 * @throws ServiceError `invalid`, `not_administrator`; PageProblem as `readOpenReview`
 */
export async function decideKeys(
  ctx: AdminContext,
  reviewId: string,
  input: readonly (Omit<z.input<typeof keyDecision>, 'decision'> & { decision: ReviewDecision | undefined })[],
): Promise<number> {
  const decisions = parseInput(keyDecisions, input);
  const results = await writeWithAudit(ctx, byAdministrator(ctx), 'may_have_written', (now) =>
    decisions.map((decision) => ({
      statement: decideKey.bind({ ...ctx.actor, ...decision, reviewId, now }),
      action: 'api_key.reviewed',
      targetId: decision.keyId,
      detail: `${IN_WORDS[decision.decision]}: ${decision.reason}`,
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
 * whose successor works has no decision, nothing happens. Returns how many keys were revoked: 0 if the review was finished
 * before.
 * @throws ServiceError `not_administrator`; PageProblem if there is no such review, or if it has changed
 */
export async function finishAccessReview(
  ctx: AdminContext,
  reviewId: string,
  revoke: readonly string[],
): Promise<number> {
  const { review, keys } = await readAccessReview(ctx, reviewId);
  if (review.finishedAt !== null) return 0;
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
  const { review: present } = await readAccessReview(ctx, reviewId);
  if (present.finishedAt !== null) return 0;
  throw new PageProblem(
    409,
    'The review has changed',
    'A key still needs a decision, or another administrator changed a decision. Nothing was revoked, and the review is still open. Open the review again.',
  );
}
